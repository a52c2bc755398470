"""What was said already, and is not said again in this process.

Pure.
"""

from typing import Final

MOST: Final = 10_000
"""Things that are remembered; the oldest is forgotten first."""


class Once:
    """Remembers what was said."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, ...], None] = {}

    def first(self, *key: str) -> bool:
        """Whether something was not said yet; from now on it was."""
        if key in self._said:
            return False
        self._said[key] = None
        if len(self._said) > MOST:
            del self._said[next(iter(self._said))]
        return True
