"""When an agent wants to look again, as it says so at the end of a heartbeat.

Pure.
"""

import re
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from harness.durations import parse_duration
from harness.settings.heartbeat import day_minutes

SOONEST: Final = timedelta(minutes=5)
"""It is not looked sooner than this after a heartbeat. Our choice: each look costs a turn of the model, and an agent
that always wants to look again at once would use up the account."""
_IN: Final = re.compile(r"(?:in|after)\s+", re.IGNORECASE)
_UNIT: Final = re.compile(r"(?<=[\d\s])(seconds?|secs?|minutes?|mins?|hours?|hrs?|days?)\b", re.IGNORECASE)


def next_check(text: str, now: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the moment that an agent names, no sooner than `SOONEST`; None for words that name none.

    Understood are lengths of time such as "30m" or "in 2 hours", times of the day such as "14:30", and moments such as
    "2031-05-06T09:00", which are the person's where they name no zone.

    Args:
        text: What it said.
        now: The time, with a zone.
        zone: The person's time zone.
    """
    said = text.strip().rstrip(".")
    found = _after(said, now) or _at(said, now, zone)
    return None if found is None else max(found, now + SOONEST)


def _after(said: str, now: datetime) -> datetime | None:
    length = parse_duration(_UNIT.sub(lambda unit: unit[0][0].lower(), _IN.sub("", said, count=1)))
    try:
        # A bare number may mean anything.
        return None if length is None or said.replace(".", "").isdigit() else now + length
    except OverflowError:
        return None


def _at(said: str, now: datetime, zone: ZoneInfo) -> datetime | None:
    local = now.astimezone(zone)
    minutes = day_minutes(said.removeprefix("at ").strip())
    if minutes is not None:
        today = local.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(minutes=minutes)
        return today if today > local else today + timedelta(days=1)
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        return None
    if len(said) <= len("2031-05-06"):  # a day alone names no moment
        return None
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment
