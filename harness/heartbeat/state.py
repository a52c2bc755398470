"""What an agent's heartbeats remember from one run to the next.

Pure values with their JSON form; where it is kept is decided elsewhere. Moments are aware and written in UTC.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from harness.heartbeat.schedule import FLOOD_STARTS
from harness.json_value import Json


@dataclass(frozen=True, slots=True)
class HeartbeatState:
    """The memory of one agent's heartbeats."""

    recent_starts: tuple[datetime, ...] = ()
    """The last starts, oldest first; no more than the flood limit needs."""
    task_runs: tuple[tuple[str, datetime], ...] = ()
    """When each task last ran, sorted by name."""
    last_text: str = ""
    """The last alert that was sent."""
    last_sent_at: datetime | None = None
    check: datetime | None = None
    """When the agent wanted to look again, by the answer of its last heartbeat."""

    @property
    def last_start(self) -> datetime | None:
        """When the last heartbeat started."""
        return self.recent_starts[-1] if self.recent_starts else None

    def last_runs(self) -> dict[str, datetime]:
        """Return when each task last ran, by name."""
        return dict(self.task_runs)

    def started(self, now: datetime) -> "HeartbeatState":
        """Return the state after a heartbeat started at `now`."""
        return replace(self, recent_starts=(*self.recent_starts, now)[-FLOOD_STARTS:], check=None)

    def ran(self, tasks: Iterable[str], now: datetime, *, listed: Iterable[str]) -> "HeartbeatState":
        """Return the state after `tasks` were done at `now`; tasks that are no longer `listed` are forgotten."""
        runs = self.last_runs() | dict.fromkeys(tasks, now)
        names = frozenset(listed)
        return replace(self, task_runs=tuple(sorted((name, at) for name, at in runs.items() if name in names)))

    def sent(self, text: str, now: datetime) -> "HeartbeatState":
        """Return the state after the alert `text` was sent at `now`."""
        return replace(self, last_text=text, last_sent_at=now)

    def to_json(self) -> dict[str, Json]:
        """Return the state as JSON values."""
        return {
            "recentStarts": [_written(at) for at in self.recent_starts],
            "taskRuns": {name: _written(at) for name, at in self.task_runs},
            "lastText": self.last_text,
            "lastSentAt": None if self.last_sent_at is None else _written(self.last_sent_at),
            "nextCheck": None if self.check is None else _written(self.check),
        }


def read_state(stored: Mapping[str, Json]) -> HeartbeatState:
    """Read a stored state. A value that cannot be read is dropped: at worst a task runs once more."""
    starts = stored.get("recentStarts")
    runs = stored.get("taskRuns")
    text = stored.get("lastText")
    read_starts = [_moment(at) for at in starts] if isinstance(starts, list) else []
    read_runs = {name: _moment(at) for name, at in runs.items()} if isinstance(runs, dict) else {}
    return HeartbeatState(
        recent_starts=tuple(at for at in read_starts if at is not None)[-FLOOD_STARTS:],
        task_runs=tuple(sorted((name, at) for name, at in read_runs.items() if at is not None)),
        last_text=text if isinstance(text, str) else "",
        last_sent_at=_moment(stored.get("lastSentAt")),
        check=_moment(stored.get("nextCheck")),
    )


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _moment(raw: Json) -> datetime | None:
    if not isinstance(raw, str):
        return None
    try:
        at = datetime.fromisoformat(raw)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
