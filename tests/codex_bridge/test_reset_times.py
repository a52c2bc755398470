from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.reset_times import delay_in_text, reset_in_text

NOON = datetime(2030, 5, 6, 12, 0, 30, tzinfo=UTC).timestamp()


def at(month: int, day: int, hour: int, minute: int) -> float:
    return datetime(2030, month, day, hour, minute, tzinfo=UTC).timestamp()


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Try again at 3:05 PM.", at(5, 6, 15, 6)),
        ("or try again at 12:00 PM.", at(5, 6, 12, 1)),  # this very minute
        ("Try again at 11:58 AM.", NOON),  # over while it was on its way
        ("try again at May 7th, 2030 12:10 AM.", at(5, 7, 0, 11)),
        ("try again at Dec 1st, 2030 8:52 AM.", at(12, 1, 8, 53)),
        ("try again at Foo 1st, 2030 8:52 AM.", None),
        ("try again at May 42nd, 2030 8:52 AM.", None),
        ("Try again at 8:77 AM.", None),
        ("Try again later.", None),
        ("", None),
    ],
)
def test_a_time_in_words_is_the_next_full_minute_after_it(text: str, moment: float | None) -> None:
    assert reset_in_text(text, NOON) == moment


@pytest.mark.usefixtures("in_utc")
def test_a_time_after_midnight_that_is_told_before_it_is_of_the_next_day() -> None:
    assert reset_in_text("Try again at 12:10 AM.", at(5, 6, 23, 59)) == at(5, 7, 0, 11)


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("Please try again in 250ms. Visit", 0.25),
        ("Please try again in 6m0s.", 360),
        ("please try again in 1h2m3s", 3_723),
        ("Try again in 35 seconds.", 35),
        ("Try again in 2 minutes", 120),
        ("try again in a while", None),
        ("try again in 5 steps", None),
        ("slow down", None),
    ],
)
def test_a_delay_in_words_is_read_in_seconds(text: str, delay: float | None) -> None:
    assert delay_in_text(text) == delay


@given(text=st.text(), now=st.floats(0, 4e9))
def test_whatever_a_sentence_says_it_can_be_looked_at(text: str, now: float) -> None:
    for words in (text, f"try again at {text}", f"try again in {text}"):
        moment, delay = reset_in_text(words, now), delay_in_text(words)
        assert moment is None or moment >= now
        assert delay is None or delay >= 0
