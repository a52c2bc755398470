"""What becomes of a message that comes while the agent is at another one of its chat: `messages.queue`.

Pure values; the numbers are those of the harness reference, section 10.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from harness.lean_values import dataclass


class QueueMode(Enum):
    """What a message means to the turn that runs."""

    STEER = "steer"
    """It joins the turn; where that is not possible, it waits for the next one."""
    FOLLOWUP = "followup"
    """It has a turn of its own, after that one."""
    COLLECT = "collect"
    """All that waited have one turn together, after that one."""
    INTERRUPT = "interrupt"
    """It ends the turn, and has the next one."""


class DropPolicy(Enum):
    """Which message is let go of when too many wait."""

    OLD = "old"
    """The one that waited longest."""
    NEW = "new"
    """The one that comes."""
    SUMMARIZE = "summarize"
    """The one that waited longest, and the agent is told how it began."""


QUIET: Final = 0.5
"""Seconds in which nothing else comes before several messages are handed over together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """What holds in one chat."""

    mode: QueueMode = QueueMode.STEER
    quiet: float = QUIET
    """Seconds; 0 hands each message over at once."""
    cap: int = 20
    """Messages that wait at most."""
    drop: DropPolicy = DropPolicy.SUMMARIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """What is configured for all channels, and for some of them."""

    rules: QueueRules = field(default_factory=QueueRules)
    modes: Mapping[str, QueueMode] = field(default_factory=dict[str, QueueMode])
    """By the channel's name in lower case."""
    quiets: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds, likewise."""

    def of(self, channel: str) -> QueueRules:
        """What holds in the chats of a channel."""
        name, rules = channel.strip().lower(), self.rules
        return QueueRules(
            mode=self.modes.get(name, rules.mode),
            quiet=self.quiets.get(name, rules.quiet),
            cap=rules.cap,
            drop=rules.drop,
        )
