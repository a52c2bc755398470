"""What no message asked for reaches its chat once, also over a crash."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Never

import pytest

from harness.delivery.courier import Courier
from harness.delivery.outbox import Abilities, NotSentError, Outgoing
from harness.delivery.starting import recover
from harness.delivery.unasked import Unasked, UndeliverableError
from harness.errors import StoreError
from harness.replies.gate import Say
from harness.store.admitted import Inbound, Sending
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from tests.support.delivery import HurriedClock

KEY = "heartbeat:main:2031-05-06T12:00:00+00:00"
SESSION = "agent:main:main"


class KilledError(BaseException):
    """The process is gone."""


@dataclass
class Life:
    """A process of the gateway."""

    deliveries: Deliveries
    courier: Courier
    told: list[str] = field(default_factory=list[str])

    async def tell(self, *texts: str, key: str = KEY) -> None:
        unasked = Unasked(self.deliveries, self.courier, now=lambda: 1000.0)
        await unasked.tell(key, session_key=SESSION, channel="telegram", chat="7", say=Say(texts))

    async def recover(self) -> None:
        await recover(self.deliveries, self.courier, never, now=lambda: 1001.0)


async def never(message: Inbound) -> Never:
    raise NotImplementedError(message)


@asynccontextmanager
async def life(folder: Path, outbox: RecordingOutbox) -> AsyncGenerator[Life]:
    async with bindings_at(folder / "bridge.sqlite") as bindings:
        deliveries, told = Deliveries(bindings.database), list[str]()
        yield Life(deliveries, Courier(deliveries, outbox, tell=told.append, sleep=HurriedClock().sleep), told)


async def test_it_is_brought_once_in_its_order_however_often_it_is_told(tmp_path: Path) -> None:
    outbox = RecordingOutbox()
    for _ in range(2):
        async with life(tmp_path, outbox) as at:
            for _ in range(2):
                await at.tell("It is hot.", "38 degrees!")
            unasked = Unasked(at.deliveries, at.courier)
            await unasked.to("job:1", session_key=SESSION, channel="telegram", chat="7")(Say(("3",)))
            assert await at.deliveries.open() == []
    assert [(each.key, each.text, each.reply_to) for each in outbox.messages.values()] == [
        (f"{KEY}#0", "It is hot.", ""),
        (f"{KEY}#1", "38 degrees!", ""),
        ("job:1#0", "3", ""),
    ]


@pytest.mark.parametrize("call", range(4))
async def test_what_a_crash_cuts_off_is_brought_once_by_the_next_start(tmp_path: Path, call: int) -> None:
    """Killed before and after each of two texts is sent."""
    outbox, steps = RecordingOutbox(), list[str]()

    def step(kind: str, outgoing: Outgoing) -> None:
        steps.append(f"{kind} {outgoing.key}")
        if len(steps) == call + 1:
            raise KilledError

    outbox.before = outbox.after = step
    with pytest.raises(KilledError):
        async with life(tmp_path, outbox) as at:
            await at.tell("It is hot.", "38 degrees!")
    async with life(tmp_path, outbox) as at:
        await at.recover()
        assert await at.deliveries.open() == []
    assert outbox.texts() == ["It is hot.", "38 degrees!"]


async def test_a_crash_before_the_channel_is_asked_leaves_it_to_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = RecordingOutbox()

    async def die(*_: object, **__: object) -> Never:
        raise KilledError

    async with life(tmp_path, outbox) as at:
        monkeypatch.setattr(at.courier, "late", die)
        with pytest.raises(KilledError):
            await at.tell("38 degrees!")
    async with life(tmp_path, outbox) as at:
        (left,) = await at.deliveries.open()
        assert [(each.text, each.state) for each in left.outbound] == [("38 degrees!", Sending.PLANNED)]
        await at.recover()
        assert (outbox.texts(), await at.deliveries.open()) == (["38 degrees!"], [])


async def test_a_chat_that_is_gone_is_an_error_and_one_that_is_silent_is_not(tmp_path: Path) -> None:
    outbox = RecordingOutbox(Abilities())

    def refuse(call: str, outgoing: Outgoing) -> None:
        raise NotSentError(f"{call} {outgoing.key}", for_good=outgoing.key.startswith("gone"))

    outbox.before = refuse
    async with life(tmp_path, outbox) as at:
        with pytest.raises(UndeliverableError, match="telegram 7"):
            await at.tell("38 degrees!", key="gone")
        await at.tell("39 degrees!", key="silent")
        assert [each.lead for each in await at.deliveries.open()] == ["silent"]


async def test_a_store_that_fails_keeps_no_alert_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = RecordingOutbox()

    async def fail(*_: object, **__: object) -> Never:
        raise StoreError("The disk is full.")

    async with life(tmp_path, outbox) as at:
        monkeypatch.setattr("harness.store.database.Database.run_small", fail)
        await at.tell("38 degrees!")
    assert (outbox.texts(), len(at.told)) == (["38 degrees!"], 1)
