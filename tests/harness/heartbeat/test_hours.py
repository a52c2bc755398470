from datetime import datetime

import pytest

from harness.heartbeat import ActiveHours, day_minutes, within_active_hours


def active(hours: ActiveHours | None, utc: str) -> bool:
    return within_active_hours(hours, now=datetime.fromisoformat(f"2026-01-15T{utc}:00+00:00"))


def hours(start: str, end: str, zone: str = "Europe/Rome") -> ActiveHours:
    first, last = day_minutes(start), day_minutes(end)
    assert first is not None
    assert last is not None
    return ActiveHours(first, last, zone)


@pytest.mark.parametrize(
    ("start", "end", "utc", "expected"),
    [
        ("08:00", "22:00", "07:00", True),  # 08:00 in Rome: the start belongs to them
        ("08:00", "22:00", "06:59", False),
        ("08:00", "22:00", "20:59", True),
        ("08:00", "22:00", "21:00", False),  # 22:00: the end does not
        ("22:00", "06:00", "21:00", True),  # 22:00: the start belongs to hours over midnight too
        ("22:00", "06:00", "20:59", False),
        ("22:00", "06:00", "22:30", True),
        ("22:00", "06:00", "04:59", True),
        ("22:00", "06:00", "05:00", False),
        ("22:00", "06:00", "12:00", False),
        ("08:00", "24:00", "22:59", True),
        ("00:00", "24:00", "23:30", True),
        ("08:00", "08:00", "07:00", False),
    ],
)
def test_the_hours_of_the_day_decide(start: str, end: str, utc: str, expected: bool) -> None:
    assert active(hours(start, end), utc) is expected


@pytest.mark.parametrize(("zone", "expected"), [("Europe/Rome", True), ("Asia/Tokyo", False), ("Mars/Olympus", False)])
def test_the_hours_are_those_of_their_zone_and_utc_where_it_is_not_known(zone: str, expected: bool) -> None:
    # 07:30 UTC is 08:30 in Rome and 16:30 in Tokyo.
    assert active(hours("08:00", "09:00", zone), "07:30") is expected


@pytest.mark.parametrize(
    ("written", "minutes"),
    [
        *(("00:00", 0), (" 08:30 ", 510), ("23:59", 1_439), ("24:00", 1_440)),
        *((written, None) for written in ("8", "8:00", "08:60", "24:01", "25:00", "-1:00", "\u0660\u0668:00", "")),
    ],
)
def test_a_time_of_day_has_two_digits_for_hours_and_for_minutes(written: str, minutes: int | None) -> None:
    assert day_minutes(written) == minutes


def test_without_hours_the_whole_day_is_active() -> None:
    assert active(None, "03:00")
