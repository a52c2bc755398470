"""When the next heartbeat is due, and whether a wake may run now.

Pure: the clock is an argument, all moments are aware.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

FLOOD_STARTS = 5
FLOOD_WINDOW = timedelta(seconds=60)
"""Five starts within a minute are a flood (prompt-builder 10.8)."""
EVENT_GAP = timedelta(seconds=30)
"""The least time between a start and a later event's (prompt-builder 10.8)."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Intent(Enum):
    """Why somebody wants a heartbeat."""

    MANUAL = "manual"
    """A person asked for it: never put off."""
    IMMEDIATE = "immediate"
    """Something must be looked at now: only a flood holds it."""
    SCHEDULED = "scheduled"
    """The interval."""
    EVENT = "event"
    """Something happened that can wait for its turn."""


@dataclass(frozen=True, slots=True)
class RunNow:
    """The wake may run."""


@dataclass(frozen=True, slots=True)
class Defer:
    """The wake waits."""

    until: datetime
    why: str
    """`flood`, `not-due` or `min-spacing`."""


def phase_offset(seed: str, agent_id: str, every: timedelta) -> timedelta:
    """Return where in the interval an agent's beat falls, so that many agents do not beat at once.

    The first four bytes, as a number, of the SHA-256 of `seed:agent_id`, modulo the interval in milliseconds
    (prompt-builder 10.8).

    Raises:
        ValueError: `every` is shorter than a millisecond.
    """
    step = every // _MILLISECOND
    if step < 1:
        raise ValueError(f"a heartbeat interval of {every} is too short: give at least a millisecond")
    first = int.from_bytes(hashlib.sha256(f"{seed}:{agent_id}".encode()).digest()[:4], "big")
    return (first % step) * _MILLISECOND


def next_due(now: datetime, every: timedelta, phase: timedelta) -> datetime:
    """Return the first beat after `now`: the moments since 1970 that are `phase` past a multiple of `every`."""
    beats = (now - _EPOCH - phase) // every
    return _EPOCH + phase + (beats + 1) * every


def admit(
    intent: Intent,
    *,
    now: datetime,
    due: datetime,
    every: timedelta,
    last_start: datetime | None,
    recent_starts: tuple[datetime, ...] = (),
) -> RunNow | Defer:
    """Decide whether a wake runs now (prompt-builder 10.8).

    `due` is the agent's next beat as fixed after its last run, and `every` the interval; `recent_starts` are the
    starts of late, in any order. Starts that lie ahead of `now`, and a beat more than an interval ahead, come from a
    clock that was set back, or from an interval that was longer then, and hold nothing up.
    """
    if intent is Intent.MANUAL:
        return RunNow()
    flood_ends = _flood_end(recent_starts, now)
    if flood_ends is not None:
        return Defer(flood_ends, "flood")
    if intent is Intent.IMMEDIATE:
        return RunNow()
    if intent is Intent.EVENT and last_start is None:
        return RunNow()
    if now < due <= now + every:
        return Defer(due, "not-due")
    if intent is Intent.EVENT and last_start is not None and last_start <= now < last_start + EVENT_GAP:
        return Defer(last_start + EVENT_GAP, "min-spacing")
    return RunNow()


def _flood_end(starts: tuple[datetime, ...], now: datetime) -> datetime | None:
    inside = sorted(start for start in starts if now - FLOOD_WINDOW < start <= now)
    return inside[-FLOOD_STARTS] + FLOOD_WINDOW if len(inside) >= FLOOD_STARTS else None
