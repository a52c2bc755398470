"""A turn that runs to its end by itself."""

from harness.layers import Layer
from harness.turns import EndedBy, Steered


class Untouched:
    """The part of a running turn that a test does not come to: nobody stops it, and nobody says more into it."""

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        raise NotImplementedError

    async def steer(self, words: tuple[Layer, ...], key: str) -> Steered:
        raise NotImplementedError
