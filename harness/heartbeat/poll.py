"""What a heartbeat turn asks the model.

Pure. One poll is chosen by priority from what is pending, then rendered; the sentences come from `wording`.
"""

from dataclasses import dataclass
from typing import assert_never

from harness.clock import with_time_lines
from harness.heartbeat import wording
from harness.heartbeat.convention import Ack
from harness.heartbeat.tasks import HeartbeatTask


@dataclass(frozen=True, slots=True)
class BasePoll:
    """The configured or built-in question."""

    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class TasksPoll:
    """The tasks that are due, and the rest of HEARTBEAT.md."""

    tasks: tuple[HeartbeatTask, ...]
    context: str = ""


@dataclass(frozen=True, slots=True)
class CommitmentsPoll:
    """Promises made in conversation whose time has come."""

    commitments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExecPoll:
    """Background commands that have ended."""

    results: tuple[str, ...]
    deliver: bool = True
    """False when no chat is there to be told."""


@dataclass(frozen=True, slots=True)
class CronPoll:
    """Reminders that are due."""

    reminders: tuple[str, ...]
    deliver: bool = True


Poll = BasePoll | TasksPoll | CommitmentsPoll | ExecPoll | CronPoll


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """All that a heartbeat could be about."""

    prompt: str | None = None
    """The configured poll text."""
    commitments: tuple[str, ...] = ()
    tasks: tuple[HeartbeatTask, ...] = ()
    """The tasks that are due."""
    context: str = ""
    """HEARTBEAT.md without its task list."""
    exec_results: tuple[str, ...] = ()
    reminders: tuple[str, ...] = ()
    deliver: bool = True


@dataclass(frozen=True, slots=True)
class PollText:
    """A rendered poll."""

    text: str
    rewritten: bool = False
    """True when an instruction named the convention that this turn lacks and was put in the terms of its own."""


def choose_poll(pending: Pending) -> Poll:
    """Return the one poll for what is pending.

    In this order: commitments, tasks, ended commands, reminders, the plain question (prompt-builder 10.6).
    """
    ranking: tuple[tuple[object, Poll], ...] = (
        (pending.commitments, CommitmentsPoll(pending.commitments)),
        (pending.tasks, TasksPoll(pending.tasks, pending.context)),
        (pending.exec_results, ExecPoll(pending.exec_results, pending.deliver)),
        (pending.reminders, CronPoll(pending.reminders, pending.deliver)),
    )
    return next((poll for present, poll in ranking if present), BasePoll(pending.prompt))


def render_poll(
    poll: Poll, *, ack: Ack, file_path: str | None = None, quote_context: bool = True, time_lines: str = ""
) -> PollText:
    """Write a poll.

    `file_path` is where the workspace's HEARTBEAT.md is; it is named when the text speaks of the file. With
    `quote_context` false the rest of the file is left to the pointer, for backends that read the file themselves.
    A configured prompt, a task and the rest of the file tell the model what to do: they stay word for word, unless
    they name the convention that this turn does not have. Promises, reminders and what a command printed are quoted as
    they are.
    """
    body, rewritten = _body(poll, ack, quote_context=quote_context)
    if file_path is not None and "heartbeat.md" in body.lower():
        body = f"{body}\n{wording.path_hint(file_path)}"
    return PollText(with_time_lines(body, time_lines), rewritten)


def _body(poll: Poll, ack: Ack, *, quote_context: bool) -> tuple[str, bool]:
    match poll:
        case BasePoll(prompt):
            return _base(prompt, ack)
        case TasksPoll(tasks, context):
            return _tasks(tasks, context if quote_context else "", ack)
        case CommitmentsPoll(commitments):
            text = f"{wording.COMMITMENTS_OPENING}\n{_bullets(commitments)}\n\n{wording.CLOSING[ack]}"
            return text, False
        case ExecPoll(results, deliver):
            return _event(wording.EXEC_OPENING, results, ack, deliver=deliver), False
        case CronPoll(reminders, deliver):
            return _event(wording.CRON_OPENING, reminders, ack, deliver=deliver), False
        case _:
            assert_never(poll)


def _base(prompt: str | None, ack: Ack) -> tuple[str, bool]:
    if prompt is None or not prompt.strip():
        return f"{wording.OPENING} {wording.CLOSING[ack]}", False
    own = wording.one_convention(prompt, ack)
    text = own if wording.names_convention(own, ack) else f"{own.rstrip()}\n\n{wording.CLOSING[ack]}"
    return text, own != prompt


def _tasks(tasks: tuple[HeartbeatTask, ...], context: str, ack: Ack) -> tuple[str, bool]:
    # The directives of the file may already stand in a task's own words.
    quoted = bool(context) and not any(context in task.prompt for task in tasks)
    # The lines of a task are indented, as they may hold a list of their own.
    written = "\n".join(f"- {task.name}: {task.prompt}".replace("\n", "\n  ") for task in tasks)
    listed, rest = wording.one_convention(written, ack), wording.one_convention(context, ack)
    text = f"{wording.TASKS_OPENING}\n{listed}\n\n{wording.CLOSING[ack]}"
    if quoted:
        text = f"{text}\n\n{wording.CONTEXT_HEADING}\n{rest}"
    return text, listed != written or (quoted and rest != context)


def _event(opening: str, texts: tuple[str, ...], ack: Ack, *, deliver: bool) -> str:
    advice = wording.TELL_OWNER if deliver else wording.KEEP_INSIDE
    return f"{opening}\n{_bullets(texts)}\n\n{advice} {wording.CLOSING[ack]}"


def _bullets(texts: tuple[str, ...]) -> str:
    return "\n".join(f"- {text.strip()}" for text in texts)
