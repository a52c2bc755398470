"""Who is asked before something is done, what needs no asking, and how long an answer is waited for.

Pure values.
"""

from enum import Enum
from typing import Final

from harness.lean_values import dataclass

PATIENCE: Final = 600.0
"""Seconds that an answer is waited for. The original waits 120 (harness reference, 6.2), which a person with a
telephone in the pocket misses; what is not answered is declined either way."""


class Asking(Enum):
    """When a person is asked for leave."""

    NEVER = "off"
    """Never: what no rule allows is declined."""
    ON_MISS = "on-miss"
    """When no rule allows it."""
    ALWAYS = "always"
    """Each time; rules count for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettings:
    """What is configured about leave and questions."""

    asking: Asking = Asking.ON_MISS
    allowed: tuple[tuple[str, ...], ...] = ()
    """The first words of commands that need no asking, each with at least one word."""
    owners: tuple[str, ...] = ()
    """Sender ids of those who may answer, one with the name of a channel and a colon before it on that channel alone;
    empty: nobody may."""
    seconds: float = PATIENCE

    def is_owner(self, channel: str, sender: str) -> bool:
        """Whether somebody may answer."""
        return bool(sender) and not {sender, f"{channel}:{sender}"}.isdisjoint(self.owners)

    def anybody(self, channel: str) -> bool:
        """Whether there is somebody who may answer on a channel."""
        return any(_may_be_on(channel, each) for each in self.owners)


def _may_be_on(channel: str, owner: str) -> bool:
    prefix, colon, _ = owner.partition(":")
    return prefix == channel or not (colon and prefix.isalpha())  # some channels have colons in their ids
