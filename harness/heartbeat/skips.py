"""Why a heartbeat does not run.

Pure: the facts are gathered elsewhere. The rows of the table are asked in order and the first that applies is
the reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Final

from harness.settings.heartbeat import Visibility


class Wake(Enum):
    """What woke the agent."""

    INTERVAL = "interval"
    MANUAL = "manual"
    """A person asked for a heartbeat."""
    WAKE = "wake"
    """A hook or another session asked for one."""
    EXEC = "exec-event"
    CRON = "cron-event"


class SkipReason(StrEnum):
    """The names under which skips are reported (prompt-builder 10.8)."""

    DISABLED = "disabled"
    QUIET_HOURS = "quiet-hours"
    REQUESTS_IN_FLIGHT = "requests-in-flight"
    CRON_IN_PROGRESS = "cron-in-progress"
    LANES_BUSY = "lanes-busy"
    EMPTY_FILE = "empty-heartbeat-file"
    NO_TASKS_DUE = "no-tasks-due"
    ALERTS_DISABLED = "alerts-disabled"
    DUPLICATE = "duplicate"
    """The same text was sent within a day; decided once the answer is there."""
    SENT = "already-sent"
    """A tool of the turn has put it into the chat; decided once the answer is there."""
    NO_TARGET = "no-target"
    """Nobody is to be told; decided once the answer is there."""


WHY: Final[Mapping[SkipReason, str]] = MappingProxyType(
    {
        SkipReason.DISABLED: "this agent has no heartbeats: heartbeat.every is 0 or wrong, or only other agents have a "
        "heartbeat block",
        SkipReason.QUIET_HOURS: "it is outside of heartbeat.activeHours",
        SkipReason.REQUESTS_IN_FLIGHT: "its conversation is busy",
        SkipReason.CRON_IN_PROGRESS: "a scheduled job of the agent runs",
        SkipReason.LANES_BUSY: "another conversation of the agent is busy, and heartbeat.skipWhenBusy is set",
        SkipReason.EMPTY_FILE: "HEARTBEAT.md asks for nothing",
        SkipReason.NO_TASKS_DUE: "no task of HEARTBEAT.md is due",
        SkipReason.ALERTS_DISABLED: "the channel shows nothing of heartbeats",
        SkipReason.DUPLICATE: "the same was told within a day",
        SkipReason.SENT: "the message tool has told it",
        SkipReason.NO_TARGET: "heartbeat.target names no chat that may be told",
    }
)
"""Each reason as a clause for a person."""
TRANSIENT = frozenset({SkipReason.REQUESTS_IN_FLIGHT, SkipReason.CRON_IN_PROGRESS, SkipReason.LANES_BUSY})
"""The reasons that pass by themselves: such a wake is tried again soon instead of waiting for the next beat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known before a heartbeat runs."""

    wake: Wake = Wake.INTERVAL
    enabled: bool = True
    """The agent has heartbeats and an interval."""
    within_hours: bool = True
    requests_in_flight: bool = False
    """The agent's own conversation is busy."""
    cron_in_progress: bool = False
    other_lanes_busy: bool = False
    """Subagents or other conversations of the agent are busy."""
    skip_when_busy: bool = False
    """The configuration also waits for those."""
    file_empty: bool = False
    """HEARTBEAT.md is there and asks for nothing."""
    tasks_listed: bool = False
    tasks_due: bool = False
    commitments_due: bool = False
    visibility: Visibility = field(default_factory=Visibility)


_CHECKS: tuple[tuple[SkipReason, Callable[[RunFacts], bool]], ...] = (
    (SkipReason.DISABLED, lambda facts: not facts.enabled),
    (SkipReason.QUIET_HOURS, lambda facts: not facts.within_hours and facts.wake is not Wake.MANUAL),
    (SkipReason.REQUESTS_IN_FLIGHT, lambda facts: facts.requests_in_flight),
    (SkipReason.CRON_IN_PROGRESS, lambda facts: facts.cron_in_progress),
    (SkipReason.LANES_BUSY, lambda facts: facts.skip_when_busy and facts.other_lanes_busy),
    # Reminders, ended commands and wakes bring their own question, so only the interval rests on the file.
    (SkipReason.EMPTY_FILE, lambda facts: _rests_on_file(facts) and facts.file_empty and not facts.tasks_listed),
    (SkipReason.NO_TASKS_DUE, lambda facts: _rests_on_file(facts) and facts.tasks_listed and not facts.tasks_due),
    (SkipReason.ALERTS_DISABLED, lambda facts: facts.visibility.nothing_shown),
)


def skip_before_run(facts: RunFacts) -> SkipReason | None:
    """Return why this heartbeat makes no model call, or None when it runs."""
    return next((reason for reason, applies in _CHECKS if applies(facts)), None)


def _rests_on_file(facts: RunFacts) -> bool:
    return facts.wake is Wake.INTERVAL and not facts.commitments_due
