"""What reaches an agent from outside: one type for every channel."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import Enum

from harness.lean_values import dataclass


class ChatKind(Enum):
    """How many people hear what the agent says."""

    DIRECT = "direct"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Chat:
    """Where a message was written."""

    kind: ChatKind
    id: str
    """The channel's own id, as text."""
    title: str = ""
    """Chosen by people outside; empty for most direct chats."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote a message. The names are whatever that person chose."""

    id: str
    name: str
    username: str = ""


@dataclass(frozen=True, slots=True)
class Bot:
    """Who the agent is on a channel, by which its channel tells what calls it."""

    id: str
    """The channel's own id of the bot's account."""
    username: str = ""
    """Without the sign before it."""
    roles: frozenset[str] = frozenset()
    """Ids of roles that the bot has, where people call it by them."""


class Relation(Enum):
    """How words that are not the sender's own belong to a message."""

    ANSWERED = "answered"
    """The message answers them, or a part of them."""
    PASSED_ON = "passed on"
    """The message passes them on."""
    BEFORE = "before"
    """They were said in the chat before, and nobody told the agent of them."""
    SHARED = "shared"
    """The message shares them in place of writing: a place, a contact, a poll."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """Words that a message brings along and that its sender did not write."""

    relation: Relation
    text: str
    author: str = ""
    """The name that whoever wrote them chose; empty for nobody known."""


class AttachmentKind(Enum):
    """What a file is, as its channel says."""

    IMAGE = "image"
    VOICE = "voice"
    AUDIO = "audio"
    VIDEO = "video"
    DOCUMENT = "document"
    STICKER = "sticker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that a message brings along. Everything in it is what people outside chose."""

    kind: AttachmentKind
    file_id: str
    """What the channel gives the file out for: an id of its own, or an address."""
    name: str = ""
    media_type: str = ""
    size: int | None = None
    """Bytes, as far as the channel says."""
    path: str = ""
    """Where the gateway has put it, from the root of this machine; empty as long as it has not."""
    relation: Relation | None = None
    """How it belongs to the message when it is not its sender's own; None when it is."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message of a person."""

    channel: str
    """The channel's name in lower case, such as "telegram"."""
    chat: Chat
    sender: Sender
    message_id: str
    text: str
    """The sender's own words; may be empty when the message only brings along those of others."""
    sent_at: datetime
    """When it was sent, with a time zone."""
    quoted: tuple[Quoted, ...] = ()
    """Words of others that it brings along, in reading order."""
    attachments: tuple[Attachment, ...] = ()
    topic: str = ""
    """The channel's id of the topic or thread inside the chat; empty for none. Each is a conversation of its own."""
    mentioned: bool | None = None
    """Whether it calls the agent by name or answers it; None where nobody else could be meant, or nobody said who the
    agent is."""
    reply_to: str = ""
    """The channel's own id of the message that it answers; empty for none."""
    edited: bool = False
    """It stands in the place of one with the same `message_id`."""
    pressed: str = ""
    """What a button carries that was pressed in place of writing; `text` is then empty, and `message_id` is that of the
    message that the button hangs on."""
    event_id: str = ""
    """Tells an edit or a press apart from the message that it is about, and from others of that; else empty."""

    @property
    def key(self) -> str:
        """An id that no other message of any channel has; the same for the same message delivered twice."""
        key = f"{self.channel}:{self.chat.id}:{self.message_id}"
        return f"{key}:{self.event_id}" if self.event_id else key

    def session_key(self, agent: str) -> str:
        """The conversation that this message belongs to."""
        return chat_key(agent, self.channel, self.chat.kind, self.chat.id, self.topic)


def chat_key(agent: str, channel: str, kind: ChatKind, chat: str, topic: str = "") -> str:
    """The conversation that an agent has in a chat, or in a topic of it."""
    key = f"agent:{agent}:{channel}:{kind.value}:{chat}"
    return f"{key}:topic:{topic}" if topic else key


def with_files(message: InboundMessage, paths: Mapping[str, str]) -> InboundMessage:
    """The same message once the gateway has fetched its files.

    Args:
        message: The message.
        paths: Where each file is, from the root of this machine, by `Attachment.file_id`. Those of which nothing is
            said stay as they are, and the agent is told of them by name.
    """
    if not any(each.file_id in paths for each in message.attachments):
        return message
    found = (replace(each, path=paths.get(each.file_id, each.path)) for each in message.attachments)
    return replace(message, attachments=tuple(found))
