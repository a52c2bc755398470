"""When a limit is lifted, by what Codex says of it.

Pure. A usage limit is told in words, with a time of the server's own day cut to the minute (measured on both pinned
versions: "try again at 8:52 AM", "try again at Dec 4th, 2026 8:52 AM"), and exactly in the limits of the account, where
the provider states those. A rate limit says in how long.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from codex_bridge.wire.besides import AccountLimits
from harness.durations import parse_duration

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_AT: Final = re.compile(
    r"try again at (?:(?P<month>[a-z]{3})[a-z]* (?P<day>\d{1,2})(?:st|nd|rd|th), (?P<year>\d{4}) )?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2}) (?P<half>[ap]m)\b",
    re.IGNORECASE | re.ASCII,
)
_IN: Final = re.compile(
    r"try again in (?P<length>(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)(?![a-z])\s*)+"
    r"|\d+(?:\.\d+)?\s*(?:seconds?|minutes?|hours?)\b)",
    re.IGNORECASE | re.ASCII,
)
A_MINUTE: Final = 60.0
"""Seconds by which a time in words may be too early."""
FULL: Final = 100
"""Percent that are used of a window that is used up."""
FARTHEST: Final = 366 * 86_400.0
"""Seconds to the farthest moment that is believed. A provider that counts in milliseconds names one thousands of years
away, which no calendar holds. Our choice: the longest window known is a month."""


def reset_in_text(text: str, now: float) -> float | None:
    """Return the moment that a sentence of Codex names, in Unix seconds; None when it names none.

    The time is one of this machine's time zone, which the server has from us. It is cut to the minute, so the next full
    one is meant: asking again before the limit is lifted would fail.

    Args:
        text: What Codex says.
        now: The time in Unix seconds.
    """
    found = _AT.search(text)
    if found is None:
        return None
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "pm" else 0)
    here = datetime.fromtimestamp(now)
    try:
        if found["month"] is None:
            at = here.replace(hour=hour, minute=int(found["minute"]), second=0, microsecond=0)
            if at < here - timedelta(hours=12):
                at += timedelta(days=1)  # midnight came in between
        else:
            month = _MONTHS.index(found["month"].lower()) + 1
            at = datetime(int(found["year"]), month, int(found["day"]), hour, int(found["minute"]))
        lifted = max(at.timestamp() + A_MINUTE, now)
        return lifted if lifted - now <= FARTHEST else None
    except (ValueError, OverflowError, OSError):  # no such month, day or hour
        return None


def delay_in_text(text: str) -> float | None:
    """Return in how many seconds a sentence of the provider wants to be asked again; None when it does not say."""
    found = _IN.search(text)
    if found is None:
        return None
    length = re.sub(r"(?i)\s*(s|m|h)(econds?|inutes?|ours?)", r"\1", found["length"].strip())
    delay = parse_duration(length)
    return delay.total_seconds() if delay is not None and delay.total_seconds() <= FARTHEST else None


def reset_in_limits(limits: AccountLimits, now: float) -> float | None:
    """Return when the last of the account's limits that are reached is lifted, in Unix seconds; None if unknown.

    Args:
        limits: The limits as the server told them.
        now: The time in Unix seconds.
    """
    windows = [window for window in (limits.primary, limits.secondary) if window is not None]
    ends = [window.resets_at for window in windows if window.used_percent >= FULL]
    if limits.individual_limit is not None and limits.individual_limit.remaining_percent <= 0:
        ends.append(limits.individual_limit.resets_at)
    return max((float(end) for end in ends if end is not None and now < end <= now + FARTHEST), default=None)
