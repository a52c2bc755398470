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


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message of a person."""

    channel: str
    """The channel's name in lower case, such as "telegram"."""
    chat: Chat
    sender: Sender
    message_id: str
    text: str
    sent_at: datetime
    """When it was sent, with a time zone."""

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
