"""What was measured, as a table for a person or as JSON, and which bars held.

Pure. All times are milliseconds here, all sizes megabytes (10^6 bytes).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

BASE: Final = "raw"
JUDGED: Final = "ours"

Results: TypeAlias = Mapping[str, Mapping[str, float]]
"""By client, then by the key of a metric."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of the table."""

    key: str
    label: str
    unit: str
    bar: str = ""
    """The limit in words, for a column of the table; empty when there is none."""
    limit: Callable[[float], float] | None = None
    """The limit for ours, given what raw took."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A bar and what became of it."""

    metric: Metric
    measured: float
    limit: float

    @property
    def held(self) -> bool:
        """Whether ours stayed at or below the limit."""
        return self.measured <= self.limit


def metrics(*, turns: int, deltas: int) -> tuple[Metric, ...]:
    """The rows, in order, for a run of so many short turns and deltas."""
    return (
        Metric("library_cpu", "import of the client library, CPU", "ms", "<= 200", lambda _: 200.0),
        Metric("import_cpu", "import of all that a turn needs, CPU", "ms"),
        Metric("first_turn", "open to end of first turn, wall", "ms"),
        Metric("turn_wall", f"one of {turns:,} short turns, wall", "ms"),
        Metric("turn_cpu", f"one of {turns:,} short turns, CPU", "ms", "<= raw + 1", lambda raw: raw + 1.0),
        Metric("deltas_wall", f"a turn of {deltas:,} deltas, wall", "ms"),
        Metric("deltas_cpu", f"a turn of {deltas:,} deltas, CPU", "ms", "<= 1.3 x raw", lambda raw: 1.3 * raw),
        Metric("peak_memory", "peak resident memory", "MB", "<= 45", lambda _: 45.0),
    )


def verdicts(rows: Iterable[Metric], results: Results) -> list[Verdict]:
    """Hold ours against every bar."""
    return [
        Verdict(row, results[JUDGED][row.key], row.limit(results[BASE][row.key]))
        for row in rows
        if row.limit is not None
    ]


def nearest(rows: Iterable[Metric], first: Results, again: Results) -> dict[str, dict[str, float]]:
    """What was measured first, with those rows of another try that missed their bar at first and come nearer to it."""
    rows = tuple(rows)
    merged = {name: dict(measured) for name, measured in first.items()}
    for one, other in zip(verdicts(rows, first), verdicts(rows, again), strict=True):
        if not one.held and other.measured - other.limit < one.measured - one.limit:
            for name in (BASE, JUDGED):
                merged[name][one.metric.key] = again[name][one.metric.key]
    return merged


def table(rows: Iterable[Metric], results: Results) -> str:
    """Lay the results out in columns, each with its ratio to raw."""
    rows = tuple(rows)
    outcome = {each.metric.key: "held" if each.held else "MISSED" for each in verdicts(rows, results)}
    cells = [["", *(f"{name}" for name in results), "bar", ""]]
    for row in rows:
        base = results[BASE][row.key]
        shown = [_with_ratio(results[name][row.key], base, is_base=name == BASE) for name in results]
        cells.append([f"{row.label} ({row.unit})", *shown, row.bar, outcome.get(row.key, "")])
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < column <= len(results) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )


def as_json(rows: Iterable[Metric], results: Results) -> dict[str, object]:
    """The same as data: rows by client, then the bars."""
    rows = tuple(rows)
    return {
        "units": {row.key: row.unit for row in rows},
        "results": {name: dict(measured) for name, measured in results.items()},
        "bars": [
            {"metric": each.metric.key, "measured": each.measured, "limit": each.limit, "held": each.held}
            for each in verdicts(rows, results)
        ],
    }


def _with_ratio(value: float, base: float, *, is_base: bool) -> str:
    number = f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
    if is_base or base <= 0:
        return number
    return f"{number} ({value / base:.2f} x)"
