from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from harness.clock import Clock, find_zone, format_user_time, format_when, time_lines, with_time_lines

ROME = ZoneInfo("Europe/Rome")
LINES = "Current time: Monday, March 2nd, 2026 - 09:05 (Europe/Rome)\nReference UTC: 2026-03-02 08:05 UTC"


@pytest.mark.parametrize(
    ("utc", "clock", "text"),
    [
        ("2026-03-02T08:05", "24", "Monday, March 2nd, 2026 - 09:05"),
        ("2026-03-02T08:05", "12", "Monday, March 2nd, 2026 - 9:05 AM"),
        ("2026-03-11T12:30", "12", "Wednesday, March 11th, 2026 - 1:30 PM"),
        ("2026-03-20T23:00", "12", "Saturday, March 21st, 2026 - 12:00 AM"),
        ("2026-03-23T11:00", "12", "Monday, March 23rd, 2026 - 12:00 PM"),
        ("2026-07-12T22:00", "24", "Monday, July 13th, 2026 - 00:00"),
    ],
)
def test_the_time_is_told_in_words(utc: str, clock: Clock, text: str) -> None:
    """S70."""
    assert format_user_time(datetime.fromisoformat(f"{utc}:00+00:00"), ROME, clock=clock) == text


def test_the_persons_time_and_utc_stand_on_two_lines() -> None:
    assert time_lines(datetime(2026, 3, 2, 8, 5, tzinfo=UTC), ROME) == LINES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Check.\n\n", f"Check.\n{LINES}"),
        ("", ""),
        ("  \n", ""),
        ("Check.\nCurrent time: old\nReference UTC: old\nMore.", f"Check.\n{LINES}\nMore."),
        ("Check.\nCurrent time: old\nA\n\nCurrent time: older\nReference UTC: older\n\nB", f"Check.\n{LINES}\nA\n\nB"),
    ],
)
def test_a_text_tells_the_time_once(text: str, expected: str) -> None:
    assert with_time_lines(text, LINES) == expected


@pytest.mark.parametrize(
    ("name", "known"),
    [("Europe/Rome", True), ("UTC", True), ("Mars/Olympus", False), ("", False), ("../etc", False), ("Europe", False)],
)
def test_a_zone_is_found_by_its_iana_name_alone(name: str, known: bool) -> None:
    assert (find_zone(name) is not None) is known


@pytest.mark.parametrize(
    ("seconds", "zone", "words"),
    [
        (0, "", "in 0 s"),
        (-5, "", "in 0 s"),
        (119.4, "", "in 119 s"),
        (120, "", "in 2 min, at 22:02 (UTC)"),
        (3_600, "", "in 1 h, at 23:00 (UTC)"),
        (7_260, "", "in 2 h 1 min, on 2030-01-02 at 00:01 (UTC)"),
        (7_260, "America/New_York", "in 2 h 1 min, at 19:01 (America/New_York)"),
        (7_260, "Atlantis/Central", "in 2 h 1 min, on 2030-01-02 at 00:01 (UTC)"),
        (3 * 86_400 + 3_700, "", "in 3 d 1 h, on 2030-01-04 at 23:01 (UTC)"),
        (3 * 86_400 + 60, "", "in 3 d, on 2030-01-04 at 22:01 (UTC)"),
    ],
)
def test_a_moment_is_told_by_how_far_off_it_is_and_by_the_clock(seconds: float, zone: str, words: str) -> None:
    now = datetime(2030, 1, 1, 22, tzinfo=UTC).timestamp()
    assert format_when(now + seconds, now, zone) == words
