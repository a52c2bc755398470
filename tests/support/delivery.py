"""What deliveries are tested with: a turn that says what the test wants, a clock that the test moves, a kill."""

import heapq
from collections.abc import AsyncIterator
from itertools import count

import anyio
import anyio.lowlevel

from harness.events import EventBuffer
from harness.store.admitted import Inbound
from harness.turns import EndedBy, Finished, Outcome, TextDelta, TurnEvent, TurnResult
from tests.support.untouched import Untouched


def inbound(number: str = "1", *, chat: str = "7", at: float = 1000.0, payload: str = "{}") -> Inbound:
    """A message of a direct chat."""
    return Inbound(
        key=f"telegram:{chat}:{number}",
        session_key=f"agent:main:telegram:direct:{chat}",
        channel="telegram",
        chat=chat,
        message_id=number,
        arrived_at=at,
        payload=payload,
    )


class Played(Untouched):
    """A running turn whose course the test decides."""

    def __init__(self, *events: TurnEvent) -> None:
        self.buffer = EventBuffer()
        for event in events:
            self.buffer.push(event)

    def events(self) -> AsyncIterator[TurnEvent]:
        return self.buffer.read()

    async def result(self) -> TurnResult:
        return await self.buffer.wait()

    def say(self, text: str, *, item: str = "answer") -> None:
        self.buffer.push(TextDelta(item, text))

    def end(self, text: str, *, by: EndedBy = EndedBy.ITSELF, earlier: tuple[str, ...] = ()) -> None:
        outcome = Outcome.ANSWERED if by is EndedBy.ITSELF else Outcome.INTERRUPTED
        result = TurnResult(outcome, text, conversation="thread", turn="turn", ended_by=by, earlier=earlier)
        self.buffer.push(Finished(result))


def answered(text: str) -> Played:
    """A turn that is over."""
    return Played(Finished(TurnResult(Outcome.ANSWERED, text, conversation="thread", turn="turn")))


class Clock:
    """A clock that goes on when the test says so."""

    def __init__(self) -> None:
        self.at = 0.0
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._number = count()

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        over = anyio.Event()
        heapq.heappush(self._sleepers, (self.at + seconds, next(self._number), over))
        await over.wait()

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody who sleeps less than that wake up in turn."""
        until = self.at + seconds
        await anyio.wait_all_tasks_blocked()
        while self._sleepers and self._sleepers[0][0] <= until:
            self.at, _, over = heapq.heappop(self._sleepers)
            over.set()
            await anyio.wait_all_tasks_blocked()
        self.at = until


class HurriedClock:
    """A clock on which every sleep is over at once, and counted."""

    def __init__(self) -> None:
        self.at = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        await anyio.lowlevel.checkpoint()
