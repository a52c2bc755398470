"""How a heartbeat runs: in which session, with how much context, and what the prompt says beforehand.

Pure decisions over explicit facts.
"""

from dataclasses import dataclass

from harness.heartbeat.convention import Ack
from harness.heartbeat.heartbeat_file import is_effectively_empty
from harness.heartbeat.poll import CommitmentsPoll, Poll, PollText, render_poll
from harness.heartbeat.wording import heartbeat_pointer
from harness.settings.heartbeat import HeartbeatSettings

_SUFFIX = ":heartbeat"


@dataclass(frozen=True, slots=True)
class HeartbeatRun:
    """Everything that a heartbeat turn is started with."""

    session_key: str
    poll: PollText
    light: bool = False
    """HEARTBEAT.md is the only file of the workspace that it hears of."""
    isolated: bool = False
    """It begins and ends a session of its own."""
    commitments_only: bool = False
    """It is about promises alone, and not about HEARTBEAT.md."""
    shared: bool = False
    """Others than the owner hear what it says, so it may know nothing of the memory."""
    seconds: float | None = None
    """How long it may take; None for the backend's own limit."""


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
    shared: bool = False,
) -> HeartbeatRun:
    """Put a heartbeat turn together; see `HeartbeatRun.shared`, and `render_poll` for the four before it."""
    return HeartbeatRun(
        session_key=isolated_key(session_key) if settings.isolated_session else session_key,
        poll=render_poll(poll, ack=ack, file_path=file_path, quote_context=quote_context, time_lines=time_lines),
        light=settings.light_context,
        isolated=settings.isolated_session,
        commitments_only=isinstance(poll, CommitmentsPoll),
        shared=shared,
        seconds=settings.timeout_seconds,
    )


def pointer_for(path: str, text: str | None) -> str | None:
    """Return the line that points a heartbeat turn to its file, or None when there is nothing to point to.

    `text` is what HEARTBEAT.md holds, None when there is none.
    """
    return None if text is None or is_effectively_empty(text) else heartbeat_pointer(path)
