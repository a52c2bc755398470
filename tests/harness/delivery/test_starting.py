"""A start makes up for what the process before it left open."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from harness.delivery.advice import BROKE_OFF, LEAST_TRIED, MOST_ROUNDS, Fate, Found, Looked, Nothing, RunNow
from harness.delivery.courier import Courier
from harness.delivery.outbox import Abilities, NotSentError, Outgoing
from harness.delivery.starting import MOST_LOOKS, open_deliveries, recover, recovering
from harness.errors import StoreError
from harness.store.admitted import Admission, Ending, Inbound, Outbound, Sending, State
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.turns import Outcome, TurnResult
from tests.support.delivery import HurriedClock, answered, inbound

A, B, C = inbound("1"), inbound("2"), inbound("3", chat="8")


Asked: TypeAlias = tuple[str, str, str, tuple[str, ...]]
"""A conversation, a message, the backend's id of the conversation, and what was steered."""


@dataclass
class Backend:
    """Knows what became of some turns."""

    found: dict[str, Found] = field(default_factory=dict[str, Found])
    has: Sequence[str] = ()
    asked: list[tuple[str, str, str, tuple[str, ...]]] = field(
        default_factory=list[tuple[str, str, str, tuple[str, ...]]]
    )

    async def reconcile(
        self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
    ) -> Looked:
        self.asked.append((session_key, message_key, conversation, steered))
        return Looked(self.found.get(message_key, Fate.NEVER_BEGAN), frozenset(steered) - frozenset(self.has))


@dataclass
class Start:
    """A gateway that starts."""

    deliveries: Deliveries
    outbox: RecordingOutbox
    ran: list[str] = field(default_factory=list[str])

    async def run(self, message: Inbound) -> None:
        assert await self.deliveries.admit(message) is Admission.NEW
        self.ran.append(message.key)

    async def recover(self, backend: Backend | None = None) -> None:
        clock = HurriedClock()
        courier = Courier(self.deliveries, self.outbox, now=clock.now, sleep=clock.sleep)
        await recover(self.deliveries, courier, self.run, backend, now=lambda: 1000.0)


@asynccontextmanager
async def start(folder: Path, outbox: RecordingOutbox | None = None) -> AsyncGenerator[Start]:
    async with bindings_at(folder / "bridge.sqlite") as bindings:
        yield Start(Deliveries(bindings.database), outbox or RecordingOutbox())


def done(text: str) -> TurnResult:
    return TurnResult(Outcome.ANSWERED, text, conversation="thread", turn="turn")


def refused(call: str, outgoing: Outgoing) -> None:
    raise NotSentError(f"{call} {outgoing.key}: no connection")


async def test_nothing_is_done_about_nothing(tmp_path: Path) -> None:
    backend = Backend()
    async with start(tmp_path) as now:
        await now.recover(backend)
    assert (backend.asked, now.ran, now.outbox.seen) == ([], [], [])


async def test_what_nobody_began_with_runs_now_in_the_order_in_which_it_came(tmp_path: Path) -> None:
    async with start(tmp_path) as before:
        for message in (A, C, B):
            await before.deliveries.admit(message)
        await before.deliveries.begin([A.key], A.key)
    async with start(tmp_path) as now:
        await now.recover(Backend())
        left = await now.deliveries.open()
    assert now.ran == [A.key, C.key, B.key]
    assert [each.ours for each in left] == [True, True, True]


async def test_a_turn_that_ended_meanwhile_is_delivered_late_and_never_run_again(tmp_path: Path) -> None:
    """A14."""
    async with start(tmp_path) as before:
        await before.deliveries.admit(A, running=True)
    backend = Backend({A.key: done("Two o'clock.")})
    async with start(tmp_path) as now:
        await now.recover(backend)
        await now.recover(backend)
    assert (now.ran, now.outbox.texts()) == ([], ["Two o'clock."])
    assert backend.asked == [(A.session_key, A.key, "", ())]


async def test_a_turn_that_nobody_can_say_more_of_gets_one_sentence(tmp_path: Path) -> None:
    async with start(tmp_path) as before:
        await before.deliveries.admit(A, running=True)
    async with start(tmp_path) as now:
        await now.recover()
        assert await now.deliveries.open() == []
    async with start(tmp_path, now.outbox) as again:
        await again.recover()
    assert now.outbox.texts() == [BROKE_OFF]


async def test_the_sentence_follows_what_was_shown_of_the_answer(tmp_path: Path) -> None:
    outbox = RecordingOutbox()
    async with start(tmp_path) as before:
        await before.deliveries.admit(A, running=True)
        await before.deliveries.sending(A.key, 0)
        await before.deliveries.sent(A.key, 0, "m1")
    async with start(tmp_path, outbox) as now:
        await now.recover()
    assert [(each.key, each.text) for each in outbox.messages.values()] == [(f"{A.key}#1", BROKE_OFF)]


async def test_messages_that_one_turn_was_to_answer_run_together_or_alone_but_each_once(tmp_path: Path) -> None:
    async with start(tmp_path) as before:
        for message in (A, B):
            await before.deliveries.admit(message)
        await before.deliveries.begin([A.key, B.key], A.key)
    async with start(tmp_path) as now:
        await now.recover(Backend())
    assert now.ran == [A.key, B.key]


@pytest.mark.parametrize("has", [True, False], ids=["it joined", "it did not"])
@pytest.mark.parametrize("led", [True, False], ids=["the turn is open", "the turn is settled"])
async def test_what_was_being_said_into_a_turn_is_answered_with_it_or_runs_alone(
    tmp_path: Path, has: bool, led: bool
) -> None:
    """B7: never both, never neither."""
    outbox = RecordingOutbox()
    async with start(tmp_path, outbox) as before:
        await before.deliveries.admit(A, running=True)
        await before.deliveries.admit(B)
        await before.deliveries.begin([B.key], A.key, steered=True)
        if not led:
            await Courier(before.deliveries, outbox).carry(answered("Both."), A)
    backend = Backend({A.key: done("Both.")}, has=(B.key,) if has else ())
    async with start(tmp_path, outbox) as now:
        await now.recover(backend)
        left = await now.deliveries.open()
    assert now.ran == ([] if has else [B.key])
    assert [each.lead for each in left] == now.ran
    assert outbox.texts() == ["Both."]
    assert [each[1::2] for each in backend.asked] == [(A.key, (B.key,))]


async def test_a_steered_message_of_which_nobody_knows_gets_a_sentence_of_its_own(tmp_path: Path) -> None:
    outbox = RecordingOutbox()
    async with start(tmp_path, outbox) as before:
        await before.deliveries.admit(A, running=True)
        await before.deliveries.admit(B)
        await before.deliveries.begin([B.key], A.key, steered=True)
        await Courier(before.deliveries, outbox).carry(answered("Done."), A)
    async with start(tmp_path, outbox) as now:
        await now.recover()
        assert await now.deliveries.open() == []
    assert [(each.reply_to, each.text) for each in outbox.messages.values()] == [("1", "Done."), ("2", BROKE_OFF)]


async def test_a_start_that_ends_before_that_sentence_is_kept_leaves_the_message_with_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself it would be found in the turn that it was said into, whose answer its chat has already."""

    async def ends(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    async with start(tmp_path) as before:
        await before.deliveries.admit(A, running=True)
        await before.deliveries.admit(B)
        await before.deliveries.begin([B.key], A.key, steered=True)
        await before.deliveries.settle(A.key, Ending.SENT)
    async with start(tmp_path) as now:
        with monkeypatch.context() as patched:
            patched.setattr(Courier, "late", ends)
            await now.recover(Backend({A.key: Fate.UNKNOWN}, has=[B.key]))
        (left,) = await now.deliveries.open()
        assert (left.lead, left.led, left.steered) == (A.key, False, (B.key,))
        await now.recover(Backend({A.key: Fate.UNKNOWN}, has=[B.key]))
        assert (now.outbox.texts(), await now.deliveries.open()) == ([BROKE_OFF], [])


async def test_a_sentence_that_the_channel_does_not_take_leaves_the_message_open(tmp_path: Path) -> None:
    outbox = RecordingOutbox()
    async with start(tmp_path, outbox) as before:
        await before.deliveries.admit(A, running=True)
        await before.deliveries.admit(B)
        await before.deliveries.begin([B.key], A.key, steered=True)
        await Courier(before.deliveries, outbox).carry(answered("Done."), A)

    outbox.before = refused
    async with start(tmp_path, outbox) as now:
        await now.recover()
        (left,) = await now.deliveries.open()
    assert (left.lead, left.inbound, left.outbound) == (B.key, (B,), (Outbound(B.key, 0, BROKE_OFF, Sending.FAILED),))


async def test_a_message_whose_channel_is_no_more_keeps_back_nothing_of_another(tmp_path: Path) -> None:
    class Fewer(RecordingOutbox):
        def can(self, channel: str) -> Abilities:
            if channel == "pager":
                raise KeyError(channel)
            return super().can(channel)

    async with start(tmp_path) as before:
        for message in (replace(A, channel="pager"), C):
            await before.deliveries.admit(message, running=True)
    async with start(tmp_path, Fewer()) as now:
        await now.recover()
        assert (now.outbox.texts("8"), [each.lead for each in await now.deliveries.open()]) == ([BROKE_OFF], [A.key])


async def test_a_look_that_goes_wrong_is_made_again_and_holds_up_no_other_message(tmp_path: Path) -> None:
    class Confused(Backend):
        async def reconcile(
            self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
        ) -> Looked:
            if message_key == A.key:
                raise KeyError("turns")
            return await super().reconcile(session_key, message_key, conversation=conversation, steered=steered)

    async with start(tmp_path) as before:
        for message in (A, C):
            await before.deliveries.admit(message, running=True)
    async with start(tmp_path) as now:
        seen = await open_deliveries(now.deliveries, Confused(), now=lambda: 1000.0)
        assert [(each.delivery.lead, each.is_pending) for each in seen] == [(A.key, True), (C.key, False)]


async def test_a_result_that_cannot_be_told_is_one_sentence_and_keeps_back_no_other(tmp_path: Path) -> None:
    def plan(lead: Inbound, result: TurnResult, taken: int) -> Mapping[int, str]:
        if lead.key == A.key:
            raise ZeroDivisionError
        return {taken: result.text}

    async with start(tmp_path) as before:
        for message in (A, C):
            await before.deliveries.admit(message, running=True)
    backend = Backend({A.key: done("One."), C.key: done("Two.")})
    async with start(tmp_path) as now:
        courier = Courier(now.deliveries, now.outbox)
        await recover(now.deliveries, courier, now.run, backend, now=lambda: 1000.0, plan=plan)
        assert [now.outbox.texts(each) for each in ("7", "8")] == [[BROKE_OFF], ["Two."]]
        assert await now.deliveries.open() == []


async def test_a_message_that_comes_again_while_a_start_looks_is_run_once_by_the_next_start_too(tmp_path: Path) -> None:
    class Slow(Backend):
        async def reconcile(
            self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
        ) -> Looked:
            assert await now.deliveries.admit(A, running=True) is Admission.NEW  # the channel brings it again
            return await super().reconcile(session_key, message_key, conversation=conversation, steered=steered)

    async def run(message: Inbound) -> None:
        assert await now.deliveries.admit(message) is Admission.OPEN

    async with start(tmp_path) as before:
        await before.deliveries.admit(A)
        await before.deliveries.admit(C, running=True)
    async with start(tmp_path) as now:
        courier = Courier(now.deliveries, now.outbox)
        await recover(now.deliveries, courier, run, Slow({C.key: Fate.RUNNING}), now=lambda: 1000.0)
        found = {each.lead: (each.state, each.ours) for each in await now.deliveries.open()}
    assert found == {A.key: (State.RUNNING, True), C.key: (State.RUNNING, False)}


async def test_many_turns_are_asked_of_together_and_advised_on_in_their_order(tmp_path: Path) -> None:
    at_once: list[int] = []

    class Slow(Backend):
        asking = 0

        async def reconcile(
            self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
        ) -> Looked:
            self.asking += 1
            at_once.append(self.asking)
            await anyio.wait_all_tasks_blocked()
            self.asking -= 1
            return await super().reconcile(session_key, message_key, conversation=conversation, steered=steered)

    messages = [inbound(str(number), chat=str(number)) for number in range(30)]
    async with start(tmp_path) as before:
        for message in messages:
            await before.deliveries.admit(message, running=True)
    async with start(tmp_path) as now:
        seen = await open_deliveries(now.deliveries, Slow(), now=lambda: 1000.0)
    assert [each.delivery.lead for each in seen] == [message.key for message in messages]
    assert max(at_once) == MOST_LOOKS


async def test_an_answer_that_was_offered_often_enough_is_let_go_of_with_a_word(tmp_path: Path) -> None:
    outbox = RecordingOutbox(before=refused)
    told: list[str] = []
    async with start(tmp_path, outbox) as before:
        await before.deliveries.admit(A, running=True)
        await before.deliveries.answer(A.key, {0: "Yes."})
    for life in range(MOST_ROUNDS + 1):
        async with start(tmp_path, outbox) as now:
            clock = HurriedClock()
            wall = A.arrived_at + (0.0 if life < MOST_ROUNDS - 1 else LEAST_TRIED)
            courier = Courier(now.deliveries, outbox, tell=told.append, sleep=clock.sleep, wall=lambda at=wall: at)
            await recover(now.deliveries, courier, now.run, now=lambda at=wall: at)
            left = [each.rounds for each in await now.deliveries.open()]
            assert left == ([life + 2] if life < MOST_ROUNDS - 1 else [])
    assert told[-1] == "An answer to telegram 7 was not delivered in 12 rounds, and is not tried again."
    assert len(told) == MOST_ROUNDS


async def test_looking_changes_nothing(tmp_path: Path) -> None:
    async with start(tmp_path) as before:
        for message in (A, B):
            await before.deliveries.admit(message)
        await before.deliveries.begin([B.key], B.key)
    async with start(tmp_path) as now:
        for _ in range(2):
            seen = await open_deliveries(now.deliveries, Backend({B.key: Fate.RUNNING}), now=lambda: 1000.0)
            assert [each.advice for each in seen] == [RunNow(), Nothing("its turn still runs")]


async def test_what_could_not_be_known_yet_is_looked_up_again_until_it_is(tmp_path: Path) -> None:
    async with start(tmp_path) as before:
        for message in (A, C):
            await before.deliveries.admit(message, running=True)
    backend = Backend({A.key: Fate.RUNNING, C.key: Fate.UNREACHABLE})
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            backend.found[A.key] = done("Two o'clock.")
        if len(slept) == 4:
            backend.found[C.key] = Fate.NEVER_BEGAN

    async with start(tmp_path) as now:
        clock = HurriedClock()
        courier = Courier(now.deliveries, now.outbox, now=clock.now, sleep=clock.sleep)
        await recovering(
            now.deliveries, courier, now.run, backend, now=lambda: 1000.0, waits=(1.0, 2.0, 3.0), sleep=sleep
        )
    assert (slept, now.outbox.texts(), now.ran) == ([1.0, 2.0, 3.0, 3.0], ["Two o'clock."], [C.key])


async def test_a_store_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    async with start(tmp_path) as now:
        (tmp_path / "bridge.sqlite").chmod(0o600)
        await now.deliveries.open()
        now.deliveries._database._connection.execute("DROP TABLE outbound")  # pyright: ignore
        with pytest.raises(StoreError, match="no such table: outbound"):
            await now.recover()
