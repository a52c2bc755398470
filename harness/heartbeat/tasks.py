"""Which tasks a HEARTBEAT.md lists, and which of them are due.

Pure. A task is due when it never ran or when its interval has passed since it last did.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from harness.durations import parse_duration
from harness.heartbeat.heartbeat_file import without_comments

_HEAD = re.compile(r"tasks:\s*")
_FIELD = re.compile(r"(?P<indent>\s*)(?P<dash>-\s+)?(?P<key>name|interval|prompt):(?P<value>.*)")
_ITEM = re.compile(r"\s*-(?:\s+|$)")
_ANY_FIELD = re.compile(r"(?P<key>[A-Za-z][\w-]*):(?P<value>.*)")
_REQUIRED = ("name", "interval", "prompt")
_BLOCK_SIGNS = {"|": "\n", "|-": "\n", ">": " ", ">-": " "}
"""How YAML begins a text of several lines, and what joins them."""


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
    """One sentence for each entry that cannot run as written."""


def parse_tasks(text: str) -> TaskBlock:
    """Read the `tasks:` list of a HEARTBEAT.md line by line (prompt-builder 10.5).

    A line that is neither indented nor a field of a task ends the list; it and all other lines are `context`.
    """
    lines = without_comments(text.removeprefix("\ufeff")).splitlines()
    start = next((i for i, line in enumerate(lines) if _HEAD.fullmatch(line)), None)
    if start is None:
        return TaskBlock((), "\n".join(lines).strip(), ())
    end = start + 1
    while end < len(lines) and _in_block(lines[end]):
        end += 1
    entries, strange = _entries(lines[start + 1 : end])
    tasks, problems = _tasks(entries)
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


def _in_block(line: str) -> bool:
    return not line.strip() or line[0].isspace() or _FIELD.fullmatch(line) is not None


def _entries(lines: list[str]) -> tuple[list[dict[str, str]], tuple[str, ...]]:
    """Read the entries, and say which lines are none of theirs.

    Every `- ` begins an entry. A line that is indented deeper than the `prompt` before it goes on with it.
    """
    entries: list[dict[str, str]] = []
    strange: list[str] = []
    prompt_at: int | None = None
    joint = " "
    for line in filter(str.strip, lines):
        item = None if prompt_at is not None and _indent(line) > prompt_at else _ITEM.match(line)
        at = item.end() if item else _indent(line)
        if prompt_at is not None and not item and at > prompt_at:
            said = entries[-1]["prompt"]
            entries[-1]["prompt"] = f"{said}{joint}{line.strip()}" if said else line.strip()
            continue
        prompt_at = None
        if item or not entries:
            entries.append({})
        field = _ANY_FIELD.fullmatch(line[at:].strip()) if line[at:].strip() else None
        if field is None or field["key"] not in _REQUIRED:
            if line[at:].strip():
                strange.append(f"HEARTBEAT.md: the line {line.strip()!r} says nothing that a task can have; remove it")
            continue
        value = _unquoted(field["value"])
        if field["key"] == "prompt":
            prompt_at, joint = at, _BLOCK_SIGNS.get(value, " ")
            value = "" if value in _BLOCK_SIGNS else value
        entries[-1][field["key"]] = value
    return entries, tuple(strange)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _tasks(entries: list[dict[str, str]]) -> tuple[tuple[HeartbeatTask, ...], tuple[str, ...]]:
    tasks: dict[str, HeartbeatTask] = {}
    problems: list[str] = []
    for number, entry in enumerate(entries, 1):
        called = f"task {entry['name']!r}" if entry.get("name") else f"task number {number}"
        absent = [key for key in _REQUIRED if not entry.get(key)]
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


def _unquoted(value: str) -> str:
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip()
    return text
