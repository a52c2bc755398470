"""How a text tells the time, and in which zone.

Pure but for the time zone database, which the standard library reads: the moment is an argument. Two lines, the
person's time and UTC (prompt-builder 9).
"""

import re
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

Clock = Literal["12", "24"]
"""Whether the hours of a day are counted twice to 12 or once to 24."""

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_PAIR = re.compile(r"^Current time: .*(?:\n+Reference UTC: .*)?$", re.MULTILINE)
_GAP = re.compile(r"\n{3,}")


def find_zone(name: str) -> ZoneInfo | None:
    """Return the time zone of an IANA name, or None when the machine's data does not know it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, not a relative path, or a folder of the database
        return None


def format_user_time(now: datetime, zone: ZoneInfo, *, clock: Clock = "24") -> str:
    """Return the time in words, such as `Monday, March 2nd, 2026 - 09:05`, in English whatever the locale."""
    local = now.astimezone(zone)
    ending = "th" if 11 <= local.day % 100 <= 13 else _ENDINGS.get(local.day % 10, "th")
    date = f"{_DAYS[local.weekday()]}, {_MONTHS[local.month - 1]} {local.day}{ending}, {local.year}"
    if clock == "24":
        return f"{date} - {local.hour:02}:{local.minute:02}"
    return f"{date} - {local.hour % 12 or 12}:{local.minute:02} {'AM' if local.hour < 12 else 'PM'}"


def format_when(at: float, now: float, zone: str = "") -> str:
    """Return how far off a moment is and what a clock shows then, such as `in 1 h 2 min, at 08:52 (Europe/Berlin)`.

    Less than two minutes stand alone, and the day is named when it is another one.

    Args:
        at: The moment, in Unix seconds.
        now: The time, in Unix seconds.
        zone: IANA name of the time zone; empty, or unknown to this machine, for UTC.
    """
    left = max(0, round(at - now))
    if left < 120:
        return f"in {left} s"
    days, rest = divmod(left // 60, 24 * 60)
    hours, minutes = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (0 if days else minutes, "min")]
    length = " ".join(f"{count} {unit}" for count, unit in parts if count) or f"{left // 60} min"
    there = find_zone(zone) if zone else None
    local, today = (datetime.fromtimestamp(each, there or UTC) for each in (at, now))
    day = "" if local.date() == today.date() else f"on {local.year}-{local.month:02}-{local.day:02} "
    return f"in {length}, {day}at {local.hour:02}:{local.minute:02} ({zone if there else 'UTC'})"


def time_lines(now: datetime, zone: ZoneInfo, *, clock: Clock = "24") -> str:
    """Return the two lines that say what time it is, without a line break at the end."""
    utc = now.astimezone(UTC)
    return (
        f"Current time: {format_user_time(now, zone, clock=clock)} ({zone.key})\n"
        f"Reference UTC: {utc.year}-{utc.month:02}-{utc.day:02} {utc.hour:02}:{utc.minute:02} UTC"
    )


def with_time_lines(text: str, lines: str) -> str:
    """Return `text` with `lines` as its only statement of the time.

    An earlier statement is replaced where it stands and further ones are taken out; without one the lines come
    last. An empty text stays empty.
    """
    trimmed = text.rstrip()
    if not trimmed or not lines:
        return trimmed
    first = _PAIR.search(trimmed)
    if first is None:
        return f"{trimmed}\n{lines}"
    rest = _PAIR.sub("", trimmed[first.end() :])
    return _GAP.sub("\n\n", trimmed[: first.start()] + lines + rest).rstrip()
