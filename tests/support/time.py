"""A clock that a test moves."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class _Call:
    when: float
    callback: Callable[[], object]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class HandClock:
    """Stands still until it is moved on, and then calls what is due, in order, each at its time."""

    def __init__(self) -> None:
        self._now = 0.0
        self._calls: list[_Call] = []
        self.looks = 0
        """How often something was called."""

    def time(self) -> float:
        """The time."""
        return self._now

    def call_at(self, when: float, callback: Callable[[], object]) -> _Call:
        """Call something at that time."""
        call = _Call(when, callback)
        self._calls.append(call)
        return call

    def advance(self, seconds: float) -> None:
        """Move on."""
        end = self._now + seconds
        while due := sorted((each for each in self._pending() if each.when <= end), key=lambda call: call.when):
            self._calls.remove(due[0])
            self._now = max(self._now, due[0].when)
            self.looks += 1
            due[0].callback()
        self._now = end

    @property
    def pending(self) -> list[float]:
        """The times at which something is to be called."""
        return [call.when for call in self._pending()]

    def _pending(self) -> list[_Call]:
        self._calls = [call for call in self._calls if not call.cancelled]
        return self._calls
