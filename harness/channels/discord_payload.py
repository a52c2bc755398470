"""What Discord's gateway sends, as far as it is read (Discord developer documentation, "Gateway Events")."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import ConfigDict
from pydantic_core import CoreSchema, core_schema

from harness.channels.reading import Received


class _Digits:
    """Marks an id, which Discord writes as digits of a number below 2^64."""

    def core_schema(self, _inner: Callable[[], CoreSchema]) -> CoreSchema:
        return core_schema.str_schema(pattern=r"^[0-9]{1,20}$")


Snowflake = Annotated[str, _Digits()]


class Event(Received):
    """One event: its name is `t`, and `d` is what it tells."""

    t: str
    d: dict[str, Any]


class User(Received):
    """A person, a bot, or whatever a webhook calls itself."""

    id: Snowflake
    username: str = ""
    global_name: str | None = None
    bot: bool = False
    system: bool = False


class Member(Received):
    """What a server knows of a person."""

    nick: str | None = None
    user: User | None = None


class File(Received):
    """An attachment."""

    id: Snowflake
    filename: str
    url: str
    content_type: str | None = None
    size: int | None = None
    waveform: str | None = None
    """Of a voice message alone."""


class Sticker(Received):
    """A sticker of a message."""

    id: Snowflake
    name: str = ""
    format_type: int = 0


class Embed(Received):
    """A card, such as the preview of a link, or what a bot makes up."""

    title: str | None = None
    description: str | None = None


class _Line(Received):
    text: str | None = None


class _PollAnswer(Received):
    poll_media: _Line


class Poll(Received):
    """A poll."""

    question: _Line
    answers: tuple[_PollAnswer, ...] = ()


class Reference(Received):
    """Which message another one points to; `type` 0 is an answer, 1 passes it on."""

    type: int = 0
    message_id: Snowflake | None = None


class Content(Received):
    """What a message shows, wherever one is quoted."""

    content: str = ""
    mentions: tuple[User, ...] = ()
    attachments: tuple[File, ...] = ()
    sticker_items: tuple[Sticker, ...] = ()
    embeds: tuple[Embed, ...] = ()
    poll: Poll | None = None


class Answered(Content):
    """The message that another one answers."""

    id: Snowflake
    author: User | None = None


class Snapshot(Received):
    """A message as it was when somebody passed it on; it does not say whose it was."""

    message: Content


class Message(Content):
    """A message."""

    id: Snowflake
    channel_id: Snowflake
    guild_id: Snowflake | None = None
    type: int
    timestamp: str
    edited_timestamp: str | None = None
    author: User
    member: Member | None = None
    webhook_id: Snowflake | None = None
    mention_roles: tuple[Snowflake, ...] = ()
    message_reference: Reference | None = None
    referenced_message: Answered | None = None
    message_snapshots: tuple[Snapshot, ...] = ()


class Channel(Received):
    """A channel or a thread, as the gateway or an interaction tells of it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Snowflake
    type: int
    name: str | None = None
    parent_id: Snowflake | None = None


class _Data(Received):
    custom_id: str = ""
    component_type: int = 0


class Interaction(Received):
    """What somebody does with what a bot has put into a chat."""

    id: Snowflake
    type: int
    channel_id: Snowflake | None = None
    guild_id: Snowflake | None = None
    channel: Channel | None = None
    data: _Data | None = None
    member: Member | None = None
    user: User | None = None
    message: Answered | None = None
