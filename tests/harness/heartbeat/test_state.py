import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from harness.heartbeat import HeartbeatState, read_state

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_a_state_survives_being_stored() -> None:
    state = HeartbeatState().started(NOW).ran(["vents", "ferns"], NOW, listed=["vents", "ferns"]).sent("Hot.", NOW)
    state = replace(state, check=NOW + MINUTE)
    assert read_state(json.loads(json.dumps(state.to_json()))) == state
    assert state == HeartbeatState((NOW,), (("ferns", NOW), ("vents", NOW)), "Hot.", NOW, NOW + MINUTE)
    assert state.started(NOW).check is None


def test_only_the_starts_that_a_flood_is_told_by_are_kept() -> None:
    state = HeartbeatState()
    for minute in range(9):
        state = state.started(NOW + minute * MINUTE)
    assert state.recent_starts == tuple(NOW + minute * MINUTE for minute in range(4, 9))
    assert state.last_start == NOW + 8 * MINUTE


def test_tasks_that_are_no_longer_listed_are_forgotten() -> None:
    state = HeartbeatState().ran(["old"], NOW, listed=["old", "new"]).ran(["new"], NOW, listed=["new"])
    assert state.last_runs() == {"new": NOW}


def test_a_damaged_state_keeps_what_can_be_read() -> None:
    stored = {
        "recentStarts": ["never", 7, NOW.isoformat()],
        "taskRuns": {"vents": NOW.isoformat(), "ferns": "2026-03-02T12:00:00"},
        "lastText": 5,
        "lastSentAt": [],
    }
    assert read_state(json.loads(json.dumps(stored))) == HeartbeatState((NOW,), (("vents", NOW),))
    assert read_state({"recentStarts": 3, "taskRuns": None}) == HeartbeatState()
