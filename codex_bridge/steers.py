"""The words that somebody sends into one running turn: which are on their way, and which are in the conversation."""

import anyio

from harness.layers import Layer
from harness.lean_values import dataclass


@dataclass(slots=True)
class OnTheWay:
    """Words of which nobody knows yet whether the conversation has them."""

    words: tuple[Layer, ...]
    settled: anyio.Event
    """Set when that is known, or the turn has ended."""
    joined: bool = False
    """Whether it has them."""


class Steers:
    """What joins one turn."""

    def __init__(self) -> None:
        self.open = True
        """Whether the turn takes in words; never again once some were refused, since later ones would overtake them."""
        self.joined: list[Layer] = []
        """The words that are in the conversation."""
        self.taken = 0
        """How often some came there."""
        self.waiting: dict[str, OnTheWay] = {}
        """Those on their way, by their message."""
        self._one_by_one: anyio.Lock | None = None

    @property
    def one_by_one(self) -> anyio.Lock:
        """Held by whoever sends some, so that they arrive in the order in which they were given."""
        if self._one_by_one is None:  # few turns are steered
            self._one_by_one = anyio.Lock(fast_acquire=True)
        return self._one_by_one

    def expect(self, key: str, words: tuple[Layer, ...]) -> OnTheWay:
        """These are about to be sent."""
        sent = self.waiting[key] = OnTheWay(words, anyio.Event())
        return sent

    def join(self, key: str) -> None:
        """These are in the conversation."""
        sent = self.waiting.pop(key, None)
        if sent is not None:
            sent.joined = True
            self.taken += 1
            self.joined += sent.words
            sent.settled.set()

    def release(self) -> None:
        """Whatever is on its way now does not arrive any more."""
        if self.waiting:
            self.open = False
        for sent in self.waiting.values():
            sent.settled.set()
        self.waiting.clear()
