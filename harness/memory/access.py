"""Who may hear from the agent's memory.

Pure. The memory is the owner's: it is open in the owner's direct chat, in groups only by configuration, and to
nobody else.
"""

from enum import Enum
from types import MappingProxyType

from harness.lean_values import dataclass
from harness.settings.memory import CitationsMode


class Audience(Enum):
    """Who reads along when the agent answers."""

    OWNER = "owner"
    """The owner alone: their direct chat, and heartbeats of that conversation."""
    OTHER_DIRECT = "other-direct"
    """Somebody else, in a direct chat."""
    GROUP = "group"
    """Several people, whoever asks."""
    SUBAGENT = "subagent"
    CRON = "cron"
    """A scheduled job with a session of its own."""


class Standing(Enum):
    """What an audience may have of the memory."""

    PRIVATE = "private"
    """Everything."""
    SHARED = "shared"
    """What the agent looks up; never a pasted copy."""
    CLOSED = "closed"


_OWNER = (Standing.PRIVATE, "this is the owner's own chat")
_GROUP = (Standing.CLOSED, "memory is private to the owner's direct chat, and this is a group")
_SHARED = (Standing.SHARED, "memory.groups opens the memory to groups")
_OTHER = (Standing.CLOSED, "memory is private to the owner's direct chat, and this is somebody else's")
_SUBAGENT = (Standing.CLOSED, "memory is private to the owner's direct chat, and this is a subagent")
_CRON = (Standing.CLOSED, "memory is private to the owner's direct chat, and this is a scheduled job")

STANDINGS = MappingProxyType(
    {
        (Audience.OWNER, False): _OWNER,
        (Audience.OWNER, True): _OWNER,
        (Audience.OTHER_DIRECT, False): _OTHER,
        (Audience.OTHER_DIRECT, True): _OTHER,
        (Audience.GROUP, False): _GROUP,
        (Audience.GROUP, True): _SHARED,
        (Audience.SUBAGENT, False): _SUBAGENT,
        (Audience.SUBAGENT, True): _SUBAGENT,
        (Audience.CRON, False): _CRON,
        (Audience.CRON, True): _CRON,
    }
)
"""Audience and `memory.groups` to standing, with the reason as a clause. The whole policy."""


@dataclass(frozen=True, slots=True)
class Open:
    """The memory tools answer."""

    cite: bool = True
    """Passages name their source."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The memory tools refuse."""

    reason: str
    """A clause for a person."""


Access = Open | Closed


def cites(mode: CitationsMode, audience: Audience) -> bool:
    """Say whether passages name their source: `auto` does in the owner's chat, where paths mean something."""
    return mode == "on" or (mode == "auto" and audience is Audience.OWNER)
