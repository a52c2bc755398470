"""A Telegram Bot API `Update`, as it comes, becomes an inbound message.

Pure. Reads a text message of a private chat; anything else is refused with a sentence that names what it is. What a
person passes on, quotes or answers is not that person's word, and stays apart from it.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import CoreSchema, core_schema

from harness.errors import PayloadError, UnsupportedPayloadError
from harness.inbound import Chat, ChatKind, InboundMessage, Quoted, Relation, Sender
from harness.lean_models import LeanModel

CHANNEL: Final = "telegram"

_CONTENT: Final = (
    "animation", "audio", "contact", "dice", "document", "game", "invoice", "location", "paid_media", "photo", "poll",
    "sticker", "story", "venue", "video", "video_note", "voice",
)  # fmt: skip
"""Members of a `Message` that hold content other than text (Bot API, "Message")."""


_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999, the last that Python's calendar has."""


class _Second:
    """Marks a Unix time that Python's calendar has."""

    def core_schema(self, _inner: Callable[[], CoreSchema]) -> CoreSchema:
        return core_schema.int_schema(ge=0, le=_LAST_SECOND)


class _Received(LeanModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _User(_Received):
    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class _Chat(_Received):
    id: int
    type: str
    title: str = ""


class _Titled(_Received):
    title: str = ""
    username: str = ""


class _Origin(_Received):
    """Where a message comes from that is passed on (Bot API, `MessageOrigin`)."""

    sender_user: _User | None = None
    sender_user_name: str = ""
    sender_chat: _Titled | None = None
    chat: _Titled | None = None

    @property
    def author(self) -> str:
        """The name that it goes by."""
        titled = self.sender_chat or self.chat
        return _name(self.sender_user) or self.sender_user_name or (titled.title or titled.username if titled else "")


class _Quote(_Received):
    text: str = ""


class _Answered(_Received):
    """The message that another one answers."""

    sender: _User | None = Field(default=None, alias="from")
    sender_chat: _Titled | None = None
    text: str = ""
    caption: str = ""


class _External(_Received):
    origin: _Origin | None = None


class _Message(_Received):
    model_config = ConfigDict(extra="allow", frozen=True)

    message_id: int
    date: Annotated[int, _Second()]
    chat: _Chat
    sender: _User | None = Field(default=None, alias="from")
    text: str | None = None
    forward_origin: _Origin | None = None
    forward_date: int | None = None
    """Of a server of before Bot API 7.0, which says in other members where a message comes from."""
    via_bot: _User | None = None
    reply_to_message: _Answered | None = None
    external_reply: _External | None = None
    quote: _Quote | None = None

    @property
    def author(self) -> str | None:
        """Who wrote the text, if it was not the sender; empty when nobody knows."""
        if self.forward_origin is not None:
            return self.forward_origin.author
        if self.forward_date is not None:
            return ""
        return _name(self.via_bot) if self.via_bot is not None else None


class _Update(_Received):
    model_config = ConfigDict(extra="allow", frozen=True)

    update_id: int
    message: _Message | None = None


def from_update(update: Mapping[str, object]) -> InboundMessage:
    """Read one `Update`.

    Raises:
        PayloadError: It is no `Update`; names the member that is missing or wrong.
        UnsupportedPayloadError: It is one, but not a text message of a person in a private chat.
    """
    try:
        parsed = _Update.read_from(update)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the payload"
        raise PayloadError(f"This is not a Telegram update: {place}: {first['msg'].lower()}.") from None
    message = parsed.message
    if message is None:
        kinds = ", ".join(sorted(parsed.model_extra or {})) or "nothing"
        raise UnsupportedPayloadError(f"Telegram update {parsed.update_id} holds {kinds}, not a new message.")
    if message.chat.type != "private":
        raise UnsupportedPayloadError(
            f"Telegram update {parsed.update_id} comes from a {message.chat.type} chat; only private chats are read."
        )
    if message.sender is None or message.sender.is_bot:
        raise UnsupportedPayloadError(f"Telegram update {parsed.update_id} was not written by a person.")
    if not message.text:
        found = [name for name in _CONTENT if name in (message.model_extra or {})]
        raise UnsupportedPayloadError(
            f"Telegram update {parsed.update_id} holds {' and '.join(found) or 'no text'}; only text messages are read."
        )
    author = message.author
    return InboundMessage(
        channel=CHANNEL,
        chat=Chat(ChatKind.DIRECT, str(message.chat.id), message.chat.title),
        sender=Sender(id=str(message.sender.id), name=_full_name(message.sender), username=message.sender.username),
        message_id=str(message.message_id),
        text=message.text if author is None else "",
        sent_at=datetime.fromtimestamp(message.date, UTC),
        quoted=(
            *_answered(message),
            *(() if author is None else (Quoted(Relation.PASSED_ON, message.text, author),)),
        ),
    )


def _answered(message: _Message) -> Iterable[Quoted]:
    """What a message answers: the part that its sender marked, else all of it."""
    answered, outside = message.reply_to_message, message.external_reply
    text = message.quote.text if message.quote else ""
    author = ""
    if answered is not None:
        text = text or answered.text or answered.caption
        author = _name(answered.sender) or (answered.sender_chat.title if answered.sender_chat else "")
    elif outside is not None and outside.origin is not None:
        author = outside.origin.author
    return (Quoted(Relation.ANSWERED, text, author),) if text else ()


def _name(user: _User | None) -> str:
    return "" if user is None else _full_name(user) or user.username


def _full_name(user: _User) -> str:
    return " ".join(filter(None, (user.first_name, user.last_name)))
