"""An interval is read the same way wherever one is configured."""

from datetime import timedelta

import pytest

from harness.durations import parse_duration

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("written", "length"),
    [
        ("30m", 30 * MINUTE),
        ("1h", 60 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("1h 30m", 90 * MINUTE),
        (" 1.5 H ", 90 * MINUTE),
        ("2 d", timedelta(days=2)),
        ("90S", 1.5 * MINUTE),
        ("500ms", timedelta(milliseconds=500)),
        ("0m", timedelta(0)),
        (" 45 ", 45 * MINUTE),
        (45, 45 * MINUTE),
        (0.5, 0.5 * MINUTE),
    ],
)
def test_a_bare_number_counts_minutes_and_units_add_up(written: str | float, length: timedelta) -> None:
    assert parse_duration(written) == length


@pytest.mark.parametrize(
    "written",
    [
        *("", "  ", "soon", "m", "-5m", "5x", "5m often", "\u0663m", "9" * 400, "99999999999d"),
        *(-1, float("nan"), float("inf"), 10**400, True),
    ],
)
def test_anything_else_is_no_interval(written: str | float) -> None:
    assert parse_duration(written) is None
