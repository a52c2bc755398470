"""The places for the turns of a gateway, for who has to wait for one; see `turn_order`."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio

from harness.turn_order import Place, TurnOrder


class TurnLimit(TurnOrder):
    """One object for everybody who shares the places: all harnesses of a gateway.

    A place that is free is taken without waiting for anything: `come`, and `wait` only if that gave none.
    """

    async def wait(self, place: Place) -> None:
        """Wait until a turn in the line may begin. Who gives up meanwhile leaves it."""
        free = anyio.Event()
        place.on_turn = free.set
        try:
            while not place.held:
                await free.wait()
        except BaseException:
            self.leave(place)
            raise

    @contextmanager
    def lent(self, place: Place) -> Generator[None]:
        """Let others have the place of a turn for as long as the block lasts, which waits for a person."""
        self.lend(place)
        try:
            yield
        finally:
            self.take_back(place)
