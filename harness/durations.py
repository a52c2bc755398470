"""How long a configured interval is.

Pure. Reads texts such as `30m`, `1h30m`, `45s` or a bare number, which means minutes (prompt-builder 10.1).
"""

import math
import re
from datetime import timedelta

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\s*)+", re.IGNORECASE | re.ASCII)
_BARE = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def parse_duration(raw: str | float) -> timedelta | None:
    """Return the length that `raw` names, zero included, or None when it names none.

    A bare number, and a number given as such, counts minutes; units are ms, s, m, h and d, and parts add up. Negative
    and endless lengths name none.
    """
    if isinstance(raw, bool):
        return None
    try:
        seconds = _seconds(raw)
        return None if seconds is None or not math.isfinite(seconds) or seconds < 0 else timedelta(seconds=seconds)
    except OverflowError:
        return None


def _seconds(raw: str | float) -> float | None:
    if not isinstance(raw, str):
        return raw * 60.0
    text = raw.strip()
    if _BARE.fullmatch(text):
        return float(text) * 60.0
    if not _WHOLE.fullmatch(text):
        return None
    return sum(float(count) * _SECONDS[unit.lower()] for count, unit in _PART.findall(text))
