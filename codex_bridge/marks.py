"""What a message carries of its chat's transcript, so that the thread itself says what it was told.

Pure. The mark travels as the id that Codex keeps with a person's words (`clientUserMessageId`) and the model never
sees. It is written down by Codex in one go with the words, so it is there just when they are.
"""

import re
from typing import Final

from harness.lean_values import dataclass

_MARK: Final = re.compile(r"(?P<keys>.*) heard=(?P<heard>\d{1,15})", re.DOTALL)
_NEXT: Final = "\n"
"""Between the ids of messages that were handed over together."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a message says of itself."""

    key: str
    """Id of what caused the turn, see `TurnRequest.message_key`."""
    heard: int
    """The number of the last row of the chat's transcript that the thread knows when it has this message."""
    more: tuple[str, ...] = ()
    """Ids of the messages that were handed over with it."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The ids of all of them."""
        return (self.key, *self.more)

    def __str__(self) -> str:
        """The mark as Codex keeps it."""
        return f"{_NEXT.join(self.keys)} heard={self.heard}"


def read_mark(text: str | None) -> Mark | None:
    """The mark of a message; None for one that is not ours."""
    found = _MARK.fullmatch(text or "")
    if found is None:
        return None
    key, *more = found["keys"].split(_NEXT)
    return Mark(key, int(found["heard"]), tuple(more))
