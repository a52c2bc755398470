"""Which tasks a HEARTBEAT.md lists, and which of them are due.

Pure. A task is due when it never ran or when its interval has passed since it last did.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile

from harness.durations import parse_duration
from harness.heartbeat.heartbeat_file import without_comments
from harness.heartbeat.task_lines import FIELDS, TaskLines, is_field

_HEAD = re.compile(r"tasks:\s*")


@dataclass(frozen=True, slots=True)
class HeartbeatTask:
    """One entry of the `tasks:` list."""

    name: str
    interval: timedelta | None
    """None when the text names no interval: such a task is never due."""
    prompt: str


@dataclass(frozen=True, slots=True)
class TaskBlock:
    """A HEARTBEAT.md taken apart."""

    tasks: tuple[HeartbeatTask, ...]
    context: str
    """The rest of the file, trimmed."""
    problems: tuple[str, ...]
    """One sentence for each line and each entry that cannot be used as written."""


def parse_tasks(text: str) -> TaskBlock:
    """Read the `tasks:` list of a HEARTBEAT.md line by line (prompt-builder 10.5).

    A line that is neither indented nor part of a task ends the list; it and all other lines are `context`. What the
    list holds and no task can use is named in `problems`.
    """
    lines = without_comments(text.removeprefix("\ufeff")).splitlines()
    start = next((i for i, line in enumerate(lines) if _HEAD.fullmatch(line)), None)
    if start is None:
        return TaskBlock((), "\n".join(lines).strip(), ())
    end = start + 1
    while end < len(lines) and _in_block(lines, end):
        end += 1
    listed = TaskLines()
    listed.read(lines[start + 1 : end])
    tasks, problems = _tasks(listed.entries)
    strange = tuple(
        f"HEARTBEAT.md: the line {line!r} is not used: a task has one name, one interval and one prompt; remove it"
        for line in listed.strange
    )
    context = "\n".join(lines[:start] + lines[end:]).strip()
    return TaskBlock(tasks, context, strange + problems)


def due_tasks(
    tasks: tuple[HeartbeatTask, ...], *, last_run: Mapping[str, datetime], now: datetime
) -> tuple[HeartbeatTask, ...]:
    """Return the tasks to run now, in the order of the file.

    `last_run` holds, by task name, when each last ran. A moment that lies ahead of `now` comes from a clock that
    was set back and does not hold a task up.
    """
    return tuple(task for task in tasks if _is_due(task, last_run.get(task.name), now))


def _is_due(task: HeartbeatTask, last: datetime | None, now: datetime) -> bool:
    if task.interval is None:
        return False
    return last is None or last > now or now - last >= task.interval


def _in_block(lines: list[str], number: int) -> bool:
    line = lines[number]
    if not line.strip() or line[0].isspace() or is_field(line):
        return True
    # An item that begins with some other key is one all the same when the lines that belong to it are those of a task.
    below = takewhile(lambda line: not line.strip() or line[0].isspace(), islice(lines, number + 1, None))
    return line.startswith("- ") and any(map(is_field, below))


def _tasks(entries: list[dict[str, str]]) -> tuple[tuple[HeartbeatTask, ...], tuple[str, ...]]:
    tasks: dict[str, HeartbeatTask] = {}
    problems: list[str] = []
    for number, entry in enumerate(entries, 1):
        called = f"task {entry['name']!r}" if entry.get("name") else f"task number {number}"
        absent = [key for key in FIELDS if not entry.get(key)]
        if absent:
            problems.append(f"HEARTBEAT.md: {called} is left out: it has no {' and no '.join(absent)}")
            continue
        if entry["name"] in tasks:
            problems.append(f"HEARTBEAT.md: {called} is listed twice; only the first counts: rename the other")
            continue
        interval = parse_duration(entry["interval"]) or None
        if interval is None:
            problems.append(
                f"HEARTBEAT.md: {called} never runs: {entry['interval']!r} is no interval; write one such as 30m"
            )
        tasks[entry["name"]] = HeartbeatTask(entry["name"], interval, entry["prompt"])
    return tuple(tasks.values()), tuple(problems)
