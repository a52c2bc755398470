"""What a Discord message shows: its words without markup of ids, its files, and what it shares in place of words.

Pure.
"""

import re
from collections.abc import Mapping
from typing import Final

from harness.channels.discord_payload import Content, User
from harness.inbound import Attachment, AttachmentKind, Relation

_USER: Final = re.compile(r"<@!?([0-9]{1,20})>")
_EMOJI: Final = re.compile(r"<a?:(\w{1,32}):[0-9]{1,20}>", re.ASCII)
_ODD: Final = re.compile(r"[^\w.-]+")
LONGEST_NAME: Final = 32
"""Characters of a name at Discord."""
_STICKERS: Final[Mapping[int, str]] = {1: "image/png", 2: "image/apng", 3: "application/json", 4: "image/gif"}
"""Media types by `format_type` (Discord, "Sticker Format Types")."""


def bare(name: str) -> str:
    """A name as one word, with which nobody can write anything into the text of somebody else."""
    return _ODD.sub("_", name)[:LONGEST_NAME]


def text_of(content: Content) -> str:
    """Its words. Whoever is mentioned in them is called by the name of the account, as one word."""
    text = content.content
    if "<" not in text:
        return text
    users: dict[str, User] = {user.id: user for user in content.mentions}

    def named(found: re.Match[str]) -> str:
        user = users.get(found[1])
        return found[0] if user is None or not user.username else f"@{bare(user.username)}"

    return _EMOJI.sub(r":\1:", _USER.sub(named, text))


def attachments_of(content: Content, relation: Relation | None) -> tuple[Attachment, ...]:
    """Its files and stickers."""
    files = (
        Attachment(
            kind=_kind(each.content_type or "", voice=each.waveform is not None),
            file_id=each.url,
            name=each.filename,
            media_type=each.content_type or "",
            size=each.size,
            relation=relation,
        )
        for each in content.attachments
    )
    stickers = (
        Attachment(
            kind=AttachmentKind.STICKER,
            file_id=each.id,
            name=each.name,
            media_type=_STICKERS.get(each.format_type, ""),
            relation=relation,
        )
        for each in content.sticker_items
    )
    return (*files, *stickers)


def _kind(media_type: str, *, voice: bool) -> AttachmentKind:
    if voice:
        return AttachmentKind.VOICE
    kinds = {"image": AttachmentKind.IMAGE, "audio": AttachmentKind.AUDIO, "video": AttachmentKind.VIDEO}
    return kinds.get(media_type.partition("/")[0], AttachmentKind.DOCUMENT)


def shared_by(content: Content) -> str:
    """What it shares in place of words, as a short text; empty when that is nothing."""
    if content.poll is None:
        return ""
    answers = (f"{number}. {each.poll_media.text or ''}" for number, each in enumerate(content.poll.answers, 1))
    return "\n".join((f"A poll: {content.poll.question.text or ''}", *answers))


def shown_by(content: Content) -> str:
    """What stands for a message without words that is quoted: its cards, what it shares, or what its files are."""
    cards = "\n".join(text for each in content.embeds for text in (each.title, each.description) if text)
    kinds = dict.fromkeys(each.kind.value for each in attachments_of(content, None))
    return cards or shared_by(content) or " ".join(f"[{kind}]" for kind in kinds)
