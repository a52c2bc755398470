"""Where `message` may write.

Pure. The chat of the turn itself always, in the topic of the turn. Another one, or another topic of it, only for the
owner or the operator's own clock, in a turn that nobody else hears, and only where the gateway opens it: what somebody
in a group says must not make the agent speak to people elsewhere.
"""

from collections.abc import Callable
from typing import Final

from harness.lean_values import dataclass
from harness.message_tool.arguments import Wish
from harness.toolbox import OwnChat, ToolTurn

NO_CHAT: Final = "This turn has no chat of its own: name channel and target."
NOT_OPEN: Final = "is not a chat that you may write to from here. Tell the owner, and do not look for another way."


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A chat that is written to."""

    channel: str
    chat: str
    topic: str = ""
    own: OwnChat | None = None
    """The chat of the turn, where it is that one."""

    @property
    def name(self) -> str:
        """For a sentence."""
        return f"{self.channel} {self.chat}" + (f" topic {self.topic}" if self.topic and self.own is None else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the gateway opens."""

    channels: tuple[str, ...] = ()
    """Names of the channels that it has, in lower case; empty when it does not tell."""
    may_write: Callable[[Destination], bool] = lambda _: False
    """Whether turns of the owner may write to a chat that is not their own; by default to none."""


def destination(wish: Wish, turn: ToolTurn, reach: Reach) -> Destination | str:
    """Return where a call goes, or the sentence that refuses it."""
    own = turn.chat
    if not wish.target:
        if own is None:
            return NO_CHAT
        return _within(own, wish, turn, reach)
    channel = wish.channel or (own.channel if own is not None else "")
    if not channel:
        return f"Name the channel of {wish.target!r} as well."
    if own is not None and (channel, wish.target) == (own.channel, own.chat):
        return _within(own, wish, turn, reach)
    if reach.channels and channel not in reach.channels:
        return f"There is no channel {channel!r}; there are {', '.join(sorted(reach.channels))}."
    return _elsewhere(Destination(channel=channel, chat=wish.target, topic=wish.topic), turn, reach)


def _within(own: OwnChat, wish: Wish, turn: ToolTurn, reach: Reach) -> Destination | str:
    """In the chat of the turn. Another topic of it is another conversation; on Discord it may be any channel at all."""
    if wish.topic in ("", own.topic):
        return Destination(channel=own.channel, chat=own.chat, topic=own.topic, own=own)
    return _elsewhere(Destination(channel=own.channel, chat=own.chat, topic=wish.topic), turn, reach)


def _elsewhere(where: Destination, turn: ToolTurn, reach: Reach) -> Destination | str:
    if not turn.owned or not reach.may_write(where):
        return f"{where.name} {NOT_OPEN}"
    return where
