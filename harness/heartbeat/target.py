"""Which chat an agent's heartbeats speak to.

Pure.
"""

from dataclasses import dataclass

from harness.settings.heartbeat import HeartbeatSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A chat."""

    channel: str
    chat: str
    """The channel's own id."""
    account: str | None = None
    """Which of the gateway's accounts speaks there; None for the only one."""
    direct: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an agent's heartbeats happen."""

    session_key: str
    """The owner's conversation."""
    target: Target | None = None
    """The chat that is told; None for none."""


def target_of(settings: HeartbeatSettings, last: Target | None) -> Target | None:
    """Return the chat that a configuration names.

    `last` is the chat in which the owner wrote last. It is meant by the target `last`, and by a channel's name without
    `to` when it is of that channel (prompt-builder 10.1).
    """
    match settings.target:
        case "none":
            return None
        case "last":
            return last
        case channel if settings.to:
            return Target(channel=channel, chat=settings.to, account=settings.account_id)
        case channel:
            return last if last is not None and last.channel == channel else None
