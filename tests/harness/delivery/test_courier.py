"""Every answer reaches its chat once, whatever the channel does."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from harness.delivery.courier import Carried, Courier
from harness.delivery.outbox import Abilities, Outgoing
from harness.replies.gate import Say, Silent
from harness.store.admitted import Ending, State
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from tests.support.delivery import Clock, HurriedClock, Played, answered, inbound

LIMIT = 5.0
PLAIN = Abilities()
"""A channel that can do nothing but send."""


@dataclass
class Office:
    """A courier with its ledger and its channel."""

    deliveries: Deliveries
    outbox: RecordingOutbox
    clock: Clock | HurriedClock
    told: list[str] = field(default_factory=list[str])

    @property
    def courier(self) -> Courier:
        return Courier(self.deliveries, self.outbox, tell=self.told.append, now=self.clock.now, sleep=self.clock.sleep)

    async def carry(self, turn: Played, number: str = "1", *, chat: str = "7") -> Carried:
        message = inbound(number, chat=chat)
        await self.deliveries.admit(message, running=True)
        return await self.courier.carry(turn, message)

    async def states(self) -> list[tuple[str, State]]:
        return [(each.lead, each.state) for each in await self.deliveries.open()]


@asynccontextmanager
async def office(
    folder: Path, outbox: RecordingOutbox | None = None, clock: Clock | HurriedClock | None = None
) -> AsyncGenerator[Office]:
    with anyio.fail_after(LIMIT):
        async with bindings_at(folder / "bridge.sqlite") as bindings:
            here = Office(Deliveries(bindings.database), outbox or RecordingOutbox(), clock or HurriedClock())
            await here.deliveries.open()  # from here on no step of the ledger waits for a thread
            yield here


async def test_an_answer_is_delivered_once_and_settled(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        carried = await here.carry(answered("Two o'clock."))
        left = await here.deliveries.open()
    assert (carried.reply, carried.ending, left) == (Say(("Two o'clock.",)), Ending.SENT, [])
    assert list(here.outbox.messages.values()) == [
        Outgoing(key="telegram:7:1#0", channel="telegram", chat="7", text="Two o'clock.", reply_to="1")
    ]


async def test_silence_sends_nothing_and_is_settled(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        carried = await here.carry(answered("NO_REPLY"))
        left = await here.deliveries.open()
    assert (carried.reply, carried.ending, left, here.outbox.seen) == (Silent(), Ending.SILENT, [], [])


async def test_the_answer_is_shown_as_it_comes_in_one_message_once_a_second(tmp_path: Path) -> None:
    """Spec 6: about one edit a second."""
    clock, turn, shown = Clock(), Played(), list[tuple[str, str]]()
    async with office(tmp_path, clock=clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        for piece in ("It ", "is ", "two ", "o'", "clock"):
            turn.say(piece)
            await clock.advance(0.4)
        turn.end("It is two o'clock.")
        await clock.advance(0.9)
        shown += here.outbox.seen
        await clock.advance(0.1)
    assert shown == [("1", "It"), ("1", "It is two"), ("1", "It is two o'clock")]
    assert here.outbox.seen == [*shown, ("1", "It is two o'clock.")]
    assert list(here.outbox.messages) == ["1"]
