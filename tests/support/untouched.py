"""A turn that runs to its end by itself, and a backend that runs none."""

from collections.abc import AsyncIterator

from harness.layers import Layer
from harness.turns import EndedBy, Steered, TurnEvent, TurnRequest, TurnResult


class Untouched:
    """The part of a running turn that a test does not come to: nobody stops it, and nobody says more into it."""

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        raise NotImplementedError

    async def steer(self, words: tuple[Layer, ...], key: str) -> Steered:
        raise NotImplementedError


class Noted(Untouched):
    """A turn that is only looked at."""

    def __init__(self, request: TurnRequest) -> None:
        self.request = request

    def events(self) -> AsyncIterator[TurnEvent]:
        raise NotImplementedError

    async def result(self) -> TurnResult:
        raise NotImplementedError


class Recording:
    """A backend that keeps the requests it is given."""

    def start(self, request: TurnRequest) -> Noted:
        return Noted(request)
