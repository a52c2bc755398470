"""What a Telegram Bot API `Update` holds, as far as it is read (Bot API, "Available types")."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field
from pydantic_core import CoreSchema, core_schema

from harness.channels.reading import Received

_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999, the last that Python's calendar has."""


class _Second:
    """Marks a Unix time that Python's calendar has."""

    def core_schema(self, _inner: Callable[[], CoreSchema]) -> CoreSchema:
        return core_schema.int_schema(ge=0, le=_LAST_SECOND)


class User(Received):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""

    @property
    def full_name(self) -> str:
        """The first and the last name; may be empty."""
        return " ".join(filter(None, (self.first_name, self.last_name)))

    @property
    def called(self) -> str:
        """The name that it goes by."""
        return self.full_name or self.username


class Chat(Received):
    """Where a message stands, or in whose name it was written."""

    id: int
    type: str
    title: str = ""
    username: str = ""


class _Titled(Received):
    title: str = ""
    username: str = ""


class Origin(Received):
    """Where a message comes from that is passed on (`MessageOrigin`)."""

    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: _Titled | None = None
    chat: _Titled | None = None

    @property
    def author(self) -> str:
        """The name that it goes by."""
        titled = self.sender_chat or self.chat
        named = self.sender_user.called if self.sender_user else ""
        return named or self.sender_user_name or (titled.title or titled.username if titled else "")


class Entity(Received):
    """A marked part of a text; the units are those of UTF-16."""

    type: str
    offset: int
    length: int
    user: User | None = None


class PhotoSize(Received):
    """One size of a photo."""

    file_id: str
    width: int = 0
    height: int = 0
    file_size: int | None = None


class File(Received):
    """An animation, an audio file, a document, a video or a voice message."""

    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: int | None = None


class Sticker(Received):
    """A sticker."""

    file_id: str
    emoji: str = ""
    is_animated: bool = False
    is_video: bool = False
    file_size: int | None = None


class Location(Received):
    """A point on the map."""

    latitude: float
    longitude: float
    live_period: int | None = None


class Venue(Received):
    """A place with a name."""

    location: Location
    title: str
    address: str = ""


class Contact(Received):
    """Somebody's telephone number."""

    phone_number: str
    first_name: str
    last_name: str = ""


class _Option(Received):
    text: str


class Poll(Received):
    """A poll."""

    question: str
    options: tuple[_Option, ...]


class Dice(Received):
    """Something thrown."""

    emoji: str
    value: int


class Content(Received):
    """What a message shows besides its text: the same members wherever one is quoted."""

    photo: tuple[PhotoSize, ...] = ()
    animation: File | None = None
    document: File | None = None
    voice: File | None = None
    audio: File | None = None
    video: File | None = None
    video_note: File | None = None
    sticker: Sticker | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: Contact | None = None
    poll: Poll | None = None
    dice: Dice | None = None


class _Quote(Received):
    text: str = ""


class Answered(Content):
    """The message that another one answers."""

    message_id: int
    sender: User | None = Field(default=None, alias="from")
    sender_chat: _Titled | None = None
    text: str = ""
    caption: str = ""
    forum_topic_created: dict[str, Any] | None = None
    """Every message of a topic answers the one with which it began, unless it answers another one."""

    @property
    def author(self) -> str:
        """The name of whoever wrote it."""
        named = self.sender.called if self.sender else ""
        # The account behind a chat that writes itself is one of Telegram's, and the same for all of them.
        return (self.sender_chat.title or self.sender_chat.username if self.sender_chat else "") or named


class _External(Content):
    """A message of another chat that one answers."""

    origin: Origin | None = None


class Message(Content):
    """A message; what is not read of it is kept by name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    message_id: int
    date: Annotated[int, _Second()]
    chat: Chat
    sender: User | None = Field(default=None, alias="from")
    sender_chat: Chat | None = None
    author_signature: str = ""
    message_thread_id: int | None = None
    is_topic_message: bool = False
    edit_date: Annotated[int, _Second()] | None = None
    text: str = ""
    caption: str = ""
    entities: tuple[Entity, ...] = ()
    caption_entities: tuple[Entity, ...] = ()
    forward_origin: Origin | None = None
    forward_date: int | None = None
    """Of a server of before Bot API 7.0, which says in other members where a message comes from."""
    via_bot: User | None = None
    reply_to_message: Answered | None = None
    external_reply: _External | None = None
    quote: _Quote | None = None

    @property
    def author(self) -> str | None:
        """Who made what it shows, if it was not the sender; empty when nobody knows."""
        if self.forward_origin is not None:
            return self.forward_origin.author
        if self.forward_date is not None:
            return ""
        return self.via_bot.called if self.via_bot is not None else None


class Pressed(Answered):
    """The message that a button hangs on; of one that is too old to be seen only the first three are there."""

    chat: Chat
    date: Annotated[int, _Second()]
    message_thread_id: int | None = None
    is_topic_message: bool = False


class Callback(Received):
    """A press on a button (`CallbackQuery`)."""

    id: str
    sender: User = Field(alias="from")
    message: Pressed | None = None
    data: str = ""


class Update(Received):
    """An update; of those that are not read the names of their members are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    update_id: int
    message: Message | None = None
    edited_message: Message | None = None
    channel_post: Message | None = None
    edited_channel_post: Message | None = None
    callback_query: Callback | None = None
