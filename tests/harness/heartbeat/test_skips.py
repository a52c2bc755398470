from dataclasses import replace

import pytest

from harness.heartbeat import RunFacts, SkipReason, Visibility, Wake, skip_before_run

ORDINARY = RunFacts()
EVENTS = [Wake.MANUAL, Wake.WAKE, Wake.EXEC, Wake.CRON]
HIDDEN = Visibility(show_ok=False, show_alerts=False, use_indicator=False)


def test_an_ordinary_heartbeat_runs() -> None:
    assert skip_before_run(ORDINARY) is None


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (RunFacts(enabled=False), SkipReason.DISABLED),
        (RunFacts(within_hours=False), SkipReason.QUIET_HOURS),
        (RunFacts(requests_in_flight=True), SkipReason.REQUESTS_IN_FLIGHT),
        (RunFacts(cron_in_progress=True), SkipReason.CRON_IN_PROGRESS),
        (RunFacts(other_lanes_busy=True, skip_when_busy=True), SkipReason.LANES_BUSY),
        (RunFacts(other_lanes_busy=True), None),
        (RunFacts(file_empty=True), SkipReason.EMPTY_FILE),
        (RunFacts(file_empty=True, commitments_due=True), None),
        (RunFacts(tasks_listed=True), SkipReason.NO_TASKS_DUE),
        (RunFacts(tasks_listed=True, tasks_due=True), None),
        (RunFacts(tasks_listed=True, commitments_due=True), None),
        (RunFacts(visibility=HIDDEN), SkipReason.ALERTS_DISABLED),
        (RunFacts(visibility=replace(HIDDEN, use_indicator=True)), None),
    ],
)
def test_each_obstacle_has_its_reason(facts: RunFacts, reason: SkipReason | None) -> None:
    assert skip_before_run(facts) is reason


@pytest.mark.parametrize("wake", EVENTS)
def test_an_empty_file_holds_up_only_the_interval(wake: Wake) -> None:
    assert skip_before_run(RunFacts(wake=wake, file_empty=True)) is None
    assert skip_before_run(RunFacts(wake=wake, tasks_listed=True)) is None


def test_a_person_who_asks_for_a_heartbeat_gets_one_in_quiet_hours() -> None:
    assert skip_before_run(RunFacts(wake=Wake.MANUAL, within_hours=False)) is None
    assert skip_before_run(RunFacts(wake=Wake.CRON, within_hours=False)) is SkipReason.QUIET_HOURS


def test_the_first_obstacle_of_the_table_is_the_reason() -> None:
    facts = RunFacts(within_hours=False, requests_in_flight=True, file_empty=True, visibility=HIDDEN)
    assert skip_before_run(facts) is SkipReason.QUIET_HOURS


def test_the_reasons_are_reported_under_their_known_names() -> None:
    assert [reason.value for reason in SkipReason] == [
        "disabled",
        "quiet-hours",
        "requests-in-flight",
        "cron-in-progress",
        "lanes-busy",
        "empty-heartbeat-file",
        "no-tasks-due",
        "alerts-disabled",
        "duplicate",
        "already-sent",
        "no-target",
    ]
