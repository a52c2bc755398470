"""The way of a turn's events from the backend to one reader who may be slow.

`push` never waits, so a slow reader holds nothing up. Pieces of one text that pile up are joined, so what is
kept is bounded by what was said and not by the number of pieces. Nothing that the agent says or does is dropped; of
what its commands print the middle is, see `harness.outputs`.
"""

from collections import deque
from collections.abc import AsyncIterator
from typing import TypeAlias

import anyio

from harness.outputs import MOST_OUTPUTS, KeptOutput
from harness.turns import (
    CommandOutput,
    Commentary,
    Finished,
    Reasoning,
    TextDelta,
    TurnEvent,
    TurnResult,
    UsageCounted,
)

_Piece: TypeAlias = TextDelta | Commentary | Reasoning


class EventBuffer:
    """Events of one turn, waiting to be read."""

    def __init__(self) -> None:
        self._events: deque[TurnEvent | KeptOutput] = deque()
        self._outputs: dict[str, KeptOutput] = {}
        """The output of commands that stands in `_events`, by command; the oldest first."""
        self._kind: type[_Piece] = TextDelta
        self._item = ""
        self._pieces = bytearray()  # UTF-8; as a list, each would take an object ten times its size
        self._news = anyio.Semaphore(0, fast_acquire=True)  # not an event, which would be another one for each wait
        self._finished: anyio.Event | None = None
        """Somebody waits for the end."""
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
        elif isinstance(event, CommandOutput):
            self._keep(event)
        else:
            self._settle()
            if isinstance(event, UsageCounted) and self._events and isinstance(self._events[-1], UsageCounted):
                self._events.pop()  # the new one says it all
            self._events.append(event)
            if isinstance(event, Finished):
                self._result = event.result
                if self._finished is not None:
                    self._finished.set()
        if self._waiting:
            self._waiting = False
            self._news.release()

    async def wait(self) -> TurnResult:
        """Wait for the end of the turn."""
        if self._result is None:
            self._finished = self._finished or anyio.Event()
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
                if isinstance(event, KeptOutput):
                    del self._outputs[event.item]
                    yield event.taken()
                    continue
                yield event
                if isinstance(event, Finished):
                    return
                self._settle()
            self._waiting = True
            await self._news.acquire()

    def _keep(self, piece: CommandOutput) -> None:
        """Join a piece to what waits of its command, also behind pieces of others that run at the same time."""
        kept = self._outputs.get(piece.item)
        if kept is None:
            self._settle()
            kept = self._outputs[piece.item] = KeptOutput(piece.item)
            self._events.append(kept)
            surplus = sum(each.size for each in self._outputs.values()) - MOST_OUTPUTS
            for oldest in self._outputs.values():
                if surplus <= 0:
                    break
                surplus -= oldest.size
                oldest.forget()
        kept.add(piece)

    def _settle(self) -> None:
        """Turn the gathered pieces into one event."""
        if self._pieces:
            self._events.append(self._kind(self._item, self._pieces.decode("utf-8", "surrogatepass")))
            self._pieces.clear()
