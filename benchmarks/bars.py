"""What a missed bar is worth: measured again before it is believed, and then an exit status.

A busy machine only ever adds time, so of several medians the lowest is nearest to the truth.
"""

from collections.abc import Callable, Mapping
from typing import Final

TRIES: Final = 3
"""How often a row that misses its bar is measured, the first time included."""


def settled(measure: Callable[[], Mapping[str, float]], bars: Mapping[str, float]) -> dict[str, float]:
    """Measure, and again while some row misses its bar; of each row that did, the lowest counts.

    Args:
        measure: Measures every row.
        bars: What a row may cost at most; a row without one is measured once.
    """
    found = dict(measure())
    for _ in range(TRIES - 1):
        missed = missing(found, bars)
        if not missed:
            break
        again = measure()
        found |= {name: min(found[name], again[name]) for name in missed}
    return found


def missing(found: Mapping[str, float], bars: Mapping[str, float]) -> list[str]:
    """The rows that cost more than they may."""
    return [name for name, limit in bars.items() if found[name] > limit]


def verdict(measured: float, limit: float | None) -> str:
    """The end of a row."""
    return "" if limit is None else f"<= {limit:g}  {'held' if measured <= limit else 'MISSED'}"
