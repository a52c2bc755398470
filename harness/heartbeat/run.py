"""How a heartbeat runs: in which session, with how much context, and what the prompt says beforehand.

Pure decisions over explicit facts.
"""

from dataclasses import dataclass

from harness.heartbeat.convention import Ack
from harness.heartbeat.heartbeat_file import is_effectively_empty
from harness.heartbeat.poll import CommitmentsPoll, Poll, PollText, render_poll
from harness.heartbeat.wording import TRANSCRIPT_BODY, heartbeat_pointer
from harness.settings.heartbeat import HeartbeatSettings
from harness.workspace.names import ContextMode, RunKind

_SUFFIX = ":heartbeat"


@dataclass(frozen=True, slots=True)
class HeartbeatRun:
    """Everything that a heartbeat turn is started with."""

    session_key: str
    context_mode: ContextMode
    """A light run leaves HEARTBEAT.md as the only workspace file."""
    kind: RunKind
    timeout_seconds: float
    poll: PollText
    transcript_body: str
    """What the transcript shows instead of the poll."""


def isolated_key(session_key: str) -> str:
    """Return the key of the session in which an agent's isolated heartbeats run; one suffix, however often asked."""
    return session_key if session_key.endswith(_SUFFIX) else session_key + _SUFFIX


def plan_run(
    settings: HeartbeatSettings,
    poll: Poll,
    *,
    session_key: str,
    ack: Ack,
    file_path: str | None = None,
    quote_context: bool = True,
    time_lines: str = "",
) -> HeartbeatRun:
    """Put a heartbeat turn together; the last four arguments are those of `render_poll`.

    An isolated session is started afresh for each heartbeat, so the caller drops what it held before.
    """
    return HeartbeatRun(
        session_key=isolated_key(session_key) if settings.isolated_session else session_key,
        context_mode=ContextMode.LIGHTWEIGHT if settings.light_context else ContextMode.FULL,
        kind=RunKind.COMMITMENT_ONLY if isinstance(poll, CommitmentsPoll) else RunKind.HEARTBEAT,
        timeout_seconds=settings.timeout_seconds,
        poll=render_poll(poll, ack=ack, file_path=file_path, quote_context=quote_context, time_lines=time_lines),
        transcript_body=TRANSCRIPT_BODY,
    )


def pointer_for(path: str, text: str | None) -> str | None:
    """Return the line that points a heartbeat turn to its file, or None when there is nothing to point to.

    `text` is what HEARTBEAT.md holds, None when there is none.
    """
    return None if text is None or is_effectively_empty(text) else heartbeat_pointer(path)
