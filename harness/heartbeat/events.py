"""What a gateway hears of an agent's heartbeats: a closed union, told in the order in which it happens.

Pure values.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from harness.heartbeat.outcome import Verdict
from harness.heartbeat.skips import SkipReason, Wake
from harness.heartbeat.target import Target
from harness.replies.gate import Say
from harness.turns import TurnResult


@dataclass(frozen=True, slots=True)
class Alert:
    """What somebody is to be told."""

    agent: str
    session_key: str
    """The owner's conversation."""
    target: Target
    say: Say
    """Its texts, and the files that go along; what the model thought comes first, where that is wanted."""
    key: str = ""
    """The id of the heartbeat that says it, which no other one has."""

    @property
    def text(self) -> str:
        """What it says; empty for files alone."""
        return self.say.texts[-1] if self.say.texts else ""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The next beat; None when the agent has none."""

    agent: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Noticed:
    """One sentence for the operator, said when it is news."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """No model was asked, and why."""

    agent: str
    wake: Wake
    reason: SkipReason
    again: datetime | None = None
    """When it is tried again; None: with the next beat or wake."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """A wake waits: for the beat, or since there were too many of late."""

    agent: str
    wake: Wake
    until: datetime
    why: str
    """`flood`, `not-due` or `min-spacing`."""


@dataclass(frozen=True, slots=True)
class Began:
    """A heartbeat is on its way."""

    agent: str
    wake: Wake
    why: str
    """What the one who woke the agent said of it; empty for the interval."""
    session_key: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """A heartbeat is over, and what is to be told was told."""

    agent: str
    verdict: Verdict
    result: TurnResult


@dataclass(frozen=True, slots=True)
class GaveWay:
    """A heartbeat was interrupted for a person's message; it is tried again."""

    agent: str
    again: datetime


@dataclass(frozen=True, slots=True)
class Failed:
    """A heartbeat came to nothing; the next one is due all the same, and tasks that were due stay due."""

    agent: str
    error: str
    """One sentence for a person."""
    detail: str = ""


HeartbeatEvent: TypeAlias = Scheduled | Noticed | Skipped | Deferred | Began | Ended | GaveWay | Failed
Settled: TypeAlias = Skipped | Deferred | Ended | GaveWay | Failed
"""What an attempt can come to."""
