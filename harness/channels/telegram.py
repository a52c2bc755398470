"""A Telegram Bot API `Update`, as it comes, becomes an inbound message.

Pure. Reads what a person writes, edits or presses in a private chat, a group or a topic, and what is posted in a
channel; anything else is refused with a sentence that names what it is. What a person passes on, quotes or answers is
not that person's word, and stays apart from it. Of an album each picture is a message of its own, as it comes.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from harness.channels.reading import read
from harness.channels.telegram_content import attachments_of, shared_by, shown_by
from harness.channels.telegram_payload import Callback, Entity, Message, Pressed, Update
from harness.errors import UnsupportedPayloadError
from harness.inbound import Attachment, Bot, Chat, ChatKind, InboundMessage, Quoted, Relation, Sender

CHANNEL: Final = "telegram"

_UNREAD: Final = frozenset({"checklist", "game", "giveaway", "giveaway_winners", "invoice", "paid_media", "story"})
"""Members of a `Message` that hold content of which nothing is read (Bot API, "Message")."""
_SERVICE: Final = frozenset(
    {
        "boost_added", "channel_chat_created", "chat_background_set", "chat_owner_changed", "chat_owner_left",
        "chat_shared", "checklist_tasks_added", "checklist_tasks_done", "connected_website", "delete_chat_photo",
        "direct_message_price_changed", "forum_topic_closed", "forum_topic_created", "forum_topic_edited",
        "forum_topic_reopened", "general_forum_topic_hidden", "general_forum_topic_unhidden", "gift",
        "gift_upgrade_sent", "giveaway_completed", "giveaway_created", "group_chat_created", "left_chat_member",
        "message_auto_delete_timer_changed", "migrate_from_chat_id", "migrate_to_chat_id", "new_chat_members",
        "new_chat_photo", "new_chat_title", "paid_message_price_changed", "passport_data", "pinned_message",
        "proximity_alert_triggered", "refunded_payment", "successful_payment", "suggested_post_approval_failed",
        "suggested_post_approved", "suggested_post_declined", "suggested_post_paid", "suggested_post_refunded",
        "supergroup_chat_created", "unique_gift", "users_shared", "video_chat_ended",
        "video_chat_participants_invited", "video_chat_scheduled", "video_chat_started", "web_app_data",
        "write_access_allowed",
    }
)  # fmt: skip
"""Members of a `Message` that Telegram itself writes about a chat (Bot API, "Message", "Service message")."""


def from_update(update: Mapping[str, object], *, bot: Bot | None = None) -> InboundMessage:
    """Read one `Update`.

    Args:
        update: The update.
        bot: Who the agent is, by which a group's messages are known that call it (Bot API, `getMe`).

    Raises:
        PayloadError: It is no `Update`; names the member that is missing or wrong.
        UnsupportedPayloadError: It is one, but nothing that a person or a channel says.
    """
    parsed = read(Update, update, "a Telegram update")
    number = parsed.update_id
    if parsed.callback_query is not None:
        return _pressed(parsed.callback_query, number)
    edit = parsed.edited_message or parsed.edited_channel_post
    message = parsed.message or parsed.channel_post or edit
    if message is None:
        kinds = ", ".join(sorted(parsed.model_extra or {})) or "nothing"
        raise UnsupportedPayloadError(f"Telegram update {number} holds {kinds}, not a message.")
    return _read(message, number, edited=message is edit, bot=bot)


def _read(message: Message, number: int, *, edited: bool, bot: Bot | None) -> InboundMessage:
    sender = _sender(message, number)
    text = message.text or message.caption
    shared = shared_by(message)
    if edited and message.location is not None:
        raise UnsupportedPayloadError(f"Telegram update {number} moves a live location; nothing is said with it.")
    author = message.author
    relation = None if author is None else Relation.PASSED_ON
    files = attachments_of(message, relation)
    if not (text or shared or files):
        raise UnsupportedPayloadError(_why_not(message, number))
    quoted = [*_answered(message)]
    if author is not None:
        quoted += [Quoted(Relation.PASSED_ON, each, author) for each in (text, shared) if each]
    elif shared:
        quoted.append(Quoted(Relation.SHARED, shared))
    answered = message.reply_to_message
    return InboundMessage(
        channel=CHANNEL,
        chat=_chat(message),
        sender=sender,
        message_id=str(message.message_id),
        text=text if author is None else "",
        sent_at=datetime.fromtimestamp(message.date, UTC),
        quoted=tuple(quoted),
        attachments=(*_files_answered(message), *files),
        topic=_topic(message),
        mentioned=_mentions(message, own=author is None, bot=bot),
        reply_to="" if answered is None or answered.forum_topic_created is not None else str(answered.message_id),
        edited=edited,
        event_id=f"edit-{message.edit_date or message.date}" if edited else "",
    )


def _why_not(message: Message, number: int) -> str:
    members = set(message.model_extra or {})
    if found := sorted(members & _SERVICE):
        return f"Telegram update {number} is a service message ({', '.join(found)}); there is nothing to answer."
    if found := sorted(members & _UNREAD):
        return f"Telegram update {number} holds {' and '.join(found)}, of which nothing is read."
    return f"Telegram update {number} holds neither text nor anything else that is read."


def _pressed(callback: Callback, number: int) -> InboundMessage:
    message = callback.message
    if callback.sender.is_bot:
        raise UnsupportedPayloadError(f"Telegram update {number} was not caused by a person.")
    if message is None or not callback.data:
        lacks = "the message that its button hangs on" if message is None else "what its button carries"
        raise UnsupportedPayloadError(f"Telegram update {number} is a press that does not say {lacks}.")
    text = message.text or message.caption or shown_by(message)
    chat = _chat(message)
    return InboundMessage(
        channel=CHANNEL,
        chat=chat,
        sender=Sender(str(callback.sender.id), callback.sender.full_name, callback.sender.username),
        message_id=str(message.message_id),
        text="",
        # Telegram does not say when somebody pressed.
        sent_at=datetime.fromtimestamp(message.date, UTC),
        quoted=(Quoted(Relation.ANSWERED, text, message.author),) if text else (),
        topic=_topic(message),
        mentioned=None if chat.kind is ChatKind.DIRECT else True,
        reply_to=str(message.message_id),
        pressed=callback.data,
        event_id=f"press-{callback.id}",
    )


def _chat(message: Message | Pressed) -> Chat:
    chat = message.chat
    kind = ChatKind.DIRECT if chat.type == "private" else ChatKind.GROUP
    return Chat(kind, str(chat.id), chat.title)


def _topic(message: Message | Pressed) -> str:
    # A thread of answers in a group without topics has a number as well, and is part of the group's conversation.
    return str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else ""


def _sender(message: Message, number: int) -> Sender:
    """A person, or a chat that writes in its own name: an anonymous administrator, or a channel."""
    behalf = message.sender_chat or (message.chat if message.chat.type == "channel" else None)
    if behalf is not None:
        named = behalf.title or behalf.username
        signed = f"{message.author_signature} ({named})" if message.author_signature else named
        return Sender(str(behalf.id), signed, behalf.username)
    person = message.sender
    if person is None or person.is_bot:
        raise UnsupportedPayloadError(f"Telegram update {number} was not written by a person.")
    return Sender(str(person.id), person.full_name, person.username)


def _answered(message: Message) -> Iterable[Quoted]:
    """What a message answers: the part that its sender marked, else all of it."""
    answered, outside = message.reply_to_message, message.external_reply
    text = message.quote.text if message.quote else ""
    author = ""
    if answered is not None:
        text = text or answered.text or answered.caption or shown_by(answered)
        author = answered.author
    elif outside is not None:
        text = text or shown_by(outside)
        author = outside.origin.author if outside.origin is not None else ""
    return (Quoted(Relation.ANSWERED, text, author),) if text else ()


def _files_answered(message: Message) -> Iterable[Attachment]:
    """The files of what a message answers, which it may ask about."""
    answered = message.reply_to_message or message.external_reply
    return () if answered is None else attachments_of(answered, Relation.ANSWERED)


def _mentions(message: Message, *, own: bool, bot: Bot | None) -> bool | None:
    """Whether a message calls the bot; in what its sender passes on nobody calls anybody."""
    if message.chat.type == "private" or bot is None:
        return None
    answered = message.reply_to_message
    # In a topic whose first message is the bot's, every message seems to answer it.
    writer = None if answered is None or answered.forum_topic_created is not None else answered.sender
    if writer is not None and str(writer.id) == bot.id:
        return True
    if not own:
        return False
    text = message.text or message.caption
    return any(_calls(each, text, bot) for each in (message.entities if message.text else message.caption_entities))


def _calls(entity: Entity, text: str, bot: Bot) -> bool:
    if entity.type == "text_mention":
        return entity.user is not None and str(entity.user.id) == bot.id
    if entity.type not in ("mention", "bot_command") or not bot.username:
        return False
    units = text.encode("utf-16-le", "surrogatepass")
    start = 2 * max(entity.offset, 0)
    marked = units[start : start + 2 * max(entity.length, 0)].decode("utf-16-le", "replace")
    return marked.rpartition("@")[2].casefold() == bot.username.casefold() and "@" in marked
