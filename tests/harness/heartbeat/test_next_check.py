from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from harness.heartbeat.next_check import next_check

NOW = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("30m", "07:38"),
        ("In 2 hours.", "09:08"),
        ("after 45 min", "07:53"),
        ("1h30m", "08:38"),
        ("in 10 seconds", "07:13"),
        ("14:30", "12:30"),
        ("at 14:30", "12:30"),
        ("2031-05-06T10:00", "08:00"),
        ("2031-05-06T10:00:00Z", "10:00"),
        ("2031-05-06 10:00+03:00", "07:13"),
    ],
)
def test_a_moment_is_found_in_what_an_agent_says_in_the_persons_zone(said: str, at: str) -> None:
    found = next_check(said, NOW, ZoneInfo("Europe/Berlin"))
    assert found is not None
    assert found.astimezone(UTC).strftime("%Y-%m-%d %H:%M") == f"2031-05-06 {at}"


def test_a_time_of_the_day_that_is_over_is_tomorrows() -> None:
    found = next_check("08:00", NOW, ZoneInfo("Europe/Berlin"))
    assert found == datetime(2031, 5, 7, 6, 0, tzinfo=UTC)


@pytest.mark.parametrize("said", ["", "soon", "when it rains", "30", "2031-05-07", "25:00", f"{'9' * 400}d", "-5m"])
def test_other_words_name_none(said: str) -> None:
    assert next_check(said, NOW, ZoneInfo("Europe/Berlin")) is None
