"""A turn as the desk holds it: one whose end always comes, whatever its backend does."""

import logging
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import Final

import anyio

from harness.errors import THE_LOG
from harness.layers import Layer
from harness.turns import EndedBy, Failure, Finished, Outcome, RunningTurn, Steered, TurnEvent, TurnResult

END_GRACE: Final = 60.0
"""Seconds after somebody wanted the end of a turn for which the desk waits for it. Codex takes 20 at most, when it does
not answer and its server has to be closed."""
UNENDING: Final = "It was to end, and did not; nobody waits for it any longer."
"""What is said of a turn that was to make way."""

logger = logging.getLogger(__name__)


class Over:
    """A turn that is over, or that no harness ever had."""

    def __init__(self, result: TurnResult) -> None:
        self._result = result

    async def events(self) -> AsyncIterator[TurnEvent]:
        """See `RunningTurn`."""
        yield Finished(self._result)

    async def result(self) -> TurnResult:
        """See `RunningTurn`."""
        return self._result

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        """See `RunningTurn`."""

    async def steer(self, words: tuple[Layer, ...], key: str) -> Steered:
        """See `RunningTurn`."""
        del words, key
        return Steered.OVER


class Held:
    """A turn of a backend, which may be given up.

    Args:
        turn: The turn.
    """

    def __init__(self, turn: RunningTurn) -> None:
        self._turn = turn
        self._waiting: set[anyio.CancelScope] = set()
        self.end: TurnResult | None = None
        """What its end counts as, once it was given up or broke: nobody knows how far it came."""

    def give_up(self, by: EndedBy) -> None:
        """Wait for it no longer; `by` wanted its end."""
        self.end = TurnResult(Outcome.INTERRUPTED, "", ended_by=by)
        if by is not EndedBy.PERSON:  # who waits for its answer has to hear that there is none
            self.end = TurnResult(Outcome.LOST, "", error=UNENDING, failure=Failure.OTHER, ended_by=EndedBy.LOSS)
        for scope in tuple(self._waiting):
            scope.cancel()

    @contextmanager
    def within(self) -> Generator[None]:
        """Do something for as long as it is not given up."""
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            if self.end is not None:
                scope.cancel()
            try:
                yield
            finally:
                self._waiting.discard(scope)

    def events(self) -> AsyncIterator[TurnEvent]:
        """See `RunningTurn`; to be read `within` it."""
        return self._turn.events()

    async def result(self) -> TurnResult:
        """See `RunningTurn`."""
        if self.end is None:
            try:
                with self.within():
                    return await self._turn.result()
            except Exception:  # a backend that breaks its word costs its chat nothing else
                logger.exception("a turn has no result")
        self.end = self.end or failed(f"The gateway had an internal error; {THE_LOG}.")
        return self.end

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        """See `RunningTurn`."""
        with self.within():
            await self._turn.interrupt(by)

    async def steer(self, words: tuple[Layer, ...], key: str) -> Steered:
        """See `RunningTurn`."""
        return await self._turn.steer(words, key)


def failed(error: str) -> TurnResult:
    """The end of a turn that could not be begun, or that broke."""
    return TurnResult(Outcome.FAILED, "", error=error, failure=Failure.OTHER)
