"""What is called of Telegram's Bot API for what goes out (core.telegram.org/bots/api).

A call without files is a JSON body; one with files is a multipart form, where each value that is no text goes as JSON.
The Markdown of an answer is sent as HTML, of which only our own tags are tags, and as it is where Telegram cannot read
that. Telegram knows no keys: what may have been sent is sent once more with a remark.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from harness.delivery.outbox import Abilities, Media, NotSentError, Outgoing, Reaction
from harness.json_value import Json
from harness.outboxes.calls import Answer, Call, Caller, File, NoAnswerError, checked_size, is_number, refused
from harness.outboxes.telegram_html import as_html
from harness.units import TextUnit, utf16_units

MOST: Final = 4096
"""UTF-16 units of a message's text, after its tags were read."""
MOST_CAPTION: Final = 1024
"""The same of the text under a file."""
MOST_PHOTO: Final = 10 * 1024 * 1024
"""Bytes of a picture that is shown as one; a larger one goes as a document."""
MOST_FILE: Final = 50 * 1024 * 1024
"""Bytes of any other file that a bot may upload."""
_HIGHEST: Final = 2**31 - 1
"""Of a message's id and of a topic's."""
_NOT_READ: Final = ("can't parse entities", "text is empty", "text must be non-empty")
"""What Telegram says where it makes nothing of our HTML, such as of a block without a word in it."""
_METHODS: Final[Mapping[str, str]] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp"), "photo"),
    ".gif": "animation",
    **dict.fromkeys((".mp4", ".mov"), "video"),
    **dict.fromkeys((".mp3", ".m4a"), "audio"),
}
_VOICES: Final = frozenset({".ogg", ".oga", ".opus", ".mp3", ".m4a"})
"""What Telegram plays as a voice message."""


class TelegramOutbox:
    """The way to Telegram's chats.

    Args:
        caller: Calls the API; `Call.path` is the name of the method.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def can(self, channel: str) -> Abilities:
        """See `Outbox`."""
        del channel
        return Abilities(edits=True, withdraws=True, reacts=True, limit=MOST, unit=TextUnit.UTF16)

    async def send(self, outgoing: Outgoing) -> str:
        """See `Outbox`. Of several messages, as files make them, it gives the id of the first one."""
        where = _where(outgoing)
        if not outgoing.media:
            return await self._say("sendMessage", {**where, **_buttons(outgoing)}, "text", outgoing.text)
        first, text = "", outgoing.text
        each_file = [_file(media, checked_size(media)) for media in outgoing.media]
        if utf16_units(text) > MOST_CAPTION:
            first, text = await self._say("sendMessage", where, "text", text), ""
        for at, (body, files) in enumerate(each_file):
            last = at == len(each_file) - 1
            kind = next(iter(body), "") or files[0].field
            body = {**where, **body, **(_buttons(outgoing) if last else {})}
            caption = text if at == 0 else ""
            try:
                sent = await self._say(f"send{kind.capitalize()}", body, "caption", caption, files)
            except NotSentError as error:
                if not first:
                    raise
                raise NoAnswerError(f"Only a part was sent: {error}") from error
            first = first or sent
        return first

    async def edit(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`."""
        body = {"chat_id": outgoing.chat, "message_id": _number(sent_as), **_buttons(outgoing)}
        await self._say("editMessageText", body, "text", outgoing.text, passable="message is not modified")

    async def withdraw(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`."""
        body: dict[str, Json] = {"chat_id": outgoing.chat, "message_id": _number(sent_as)}
        answer = await self._call("deleteMessage", body)
        if answer.status != 200 and "message to delete not found" not in _said(answer):
            raise _refused(answer)

    async def react(self, reaction: Reaction) -> None:
        """See `Reacts`."""
        emoji: Json = [] if reaction.removed else [{"type": "emoji", "emoji": reaction.emoji}]
        body: dict[str, Json] = {
            "chat_id": reaction.chat,
            "message_id": _number(reaction.message),
            "reaction": emoji,
        }
        answer = await self._call("setMessageReaction", body)
        if answer.status != 200:
            raise _refused(answer)

    async def _say(
        self,
        method: str,
        body: Mapping[str, Json],
        field: str,
        text: str,
        files: tuple[File, ...] = (),
        *,
        passable: str = "",
    ) -> str:
        """Call with a text, as HTML and then as it is; gives the id of the message."""
        formatted: dict[str, Json] = {field: as_html(text), "parse_mode": "HTML"} if text else {}
        answer = await self._call(method, {**body, **formatted}, files)
        if answer.status == 400 and any(each in _said(answer) for each in _NOT_READ):
            answer = await self._call(method, {**body, field: text}, files)
        if answer.status != 200:
            if passable and passable in _said(answer):
                return ""
            raise _refused(answer)
        result = answer.body.get("result")
        return str(result.get("message_id", "")) if isinstance(result, dict) else ""

    async def _call(self, method: str, body: Mapping[str, Json], files: tuple[File, ...] = ()) -> Answer:
        answer = await self._caller.call(Call(verb="POST", path=method, body=body, files=files))
        parameters = answer.body.get("parameters")
        moved = parameters.get("migrate_to_chat_id") if isinstance(parameters, dict) else None
        if answer.status != 400 or not isinstance(moved, int):
            return answer
        # The group became a supergroup, which has another id.
        body = {**body, "chat_id": str(moved)}
        return await self._caller.call(Call(verb="POST", path=method, body=body, files=files))


def _where(outgoing: Outgoing) -> dict[str, Json]:
    body: dict[str, Json] = {"chat_id": outgoing.chat}
    if outgoing.topic:
        body["message_thread_id"] = _number(outgoing.topic)
    if is_number(outgoing.reply_to, _HIGHEST):  # the model may have named something else
        body["reply_parameters"] = {"message_id": int(outgoing.reply_to), "allow_sending_without_reply": True}
    return body


def _buttons(outgoing: Outgoing) -> dict[str, Json]:
    if not outgoing.buttons:
        return {}
    rows: Json = [[{"text": each.label, "callback_data": each.data} for each in row] for row in outgoing.buttons]
    return {"reply_markup": {"inline_keyboard": rows}}


def _file(media: Media, size: int | None) -> tuple[dict[str, Json], tuple[File, ...]]:
    """The parameter of a file that Telegram fetches itself, or the part of the form for one that is uploaded."""
    path = PurePath(media.source.partition("?")[0] if size is None else media.source)
    ending = path.suffix.lower()
    kind = "voice" if media.voice and ending in _VOICES else _METHODS.get(ending, "document")
    if size is None:
        return {kind: media.source}, ()
    if kind == "photo" and size > MOST_PHOTO:
        kind = "document"
    if size > MOST_FILE:
        raise NotSentError(f"The file {media.source} has more than the 50 MB that Telegram takes.", for_good=True)
    return {}, (File(kind, media.source, path.name),)


def _number(id_: str) -> int:
    if not is_number(id_, _HIGHEST):
        raise NotSentError(f"{id_!r} is no id of a Telegram message.", for_good=True)
    return int(id_)


def _said(answer: Answer) -> str:
    return str(answer.body.get("description", ""))


def _refused(answer: Answer) -> Exception:
    parameters = answer.body.get("parameters")
    retry_after = parameters.get("retry_after") if isinstance(parameters, dict) else None
    # 404 stands for a wrong token, which somebody will correct.
    return refused("Telegram", answer, _said(answer), retry_after, for_good=answer.status != 404)
