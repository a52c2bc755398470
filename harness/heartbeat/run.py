"""How a heartbeat runs: in which session, with how much context, and what the prompt says beforehand.

Pure decisions over explicit facts.
"""

from dataclasses import dataclass

from harness.heartbeat.convention import Ack
from harness.heartbeat.heartbeat_file import is_effectively_empty
from harness.heartbeat.poll import CommitmentsPoll, Poll, PollText, render_poll
from harness.heartbeat.target import Place, Target
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
    """Others than the owner hear what it says: it may know nothing of the memory, nor of what the owner said."""
    seconds: float | None = None
    """How long it may take; None for the backend's own limit."""
    target: Target | None = None
    """The chat that it may write to by itself; None for none."""


def isolated_key(session_key: str) -> str:
    """Return the key of the session in which an agent's isolated heartbeats run; one suffix, however often asked."""
    return session_key if session_key.endswith(_SUFFIX) else session_key + _SUFFIX


def run_key(settings: HeartbeatSettings, place: Place) -> str:
    """Return the key of the session in which an agent's heartbeats run.

    It is the owner's conversation, unless others than the owner hear what they say: what the owner said, and the
    memory that was quoted to the owner, must not be there to be told. Each such chat has a conversation of its own.
    """
    key, target = place.session_key, place.target
    if place.shared and target is not None:
        account = f":{target.account}" if target.account else ""
        key = f"{key}:shared:{target.channel}{account}:{target.chat}"
    return isolated_key(key) if settings.isolated_session else key


def plan_run(
    settings: HeartbeatSettings,
    poll: Poll,
    *,
    place: Place,
    ack: Ack,
    file_path: str | None = None,
    quote_context: bool = True,
    time_lines: str = "",
) -> HeartbeatRun:
    """Put a heartbeat turn together; see `render_poll` for the last four."""
    return HeartbeatRun(
        session_key=run_key(settings, place),
        poll=render_poll(poll, ack=ack, file_path=file_path, quote_context=quote_context, time_lines=time_lines),
        light=settings.light_context,
        isolated=settings.isolated_session,
        commitments_only=isinstance(poll, CommitmentsPoll),
        shared=place.shared,
        seconds=settings.timeout_seconds,
        target=_told(settings, place),
    )


def _told(settings: HeartbeatSettings, place: Place) -> Target | None:
    """The chat that an alert could go to."""
    target = place.target
    if target is None or not place.tells:
        return None
    return target if settings.direct_allowed or target.direct is False else None


def pointer_for(path: str, text: str | None) -> str | None:
    """Return the line that points a heartbeat turn to its file, or None when there is nothing to point to.

    `text` is what HEARTBEAT.md holds, None when there is none.
    """
    return None if text is None or is_effectively_empty(text) else heartbeat_pointer(path)
