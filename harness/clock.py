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
