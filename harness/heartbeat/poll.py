"""What a heartbeat turn asks the model.

Pure. One poll is chosen by priority from what is pending, then rendered; the sentences come from `wording`.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

from harness.clock import with_time_lines
from harness.heartbeat import wording
from harness.heartbeat.tasks import HeartbeatTask
from harness.heartbeat.wording import Ack

Provider = Literal["heartbeat", "exec-event", "cron-event"]


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
    provider: Provider
    """The name under which the turn's context is recorded."""
    rewritten: bool
    """True when a text named the convention that this turn does not have and was put in the other's terms."""


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
    A configured prompt stays word for word, unless it names the convention that this turn does not have.
    """
    body, provider = _body(poll, ack, quote_context=quote_context)
    if file_path is not None and "heartbeat.md" in body.lower():
        body = f"{body}\n{wording.path_hint(file_path)}"
    text = wording.one_convention(body, ack)
    return PollText(with_time_lines(text, time_lines), provider, rewritten=text != body)


def _body(poll: Poll, ack: Ack, *, quote_context: bool) -> tuple[str, Provider]:
    match poll:
        case BasePoll(prompt):
            return _base(prompt, ack), "heartbeat"
        case TasksPoll(tasks, context):
            listed = "\n".join(f"- {task.name}: {task.prompt}" for task in tasks)
            text = f"{wording.TASKS_OPENING}\n{listed}\n\n{wording.CLOSING[ack]}"
            # The directives of the file may already stand in a task's own words.
            if quote_context and context and context not in text:
                text = f"{text}\n\n{wording.CONTEXT_HEADING}\n{context}"
            return text, "heartbeat"
        case CommitmentsPoll(commitments):
            return f"{wording.COMMITMENTS_OPENING}\n{_bullets(commitments)}\n\n{wording.CLOSING[ack]}", "heartbeat"
        case ExecPoll(results, deliver):
            return _event(wording.EXEC_OPENING, results, ack, deliver=deliver), "exec-event"
        case CronPoll(reminders, deliver):
            return _event(wording.CRON_OPENING, reminders, ack, deliver=deliver), "cron-event"
        case _:
            assert_never(poll)


def _base(prompt: str | None, ack: Ack) -> str:
    if prompt is None or not prompt.strip():
        return f"{wording.OPENING} {wording.CLOSING[ack]}"
    told = wording.names_convention(wording.one_convention(prompt, ack), ack)
    return prompt if told else f"{prompt.rstrip()}\n\n{wording.CLOSING[ack]}"


def _event(opening: str, texts: tuple[str, ...], ack: Ack, *, deliver: bool) -> str:
    advice = wording.TELL_OWNER if deliver else wording.KEEP_INSIDE
    return f"{opening}\n{_bullets(texts)}\n\n{advice} {wording.CLOSING[ack]}"


def _bullets(texts: tuple[str, ...]) -> str:
    return "\n".join(f"- {text.strip()}" for text in texts)
