"""What reaches an agent from outside: one type for every channel."""

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


class Relation(Enum):
    """How words that are not the sender's own belong to a message."""

    ANSWERED = "answered"
    """The message answers them, or a part of them."""
    PASSED_ON = "passed on"
    """The message passes them on."""
    BEFORE = "before"
    """They were said in the chat before, and nobody told the agent of them."""


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
    """Where the gateway has put it; empty as long as it has not."""


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
    """Whether it calls the agent by name or answers it; None where nobody else could be meant."""
    reply_to: str = ""
    """The channel's own id of the message that it answers; empty for none."""
    edited: bool = False
    """It stands in the place of one with the same `message_id`."""
    pressed: str = ""
    """What a button carries that was pressed in place of writing; `text` is then empty."""

    @property
    def key(self) -> str:
        """An id that no other message of any channel has; the same for the same message delivered twice."""
        return f"{self.channel}:{self.chat.id}:{self.message_id}"

    def session_key(self, agent: str) -> str:
        """The conversation that this message belongs to."""
        return chat_key(agent, self.channel, self.chat.kind, self.chat.id)


def chat_key(agent: str, channel: str, kind: ChatKind, chat: str) -> str:
    """The conversation that an agent has in a chat."""
    return f"agent:{agent}:{channel}:{kind.value}:{chat}"
