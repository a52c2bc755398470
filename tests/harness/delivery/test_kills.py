"""A gateway that is killed between any two steps: what came in is answered once, and runs once.

A kill is an exception that nothing catches, raised before or after any write of the store, any call of the channel and
any step of the turn. Everything is dropped then, the store is opened anew, and a start does what it does.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.delivery.advice import BROKE_OFF, Fate, Looked
from harness.delivery.courier import Courier
from harness.delivery.outbox import Abilities
from harness.delivery.posting import AGAIN
from harness.delivery.starting import recover
from harness.replies.gate import ACTED
from harness.store.admitted import Admission, Inbound
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.turns import Evidence, Finished, Joined, Outcome, PlanChanged, TextDelta, TurnEvent, TurnResult
from tests.support.delivery import HurriedClock, Played, inbound

ANSWER = "The vents are stuck."
KEYS = Abilities(keys=True, edits=True, withdraws=True)
PLAIN = Abilities()
NOTICE = f"{BROKE_OFF} {ACTED}"
"""What the chat is told of a turn that broke off."""


class KilledError(BaseException):
    """The process is gone."""


@dataclass
class Fuse:
    """Kills at the step of that number; steps are counted over one life."""

    left: int

    @property
    def blown(self) -> bool:
        return self.left < 0

    def step(self, *_: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise KilledError


class Unhurried(Played):
    """A turn between whose events everybody else gets as far as they can, so that its answer is shown."""

    async def events(self) -> AsyncIterator[TurnEvent]:
        async for event in self.buffer.read():
            yield event
            await anyio.wait_all_tasks_blocked()


@dataclass
class Backend:
    """Knows what it was given, over the gateway's lives, and answers each message once it is asked."""

    text: str
    earlier: tuple[str, ...] = ()
    runs: Counter[str] = field(default_factory=Counter[str])
    ended: set[str] = field(default_factory=set[str])
    told: list[str] = field(default_factory=list[str])
    """What whoever runs the gateway was told."""

    def start(self, key: str, fuse: Fuse) -> Played:
        fuse.step()
        self.runs[key] += 1
        fuse.step()
        self.ended.add(key)
        fuse.step()
        half = len(self.text) // 2
        pieces = (TextDelta("a", self.text[:half]), PlanChanged(()), TextDelta("a", self.text[half:]))
        before = [Joined("k", answered=each) for each in self.earlier]
        return Unhurried(*before, *pieces, Finished(self.result(key)))

    def result(self, key: str) -> TurnResult:
        if key in self.ended:
            return TurnResult(Outcome.ANSWERED, self.text, conversation="thread", turn="turn", earlier=self.earlier)
        return TurnResult(Outcome.LOST, "", BROKE_OFF, conversation="thread", evidence=Evidence(changes=("a",)))

    async def reconcile(
        self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
    ) -> Looked:
        del session_key, conversation, steered
        return Looked(self.result(message_key) if self.runs[message_key] else Fate.NEVER_BEGAN)


@asynccontextmanager
async def life(
    folder: Path, outbox: RecordingOutbox, fuse: Fuse, told: list[str]
) -> AsyncGenerator[tuple[Deliveries, Courier]]:
    """One life of the gateway."""
    clock = HurriedClock()
    outbox.before = outbox.after = fuse.step
    async with bindings_at(folder / "bridge.sqlite") as bindings:
        database = bindings.database
        real = database.run_small

        async def run_small(work: Callable[..., Any]) -> Any:
            fuse.step()
            value = await real(work)
            fuse.step()
            return value

        database.run_small = run_small
        deliveries = Deliveries(database)
        yield deliveries, Courier(deliveries, outbox, tell=told.append, now=clock.now, sleep=clock.sleep)


async def live(folder: Path, outbox: RecordingOutbox, backend: Backend, fuse: Fuse, *messages: Inbound) -> None:
    """Start, make up for what was left, and take messages in, until the fuse blows."""
    with until_killed():
        async with life(folder, outbox, fuse, backend.told) as (deliveries, courier):

            async def take_in(message: Inbound) -> None:
                if await deliveries.admit(message, running=True) is Admission.NEW:
                    await courier.carry(backend.start(message.key, fuse), message)

            await recover(deliveries, courier, take_in, backend, now=lambda: 1000.0)
            for message in messages:
                await take_in(message)


@contextmanager
def until_killed() -> Generator[None]:
    try:
        yield
    except BaseException as error:
        if not _is_kill(error):
            raise


def _is_kill(error: BaseException) -> bool:
    if isinstance(error, KilledError):
        return True
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return bool(inner) and all(map(_is_kill, inner))


def check(outbox: RecordingOutbox, backend: Backend, *, chosen_silence: bool) -> None:
    assert all(count == 1 for count in backend.runs.values())
    shown = outbox.texts()
    if chosen_silence:
        # The sentence where nobody knows what it would have said, and once more where nobody knows whether it arrived.
        assert [text for text in shown if AGAIN not in text] in ([], [NOTICE])
        assert [text for text in shown if AGAIN in text] in (
            [],
            [] if outbox.abilities.keys else [f"{NOTICE}\n\n{AGAIN}"],
        )
        return
    if NOTICE in shown:  # a part of an answer that nobody will ever know may stand before it
        shown = [text for text in shown if not (ANSWER.startswith(text) and text != ANSWER)]
    if outbox.abilities.keys:
        assert shown in ([ANSWER], [NOTICE])
        return
    again = [text for text in shown if AGAIN in text]
    assert len(shown) - len(again) <= 1
    assert len(again) <= 1
    assert {text.removesuffix(f"\n\n{AGAIN}") for text in shown} in ({ANSWER}, {NOTICE}, set())
    assert shown or backend.told == [
        "An answer to telegram 7 was not delivered as far as is known, and is not tried again."
    ]


async def whole(
    folder: Path, abilities: Abilities, text: str, kills: Iterable[int], earlier: tuple[str, ...] = ()
) -> tuple[RecordingOutbox, Backend, bool]:
    """Lives that end at these steps, and one that goes on; the message comes in at each, as a channel repeats it.

    Tells last whether the last one of those ended before its time.
    """
    outbox, backend, fuse = RecordingOutbox(abilities), Backend(text, earlier), Fuse(0)
    with anyio.fail_after(10):
        for steps in kills:
            fuse = Fuse(steps)
            await live(folder, outbox, backend, fuse, inbound())
        await live(folder, outbox, backend, Fuse(10_000), inbound())
        async with bindings_at(folder / "bridge.sqlite") as bindings:
            assert await Deliveries(bindings.database).open() == []
    return outbox, backend, fuse.blown


@pytest.mark.parametrize("text", [ANSWER, "NO_REPLY"], ids=["an answer", "silence"])
@pytest.mark.parametrize("abilities", [KEYS, PLAIN], ids=["keys", "no keys"])
def test_a_kill_at_any_step_loses_nothing_and_doubles_nothing(abilities: Abilities, text: str) -> None:
    for steps in count():
        with TemporaryDirectory() as folder:
            outbox, backend, killed = anyio.run(whole, Path(folder), abilities, text, [steps])
        check(outbox, backend, chosen_silence=text == "NO_REPLY")
        assert outbox.texts() or text == "NO_REPLY"
        if not killed:
            assert steps > 8, "it was killed at more steps than these"
            return


@pytest.mark.parametrize("abilities", [KEYS, replace(KEYS, keys=False), PLAIN], ids=["keys", "no keys", "no edits"])
def test_a_kill_at_any_step_of_two_answers_loses_neither(abilities: Abilities) -> None:
    for steps in count():
        with TemporaryDirectory() as folder:
            outbox, backend, killed = anyio.run(whole, Path(folder), abilities, ANSWER, [steps], ("It is two.",))
        texts = outbox.texts()
        assert backend.runs == {inbound().key: 1}
        if NOTICE in texts:
            assert texts[-1] == NOTICE
        else:
            marked = [text for text in texts if AGAIN in text]
            wholes = [
                text.removesuffix(f"\n\n{AGAIN}") for text in texts if text in marked or text in ("It is two.", ANSWER)
            ]
            assert len(marked) <= (0 if abilities.keys else 1)
            assert sorted(set(wholes)) == ["It is two.", ANSWER]
            assert len(texts) - 2 <= len(marked)
        if not killed:
            assert steps > 16, "it was killed at more steps than these"
            return


@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=4),
    st.sampled_from([KEYS, PLAIN]),
    st.sampled_from([ANSWER, "NO_REPLY"]),
)
@settings(max_examples=25, deadline=None)
def test_kills_of_the_recovery_itself_change_nothing(kills: list[int], abilities: Abilities, text: str) -> None:
    with TemporaryDirectory() as folder:
        outbox, backend, _ = anyio.run(whole, Path(folder), abilities, text, kills)
    check(outbox, backend, chosen_silence=text == "NO_REPLY")
