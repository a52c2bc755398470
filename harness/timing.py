"""The clock that deadlines and pauses go by, as far as one is needed. A test has one of its own.

Pure.
"""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that is to be called later."""

    def cancel(self) -> None:
        """Call it not."""
        ...


class Clock(Protocol):
    """A clock that never goes back; a loop of asyncio is one."""

    def time(self) -> float:
        """The time, in seconds since whenever."""
        ...

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        """Call something at that time."""
        ...
