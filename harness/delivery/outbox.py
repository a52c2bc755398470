"""What a channel offers to whoever has something for a chat."""

from typing import Final, Protocol, runtime_checkable

from harness.errors import HarnessError
from harness.lean_values import dataclass
from harness.units import TextUnit

PACE: Final = 1.0
"""Seconds between two edits of a message; Telegram takes about one a second (spec 6)."""


@dataclass(frozen=True, slots=True)
class Button:
    """Something to press under a text."""

    label: str
    data: str
    """What comes back as `InboundMessage.pressed`; at most 64 bytes of UTF-8, which is what Telegram takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """A file that goes out."""

    source: str
    """A path on this machine, or an http(s) address that the channel fetches itself."""
    voice: bool = False
    """It is played as a voice message where the channel has these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A text for a chat, files, or both."""

    key: str
    """The same for the same text however often it is handed over: what was sent under it is not sent again."""
    channel: str
    chat: str
    """The channel's own id of the chat."""
    text: str
    reply_to: str = ""
    """The channel's own id of the message that it answers; empty for none."""
    again: bool = False
    """It may have been sent before: an attempt ended without an answer. Where `Abilities.keys` is false the text says
    so itself."""
    topic: str = ""
    """The channel's own id of the topic or thread inside the chat; empty for none."""
    media: tuple[Media, ...] = ()
    buttons: tuple[tuple[Button, ...], ...] = ()
    """Rows of buttons under the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """An emoji under a message that stands in a chat, whoever wrote it."""

    channel: str
    chat: str
    """The channel's own id of the chat."""
    message: str
    """The channel's own id of the message."""
    emoji: str
    topic: str = ""
    """See `Outgoing.topic`."""
    removed: bool = False
    """It is taken away again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a channel can do besides sending."""

    keys: bool = False
    """It sends nothing twice under one `Outgoing.key`, also after a restart of either side."""
    edits: bool = False
    """It can put another text in the place of one that was sent; without, nothing is shown before it is whole."""
    withdraws: bool = False
    """It can take back what was sent."""
    reacts: bool = False
    """Its outbox is one that `Reacts`."""
    pace: float = PACE
    """Seconds between two edits."""
    limit: int | None = None
    """How long the text of a message may be; None for any length. A longer one goes out as several."""
    unit: TextUnit = TextUnit.UTF16
    """What `limit` counts."""


class NotSentError(HarnessError):
    """The channel surely did not take it. Any other exception leaves that open.

    Args:
        message: One sentence.
        retry_after: Seconds after which the channel wants to be asked again; None when it did not say.
        for_good: It never will: the chat is gone, say, or the bot is not let in.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, for_good: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.for_good = for_good


class Outbox(Protocol):
    """The way to the chats of one gateway."""

    def can(self, channel: str) -> Abilities:
        """What a channel can do."""
        ...

    async def send(self, outgoing: Outgoing) -> str:
        """Send a text; gives the channel's own id of it, the earlier one for a key that was sent already.

        Raises:
            NotSentError: It surely was not sent.
        """
        ...

    async def edit(self, sent_as: str, outgoing: Outgoing) -> None:
        """Put the text in the place of what was sent. The same text once more is no error.

        Raises:
            NotSentError: It surely was not; for good when there is no such message any more.
        """
        ...

    async def withdraw(self, sent_as: str, outgoing: Outgoing) -> None:
        """Take back what was sent; no error when it is gone. `outgoing` says where, and its text is empty."""
        ...


@runtime_checkable
class Reacts(Protocol):
    """An outbox that also puts emoji under messages."""

    async def react(self, reaction: Reaction) -> None:
        """Put it there, or take it away; no error when that is done already.

        Raises:
            NotSentError: It surely was not; for good when there is no such message, or the chat does not allow it.
        """
        ...
