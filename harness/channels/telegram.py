"""A Telegram Bot API `Update`, as it comes, becomes an inbound message.

Pure. Reads a text message of a private chat; anything else is refused with a sentence that names what it is.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import CoreSchema, core_schema

from harness.errors import PayloadError, UnsupportedPayloadError
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
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


class _Message(_Received):
    model_config = ConfigDict(extra="allow", frozen=True)

    message_id: int
    date: Annotated[int, _Second()]
    chat: _Chat
    sender: _User | None = Field(default=None, alias="from")
    text: str | None = None


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
        parsed = _Update.model_validate(update)
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
    return InboundMessage(
        channel=CHANNEL,
        chat=Chat(ChatKind.DIRECT, str(message.chat.id), message.chat.title),
        sender=Sender(
            id=str(message.sender.id),
            name=" ".join(filter(None, (message.sender.first_name, message.sender.last_name))),
            username=message.sender.username,
        ),
        message_id=str(message.message_id),
        text=message.text,
        sent_at=datetime.fromtimestamp(message.date, UTC),
    )
