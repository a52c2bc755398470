"""What a desk is tested with: a backend whose turns the test plays, with all that is around them."""

import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel

from harness.agent import Agent
from harness.approvals.approvals import Approvals, open_approvals
from harness.delivery.courier import Courier
from harness.desk.desk import Desk, open_desk
from harness.desk.talk import Heard
from harness.events import EventBuffer
from harness.gather import Gatherer
from harness.habits import Habits
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.layers import Layer, LayerName
from harness.plain import plain_settings
from harness.replies.media import MediaRules
from harness.settings.approvals import ApprovalSettings
from harness.settings.queue import QueueRules, QueueSettings
from harness.store.admitted import State
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.timing import Clock
from harness.turns import (
    EndedBy,
    Finished,
    Joined,
    Outcome,
    Steered,
    TextDelta,
    TurnEvent,
    TurnRequest,
    TurnResult,
)
from tests.support.time import HandClock

LIMIT = 5.0
SENT_AT = datetime(2031, 5, 6, tzinfo=UTC)


def message(
    number: int | str, text: str = "", *, chat: str = "7", sender: str = "7", group: bool = False
) -> InboundMessage:
    """A message that says its number."""
    kind = ChatKind.GROUP if group else ChatKind.DIRECT
    words = text or f"message {number}"
    return InboundMessage("telegram", Chat(kind, chat), Sender(sender, "Orrin"), str(number), words, SENT_AT)


async def until(happened: Callable[[], bool]) -> None:
    """Wait for something that other tasks do."""
    with anyio.fail_after(LIMIT):
        while not happened():  # noqa: ASYNC110 - whatever it is, nobody tells of it
            await anyio.sleep(0.001)


def spoken(layers: tuple[Layer, ...]) -> list[str]:
    """The words of persons among the layers."""
    return [each.text for each in layers if each.name is LayerName.USER_TEXT]


@dataclass(eq=False)
class PlayedTurn:
    """A turn whose course the test decides."""

    request: TurnRequest
    steered: list[str] = field(default_factory=list[str])
    """The words that were said into it."""
    has: list[str] = field(default_factory=list[str])
    """Those of them that it took."""
    left_out: list[str] = field(default_factory=list[str])
    takes: Steered | None = Steered.TAKEN
    """What it answers to words; None to wait for `answer`, or for its end."""
    late: bool = False
    """Whether what became of words is known only some time after its end."""
    deaf: bool = False
    """Whether it goes on when it is interrupted."""
    unborn: bool = False
    """Whether it waits, so that no conversation has its words when it is interrupted."""
    silent: bool = False
    """Whether it never tells what became of words."""
    interrupts: list[EndedBy] = field(default_factory=list[EndedBy])
    buffer: EventBuffer = field(default_factory=EventBuffer)
    answered: anyio.Event = field(default_factory=anyio.Event)

    @property
    def said(self) -> list[str]:
        """The words that it began with."""
        return spoken(self.request.composition.layers)

    def events(self) -> AsyncIterator[TurnEvent]:
        """See `RunningTurn`."""
        return self.buffer.read()

    async def result(self) -> TurnResult:
        """See `RunningTurn`."""
        return await self.buffer.wait()

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        """See `RunningTurn`."""
        self.interrupts.append(by)
        if not self.deaf and self.buffer.result is None:
            result = TurnResult(Outcome.INTERRUPTED, "", ended_by=by)
            self.finish(result if self.unborn else replace(result, conversation="thread", turn="turn"))
        await self.buffer.wait()

    async def steer(self, words: tuple[Layer, ...], key: str) -> Steered:
        """See `RunningTurn`."""
        if self.buffer.result is not None:
            return Steered.OVER
        self.steered += spoken(words)
        self.left_out += [each.text for each in words if each.name is LayerName.LEFT_OUT]
        if self.silent:
            await anyio.sleep_forever()
        if self.takes is None:
            await self.answered.wait()
        takes = self.takes or Steered.OVER
        if takes is Steered.TAKEN:
            self.has += spoken(words)
            self.buffer.push(Joined(key))
        return takes

    def answer(self, takes: Steered) -> None:
        """Say what became of the words that were said into it."""
        self.takes = takes
        self.answered.set()

    def say(self, text: str) -> None:
        """Stream a piece of the answer."""
        self.buffer.push(TextDelta("answer", text))

    def end(self, text: str = "done") -> None:
        """End it well."""
        self.finish(TurnResult(Outcome.ANSWERED, text, conversation="thread", turn="turn"))

    def finish(self, result: TurnResult) -> None:
        """End it."""
        if not self.late:
            self.answered.set()
        self.buffer.push(Finished(result))


@dataclass(eq=False)
class PlayedHarness:
    """A backend that keeps its turns."""

    turns: list[PlayedTurn] = field(default_factory=list[PlayedTurn])
    takes: Steered | None = Steered.TAKEN
    deaf: bool = False
    unborn: bool = False
    silent: bool = False
    summaries: list[str] = field(default_factory=list[str])
    """Conversations that were to be summarised."""
    aside: dict[str, int] = field(default_factory=dict[str, int])
    """What else runs in a conversation."""
    begin: Callable[[TurnRequest], None] = lambda request: None

    def start(self, request: TurnRequest) -> PlayedTurn:
        """See `Harness`."""
        self.begin(request)
        turn = PlayedTurn(request, takes=self.takes, deaf=self.deaf, unborn=self.unborn, silent=self.silent)
        self.turns.append(turn)
        return turn

    def compact(self, request: TurnRequest) -> PlayedTurn:
        """See `Compacts`."""
        self.summaries.append(request.session_key)
        return self.start(request)

    async def stop(self, session_key: str) -> int:
        """See `Stops`."""
        return self.aside.pop(session_key, 0)


@dataclass
class House:
    """A desk, and what is around it."""

    desk: Desk[PlayedTurn]
    harness: PlayedHarness
    deliveries: Deliveries
    outbox: RecordingOutbox
    clock: HandClock
    """Moves the pauses; not for a house with another clock."""
    told: list[str]
    approvals: Approvals

    @property
    def turns(self) -> list[PlayedTurn]:
        """The turns, in the order in which they were begun."""
        return self.harness.turns

    async def begun(self, number: int) -> PlayedTurn:
        """Wait for a turn; the first one is 1."""
        await until(lambda: len(self.turns) >= number)
        return self.turns[number - 1]

    async def states(self) -> dict[str, State]:
        """What is open, by the number of the message."""
        return {
            each.key.rsplit(":", 1)[1]: group.state for group in await self.deliveries.open() for each in group.inbound
        }

    async def settled(self) -> None:
        """Wait until nothing is left to be done."""
        with anyio.fail_after(LIMIT):
            await self.desk.settled()


@asynccontextmanager
async def house(
    folder: Path,
    rules: QueueRules = QueueRules(),  # noqa: B008 - frozen
    *,
    owners: frozenset[str] | None = None,
    harness: PlayedHarness | None = None,
    outbox: RecordingOutbox | None = None,
    clock: Clock | None = None,
    listen: Callable[[InboundMessage, PlayedTurn], Heard | None] = lambda message, turn: None,
    patience: float = 0.0,
    asks: ApprovalSettings | None = None,
    random_bytes: Callable[[int], bytes] = os.urandom,
    now: Callable[[], float] = time.time,
    secrets: tuple[str, ...] = (),
    told: list[str] | None = None,
) -> AsyncGenerator[House]:
    """A desk whose workspace and store are in a folder."""
    harness, by_hand = harness or PlayedHarness(), HandClock()
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    settings = replace(plain_settings(workspace, "main"), queue=QueueSettings(rules=rules))
    agent = Agent(harness, Gatherer(settings, Habits(), now=lambda: SENT_AT), owners=owners)
    outbox, told = outbox or RecordingOutbox(), list[str]() if told is None else told
    async with bindings_at(folder / "store.sqlite") as bindings:
        deliveries = Deliveries(bindings.database)
        courier = Courier(deliveries, outbox, media=MediaRules(workspace=str(workspace)), tell=told.append)
        async with (
            open_approvals(
                *(bindings.database, outbox, asks or ApprovalSettings()),
                owners=owners,
                clock=clock or by_hand,
                now=now,
                random_bytes=random_bytes,
                sleep=_at_once,
                secrets=secrets,
            ) as approvals,
            open_desk(
                *(agent, deliveries, courier),
                tell=told.append,
                listen=listen,
                clock=clock or by_hand,
                patience=patience,
                approvals=approvals,
            ) as desk,
        ):
            yield House(desk, harness, deliveries, outbox, by_hand, told, approvals)


async def _at_once(seconds: float) -> None:
    del seconds
    await anyio.lowlevel.checkpoint()
