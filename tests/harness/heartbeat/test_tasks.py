from datetime import UTC, datetime, timedelta

import pytest

from harness.heartbeat import HeartbeatTask, TaskBlock, due_tasks, parse_tasks

FILE = """# Greenhouse

tasks:
  - name: vents
    interval: 30m
    prompt: "Check the vents"

  - name: 'ferns'
    prompt: Water the ferns
    interval: 2
<!--
  - name: hidden
    interval: 1m
    prompt: not me
-->
Write short reports.
"""
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
VENTS = HeartbeatTask("vents", timedelta(minutes=30), "Check the vents")
UNUSED = "is not used: a task has one name, one interval and one prompt; remove it"
FERNS = HeartbeatTask("ferns", timedelta(minutes=2), "Water the ferns")


def test_the_task_list_is_read_and_the_rest_of_the_file_is_kept_as_context() -> None:
    assert parse_tasks(FILE) == TaskBlock((VENTS, FERNS), "# Greenhouse\n\nWrite short reports.", ())


def test_a_list_that_is_not_indented_and_ends_at_a_heading_is_read_as_well() -> None:
    text = "tasks:\n- name: vents\n  interval: 30m\n  prompt: Check the vents\n# Notes\n- name: a person\n"
    assert parse_tasks(text) == TaskBlock((VENTS,), "# Notes\n- name: a person", ())


def test_a_file_without_a_list_is_all_context() -> None:
    assert parse_tasks("- name: Pell\n") == TaskBlock((), "- name: Pell", ())


def test_entries_that_cannot_run_are_named_and_do_not_stop_the_others() -> None:
    text = """tasks:
  - name: vents
    interval: 30m
    prompt: Check the vents
  - name: doors
    interval: 30m
  - interval: 5m
  - name: never
    interval: soon
    prompt: Do it
  - name: zero
    interval: 0m
    prompt: Do it
  - name: vents
    interval: 1h
    prompt: Again
"""
    block = parse_tasks(text)
    assert block.tasks == (VENTS, HeartbeatTask("never", None, "Do it"), HeartbeatTask("zero", None, "Do it"))
    assert block.problems == (
        "HEARTBEAT.md: task 'doors' is left out: it has no prompt",
        "HEARTBEAT.md: task number 3 is left out: it has no name and no prompt",
        "HEARTBEAT.md: task 'never' never runs: 'soon' is no interval; write one such as 30m",
        "HEARTBEAT.md: task 'zero' never runs: '0m' is no interval; write one such as 30m",
        "HEARTBEAT.md: task 'vents' is listed twice; only the first counts: rename the other",
    )


@pytest.mark.parametrize(
    ("last", "due"),
    [
        (None, True),
        (NOW - timedelta(minutes=30), True),
        (NOW - timedelta(minutes=29, seconds=59), False),
        (NOW + timedelta(days=3), True),
    ],
    ids=["never ran", "interval passed", "interval not passed", "clock was set back"],
)
def test_a_task_is_due_when_its_interval_has_passed(last: datetime | None, due: bool) -> None:
    runs = {} if last is None else {"vents": last}
    assert due_tasks((VENTS,), last_run=runs, now=NOW) == ((VENTS,) if due else ())


def test_a_task_without_a_readable_interval_is_never_due() -> None:
    assert due_tasks((HeartbeatTask("never", None, "Do it"),), last_run={}, now=NOW) == ()


def test_an_entry_that_begins_with_a_foreign_key_loses_no_other() -> None:
    block = parse_tasks(
        "tasks:\n  - name: a\n    interval: 1h\n    prompt: A\n"
        "  - title: t\n    name: b\n    interval: 1d\n    prompt: B\n"
    )
    assert block == TaskBlock(
        (HeartbeatTask("a", timedelta(hours=1), "A"), HeartbeatTask("b", timedelta(days=1), "B")),
        "",
        (f"HEARTBEAT.md: the line '- title: t' {UNUSED}",),
    )


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("prompt: |\n      Look at the vents.\n      note: they squeak", "Look at the vents.\nnote: they squeak"),
        ("prompt: |2- # all of it\n      Look:\n        - name: b\n\n      Go.\n", "Look:\n  - name: b\n\nGo."),
        ("prompt: >\n      Look at\n      the vents.\n\n      Go.", "Look at the vents.\nGo."),
        ("prompt: Look at\n      the vents.\n      - each one", "Look at the vents. - each one"),
        ("prompt:\n      Look at\n      the vents.", "Look at the vents."),
        ('prompt: "Look at\n      the vents."', "Look at the vents."),
    ],
    ids=["block", "block with signs", "folded", "continued", "begun below", "quoted"],
)
def test_a_prompt_of_several_lines_is_kept_whole(prompt: str, read: str) -> None:
    text = f"tasks:\n  - name: a\n    interval: 1h\n    {prompt}\n  - name: b\n    interval: 1d\n    prompt: B\n"
    assert parse_tasks(text) == TaskBlock(
        (HeartbeatTask("a", timedelta(hours=1), read), HeartbeatTask("b", timedelta(days=1), "B")), "", ()
    )


def test_an_item_that_is_not_indented_belongs_to_the_list_when_its_lines_are_those_of_a_task() -> None:
    text = "tasks:\n- name: a\n  interval: 1h\n  prompt: A\n- title: t\n  name: b\n  interval: 1d\n  prompt: B\n"
    assert parse_tasks(text) == TaskBlock(
        (HeartbeatTask("a", timedelta(hours=1), "A"), HeartbeatTask("b", timedelta(days=1), "B")),
        "",
        (f"HEARTBEAT.md: the line '- title: t' {UNUSED}",),
    )


def test_oddly_indented_fields_and_items_are_read_all_the_same() -> None:
    text = """tasks:
  - name: a
      interval: 1h
      prompt: A
        - name: b
    prompt: B
      interval: 1d
"""
    assert parse_tasks(text) == TaskBlock(
        (HeartbeatTask("a", timedelta(hours=1), "A"), HeartbeatTask("b", timedelta(days=1), "B")), "", ()
    )


def test_every_line_of_the_list_is_used_or_named() -> None:
    text = """tasks:
  # what to look after
  name: a
  interval: 1h
  prompt: A
  prompt: another
  name: b
  note: >
    name: of no task
  interval: 1d
  prompt: B
  - only words
  and more
Be brief.
"""
    assert parse_tasks(text) == TaskBlock(
        (HeartbeatTask("a", timedelta(hours=1), "A"), HeartbeatTask("b", timedelta(days=1), "B")),
        "Be brief.",
        (
            *(
                f"HEARTBEAT.md: the line {line!r} {UNUSED}"
                for line in ("prompt: another", "note: >", "- only words", "and more")
            ),
            "HEARTBEAT.md: task number 3 is left out: it has no name and no interval and no prompt",
        ),
    )


def test_a_bullet_after_the_list_is_context() -> None:
    text = "tasks:\n- name: vents\n  interval: 30m\n  prompt: Check the vents\n- Be brief.\n  Be kind.\n"
    assert parse_tasks(text) == TaskBlock((VENTS,), "- Be brief.\n  Be kind.", ())
