"""An event of Discord's gateway, as it comes, becomes an inbound message.

Pure. Reads what a person writes or edits in a channel of a server, a thread or a direct chat, and buttons that are
pressed; anything else is refused with a sentence that names what it is. What a person passes on or answers is not that
person's word, and stays apart from it. Cards of links are left out, as their words are the link's.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from harness.channels.discord_content import attachments_of, bare, shared_by, shown_by, text_of
from harness.channels.discord_payload import Answered, Channel, Event, Interaction, Member, Message, User
from harness.channels.reading import read
from harness.errors import PayloadError, UnsupportedPayloadError
from harness.inbound import Attachment, Bot, Chat, ChatKind, InboundMessage, Quoted, Relation, Sender

CHANNEL: Final = "discord"

_DEFAULT: Final = 0
_REPLY: Final = 19
_COMMANDS: Final = frozenset({20, 23})
_THREADS: Final = frozenset({10, 11, 12})
"""Types of a `Channel` that are threads: of news, public and private."""
_FORWARD: Final = 1
_COMPONENT: Final = 3
_BUTTON: Final = 2
_EPOCH: Final = 1_420_070_400_000
"""The first millisecond of 2015, from which an id counts (Discord, "Snowflakes")."""
_DELETED: Final = "[deleted]"


def from_event(
    event: Mapping[str, object], *, bot: Bot | None = None, channel: Mapping[str, object] | None = None
) -> InboundMessage:
    """Read one event of the gateway: MESSAGE_CREATE, MESSAGE_UPDATE or INTERACTION_CREATE.

    Args:
        event: The event as it comes, with its name in `t` and what it tells in `d`.
        bot: Who the agent is, by which a server's messages are known that call it (the `user` of READY).
        channel: The channel as GUILD_CREATE or THREAD_CREATE told of it: a message does not say what its channel is
            called, nor that it is a thread. Without it a thread is a chat of its own, without a title.

    Raises:
        PayloadError: It is no such event; names the member that is missing or wrong.
        UnsupportedPayloadError: It is one, but nothing that a person says.
    """
    found = read(Event, event, "an event of Discord")
    if found.t in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
        return from_message(found.d, bot=bot, channel=channel, edited=found.t == "MESSAGE_UPDATE")
    if found.t == "INTERACTION_CREATE":
        return _pressed(read(Interaction, found.d, "an interaction of Discord"), channel)
    raise UnsupportedPayloadError(f"The event {bare(found.t)} of Discord is neither a message nor a pressed button.")


def from_message(
    message: Mapping[str, object],
    *,
    bot: Bot | None = None,
    channel: Mapping[str, object] | None = None,
    edited: bool = False,
) -> InboundMessage:
    """Read a message without the event around it.

    Args:
        message: What the event tells.
        bot: See `from_event`.
        channel: See `from_event`.
        edited: Whether it was there before.

    Raises:
        PayloadError: It is no message; names the member that is missing or wrong.
        UnsupportedPayloadError: It is one, but nothing that a person says.
    """
    if edited and "author" not in message:
        raise UnsupportedPayloadError("This update of a Discord message does not tell its words; nothing was edited.")
    found = read(Message, message, "a Discord message")
    _check(found, edited=edited)
    where, topic = _where(found.channel_id, found.guild_id, _channel(channel))
    text, shared = text_of(found), shared_by(found)
    quoted: list[Quoted] = []
    files: list[Attachment] = []
    answered, reference = found.referenced_message, found.message_reference
    passes_on = reference is not None and reference.type == _FORWARD
    if found.type == _REPLY and not passes_on:
        if answered is not None:
            quoted.append(Quoted(Relation.ANSWERED, text_of(answered) or shown_by(answered), _called(answered.author)))
            files += attachments_of(answered, Relation.ANSWERED)
        elif "referenced_message" in found.model_fields_set:
            quoted.append(Quoted(Relation.ANSWERED, _DELETED))
    for each in found.message_snapshots:
        quoted.append(Quoted(Relation.PASSED_ON, text_of(each.message) or shown_by(each.message)))
        files += attachments_of(each.message, Relation.PASSED_ON)
    if shared:
        quoted.append(Quoted(Relation.SHARED, shared))
    files += attachments_of(found, None)
    if not (text or shared or found.message_snapshots or files):
        raise UnsupportedPayloadError(
            f"Discord message {found.id} holds nothing that can be read; if it has words, the bot lacks the intent "
            "for the content of messages."
        )
    return InboundMessage(
        channel=CHANNEL,
        chat=where,
        sender=_sender(found.author, found.member),
        message_id=found.id,
        text=text,
        sent_at=_moment(found.timestamp, "timestamp"),
        quoted=tuple(each for each in quoted if each.text),
        attachments=tuple(files),
        topic=topic,
        mentioned=_mentions(found, bot),
        reply_to=(reference.message_id or "") if reference is not None and not passes_on else "",
        edited=edited,
        event_id=f"edit-{found.edited_timestamp}" if edited else "",
    )


def _check(message: Message, *, edited: bool) -> None:
    """Refuse what no person has written."""
    what = f"Discord message {message.id}"
    if message.type in _COMMANDS:
        raise UnsupportedPayloadError(f"{what} is a bot's answer to a command.")
    if message.type not in (_DEFAULT, _REPLY):
        raise UnsupportedPayloadError(f"{what} is of the type {message.type}, which Discord itself writes.")
    if message.webhook_id is not None:
        raise UnsupportedPayloadError(f"{what} was written by a webhook.")
    if message.author.bot or message.author.system:
        raise UnsupportedPayloadError(f"{what} was not written by a person.")
    if edited and message.edited_timestamp is None:
        raise UnsupportedPayloadError(f"{what} only got another look; its words are what they were.")


def _pressed(found: Interaction, told: Mapping[str, object] | None) -> InboundMessage:
    what = f"Discord interaction {found.id}"
    data, message, user = found.data, found.message, found.user or (found.member.user if found.member else None)
    if found.type != _COMPONENT or data is None or data.component_type != _BUTTON:
        raise UnsupportedPayloadError(f"{what} is no press on a button.")
    if message is None or found.channel_id is None or user is None or not data.custom_id:
        raise PayloadError(f"{what} does not tell who pressed what and where.")
    if user.bot:
        raise UnsupportedPayloadError(f"{what} was not caused by a person.")
    # A press tells itself that its channel is a thread, and a message does not; both belong to one conversation.
    own = found.channel if found.channel is not None and found.channel.type not in _THREADS else None
    where, topic = _where(found.channel_id, found.guild_id, _channel(told) or own)
    text = text_of(message) or shown_by(message)
    return InboundMessage(
        channel=CHANNEL,
        chat=where,
        sender=_sender(user, found.member),
        message_id=message.id,
        text="",
        sent_at=_moment_of(found.id),
        quoted=(Quoted(Relation.ANSWERED, text, _called(message.author)),) if text else (),
        topic=topic,
        mentioned=None if where.kind is ChatKind.DIRECT else True,
        reply_to=message.id,
        pressed=data.custom_id,
        event_id=f"press-{found.id}",
    )


def _channel(told: Mapping[str, object] | None) -> Channel | None:
    return None if told is None else read(Channel, told, "a Discord channel")


def _where(channel_id: str, guild_id: str | None, channel: Channel | None) -> tuple[Chat, str]:
    """The chat, and the thread in it."""
    if guild_id is None:
        return Chat(ChatKind.DIRECT, channel_id), ""
    title = (channel.name or "") if channel is not None else ""
    if channel is not None and channel.type in _THREADS and channel.parent_id is not None:
        return Chat(ChatKind.GROUP, channel.parent_id, title), channel_id
    return Chat(ChatKind.GROUP, channel_id, title), ""


def _sender(user: User, member: Member | None) -> Sender:
    nick = member.nick if member is not None else None
    return Sender(user.id, nick or user.global_name or user.username, user.username)


def _called(user: User | None) -> str:
    return "" if user is None else user.global_name or user.username


def _mentions(message: Message, bot: Bot | None) -> bool | None:
    if message.guild_id is None or bot is None:
        return None
    answered: Answered | None = message.referenced_message
    if answered is not None and answered.author is not None and answered.author.id == bot.id:
        return True
    return any(user.id == bot.id for user in message.mentions) or not bot.roles.isdisjoint(message.mention_roles)


def _moment(text: str, member: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise PayloadError(f"This is not a Discord message: {member}: it should be a time with a zone.")
    return moment


def _moment_of(snowflake: str) -> datetime:
    """When an id was made."""
    return datetime.fromtimestamp(((int(snowflake) >> 22) + _EPOCH) / 1000, UTC)
