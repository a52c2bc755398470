from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.heartbeat import Defer, Intent, RunNow, admit, next_due, phase_offset

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FLOOD = tuple(NOW - n * 10 * SECOND for n in range(1, 6))


def test_an_agents_beat_falls_at_its_own_place_in_the_interval() -> None:
    every = timedelta(minutes=30)
    assert phase_offset("gateway-7", "main", every) == timedelta(milliseconds=0xC4E45E0D % 1_800_000)
    assert phase_offset("gateway-7", "main", every) != phase_offset("gateway-7", "other", every)


def test_an_interval_below_a_millisecond_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        phase_offset("gateway-7", "main", timedelta(0))


@given(
    st.datetimes(timezones=st.just(UTC), min_value=datetime(1990, 1, 1)),
    st.integers(1_000, 10**9),
    st.data(),
)
def test_the_next_beat_is_the_first_one_after_now(now: datetime, milliseconds: int, data: st.DataObject) -> None:
    every = timedelta(milliseconds=milliseconds)
    phase = timedelta(milliseconds=data.draw(st.integers(0, milliseconds - 1)))
    due = next_due(now, every, phase)
    assert now < due <= now + every
    assert (due - datetime(1970, 1, 1, tzinfo=UTC) - phase) % every == timedelta(0)


@pytest.mark.parametrize(
    ("intent", "due", "last_start", "recent", "expected"),
    [
        (Intent.MANUAL, NOW + SECOND, NOW, FLOOD, RunNow()),
        (Intent.IMMEDIATE, NOW + SECOND, NOW, (), RunNow()),
        (Intent.IMMEDIATE, NOW, NOW, FLOOD, Defer(NOW + 10 * SECOND, "flood")),
        (Intent.IMMEDIATE, NOW, NOW, FLOOD[:4], RunNow()),
        (Intent.IMMEDIATE, NOW, NOW, tuple(at + 90 * SECOND for at in FLOOD), RunNow()),
        (Intent.SCHEDULED, NOW, None, (), RunNow()),
        (Intent.SCHEDULED, NOW + SECOND, None, (), Defer(NOW + SECOND, "not-due")),
        (Intent.SCHEDULED, NOW, None, FLOOD, Defer(NOW + 10 * SECOND, "flood")),
        (Intent.EVENT, NOW + 60 * SECOND, None, (), RunNow()),
        (Intent.EVENT, NOW + 60 * SECOND, NOW - 90 * SECOND, (), Defer(NOW + 60 * SECOND, "not-due")),
        (Intent.EVENT, NOW, NOW - 29 * SECOND, (), Defer(NOW + SECOND, "min-spacing")),
        (Intent.EVENT, NOW, NOW - 30 * SECOND, (), RunNow()),
        (Intent.EVENT, NOW, NOW + 3_600 * SECOND, (), RunNow()),
        (Intent.EVENT, NOW, None, FLOOD, Defer(NOW + 10 * SECOND, "flood")),
        # A beat further ahead than the interval was fixed before the clock was set back.
        (Intent.SCHEDULED, NOW + timedelta(minutes=30), None, (), Defer(NOW + timedelta(minutes=30), "not-due")),
        (Intent.SCHEDULED, NOW + timedelta(days=365), None, (), RunNow()),
    ],
)
def test_a_wake_runs_or_waits_by_its_intent(
    intent: Intent,
    due: datetime,
    last_start: datetime | None,
    recent: tuple[datetime, ...],
    expected: RunNow | Defer,
) -> None:
    assert (
        admit(intent, now=NOW, due=due, every=timedelta(minutes=30), last_start=last_start, recent_starts=recent)
        == expected
    )
