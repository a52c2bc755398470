"""Which chat an agent's heartbeats speak to.

Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from harness.inbound import ChatKind, chat_key
from harness.settings.heartbeat import HeartbeatSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A chat."""

    channel: str
    chat: str
    """The channel's own id."""
    account: str | None = None
    """Which of the gateway's accounts speaks there; None for the only one."""
    direct: bool | None = None
    """Whether one person alone hears what is said there; None for not known, which counts as shared for the memory."""

    @property
    def private(self) -> bool:
        """It is known that one person alone hears what is said there."""
        return self.direct is True


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an agent's heartbeats happen."""

    session_key: str
    """The owner's conversation."""
    target: Target | None = None
    """The chat that is told; None for none."""
    tells: bool = True
    """False for a trial: what would be told there is worked out and held."""

    @property
    def shared(self) -> bool:
        """Others than the owner may hear what is said."""
        return self.target is not None and not self.target.private

    def heard_in(self, agent: str) -> str:
        """Return the conversation of those who hear an alert: the group's own, where it is known to be one."""
        if self.target is None or self.target.direct is not False:
            return self.session_key
        return chat_key(agent, self.target.channel, ChatKind.GROUP, self.target.chat)


_IDS: Final[Mapping[str, tuple[tuple[str, bool], ...]]] = {
    # Bot API, "Chat": a private chat has the positive id of its person, every other chat a negative id or an @name.
    "telegram": ((r"\d+", True), (r"-.*|@.*", False)),
    # A server's channel may be read by all of its members; a person is written to in a chat of two.
    "discord": ((r"user:.+", True), (r"channel:.+", False)),
}
"""What a channel's ids say of the chat that they name."""


def is_direct(channel: str, chat: str) -> bool | None:
    """Whether a chat is a direct one, as far as the id says it; None where it does not."""
    rules = _IDS.get(channel.strip().lower(), ())
    return next((direct for pattern, direct in rules if re.fullmatch(pattern, chat.strip())), None)


def target_of(settings: HeartbeatSettings, last: Target | None) -> Target | None:
    """Return the chat that a configuration names.

    `last` is the chat in which the owner wrote last. It is meant by the target `last`, and by a channel's name without
    `to` when it is of that channel (prompt-builder 10.1). Whether the chat is a direct one is known from `last`, where
    that is the chat, else from the id.
    """
    found = _named(settings, last)
    if found is None or found.direct is not None:
        return found
    same = last is not None and (last.channel, last.chat) == (found.channel, found.chat)
    known = last.direct if last is not None and same else None
    return replace(found, direct=is_direct(found.channel, found.chat) if known is None else known)


def _named(settings: HeartbeatSettings, last: Target | None) -> Target | None:
    match settings.target:
        case "none":
            return None
        case "last":
            return last
        case channel if settings.to:
            return Target(channel=channel, chat=settings.to, account=settings.account_id)
        case channel:
            return last if last is not None and last.channel == channel else None
