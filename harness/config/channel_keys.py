"""Which keys stand under `channels`, `surfaces`, `messages` and `commands`.

Pure. A channel keeps keys of its own beside these.
"""

from typing import Annotated, Literal

from pydantic import Field

from harness.config.agent_keys import SilentReply
from harness.config.section import Section, Texts, Whole
from harness.settings.agent import ButtonScope, ReactionLevel, VisibleReplies
from harness.settings.queue import DropPolicy, QueueMode


class HeartbeatShown(Section):
    """`channels.*.heartbeat`: what of a heartbeat a channel shows (prompt-builder 10.8)."""

    show_ok: bool | None = None
    show_alerts: bool | None = None
    use_indicator: bool | None = None


class ChannelAccount(Section):
    """`channels.<channel>.accounts.<account>`."""

    has_open_keys = True
    heartbeat: HeartbeatShown | None = None


class Capabilities(Section):
    """`channels.<channel>.capabilities`, when it is no list of ids."""

    has_open_keys = True
    inline_buttons: ButtonScope | None = None


class Channel(Section):
    """`channels.<channel>`; `channels.defaults` has the same keys."""

    has_open_keys = True
    heartbeat: HeartbeatShown | None = None
    accounts: dict[str, ChannelAccount] = Field(default_factory=dict[str, ChannelAccount])
    require_mention: bool | None = None
    capabilities: Texts | Capabilities | None = None
    reaction_level: ReactionLevel | None = None


class Surface(Section):
    """`surfaces.<surface>`."""

    has_open_keys = True
    silent_reply: SilentReply | None = None


class GroupChat(Section):
    """`messages.groupChat`."""

    has_open_keys = True
    visible_replies: VisibleReplies | None = None
    unmentioned_inbound: str | None = None


class Queue(Section):
    """`messages.queue`: what happens to a message that arrives during a turn."""

    mode: Annotated[QueueMode, Field(strict=False)] | None = None
    by_channel: dict[str, Annotated[QueueMode, Field(strict=False)]] = Field(default_factory=dict[str, QueueMode])
    debounce_ms: Annotated[Whole, Field(ge=0)] | None = None
    debounce_ms_by_channel: dict[str, Annotated[Whole, Field(ge=0)]] = Field(default_factory=dict[str, int])
    cap: Annotated[Whole, Field(ge=1)] | None = None
    drop: Annotated[DropPolicy, Field(strict=False)] | None = None


class Speech(Section):
    """`messages.tts`: spoken replies; the voice provider keeps keys of its own here."""

    has_open_keys = True
    auto: Literal["off", "always", "inbound", "tagged"] = "off"
    persona: str | None = None
    max_text_length: Annotated[Whole, Field(ge=1)] | None = None


class Messages(Section):
    """`messages`."""

    has_open_keys = True
    visible_replies: VisibleReplies | None = None
    group_chat: GroupChat = GroupChat.model_construct()
    queue: Queue = Queue.model_construct()
    tts: Speech = Speech.model_construct()


class Commands(Section):
    """`commands`: who the owners are, and how they are named in the prompt (prompt-builder 11.7)."""

    has_open_keys = True
    owner_allow_from: Annotated[tuple[str | Whole, ...], Field(strict=False)] = ()
    """Sender ids, one with the name of a channel and a colon before it on that channel alone."""
    owner_display: Literal["raw", "hash"] = "raw"
    owner_display_secret: str | None = None
