"""The way of a turn's events from the backend to one reader who may be slow.

`push` never waits, so a slow reader holds nothing up. Pieces of one text that pile up are joined, so what is
kept is bounded by what was said and not by the number of pieces; nothing is dropped.
"""

from collections import deque
from collections.abc import AsyncIterator
from typing import TypeAlias

import anyio

from harness.turns import CommandOutput, Commentary, Finished, Reasoning, TextDelta, TurnEvent, TurnResult

_Piece: TypeAlias = TextDelta | Commentary | Reasoning | CommandOutput


class EventBuffer:
    """Events of one turn, waiting to be read."""

    def __init__(self) -> None:
        self._events: deque[TurnEvent] = deque()
        self._kind: type[_Piece] = TextDelta
        self._item = ""
        self._pieces = bytearray()  # UTF-8; as a list, each would take an object ten times its size
        self._news = anyio.Semaphore(0, fast_acquire=True)  # not an event, which would be another one for each wait
        self._finished = anyio.Event()
        self._result: TurnResult | None = None
        self._waiting = False
        self._taken = False

    @property
    def result(self) -> TurnResult | None:
        """The turn's result once it is over."""
        return self._result

    def push(self, event: TurnEvent) -> None:
        """Add an event; after `Finished` nothing more is taken."""
        if self._result is not None:
            return
        if isinstance(event, _Piece):
            if type(event) is not self._kind or event.item != self._item:
                self._settle()
                self._kind, self._item = type(event), event.item
            self._pieces += event.text.encode("utf-8", "surrogatepass")
        else:
            self._settle()
            self._events.append(event)
            if isinstance(event, Finished):
                self._result = event.result
                self._finished.set()
        if self._waiting:
            self._waiting = False
            self._news.release()

    async def wait(self) -> TurnResult:
        """Wait for the end of the turn."""
        await self._finished.wait()
        assert self._result is not None
        return self._result

    async def read(self) -> AsyncIterator[TurnEvent]:
        """Give the events in order, up to and with `Finished`.

        Raises:
            RuntimeError: Somebody reads, or has read, them already; a second reader would take half of them.
        """
        if self._taken:
            raise RuntimeError("the events of a turn can be read once")
        self._taken = True
        while True:
            self._settle()
            while self._events:
                event = self._events.popleft()
                yield event
                if isinstance(event, Finished):
                    return
                self._settle()
            self._waiting = True
            await self._news.acquire()

    def _settle(self) -> None:
        """Turn the gathered pieces into one event."""
        if self._pieces:
            self._events.append(self._kind(self._item, self._pieces.decode("utf-8", "surrogatepass")))
            self._pieces.clear()
