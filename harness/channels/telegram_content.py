"""What a Telegram message shows besides its text: its files, and what it shares in place of words.

Pure.
"""

from collections.abc import Iterable
from typing import Final

from harness.channels.telegram_payload import Content, File, Sticker
from harness.inbound import Attachment, AttachmentKind, Relation

_FILES: Final = (
    # With an animation comes the same file as a document, for programs of before there were any.
    ("animation", AttachmentKind.VIDEO),
    ("document", AttachmentKind.DOCUMENT),
    ("voice", AttachmentKind.VOICE),
    ("audio", AttachmentKind.AUDIO),
    ("video", AttachmentKind.VIDEO),
    ("video_note", AttachmentKind.VIDEO),
)


def attachments_of(content: Content, relation: Relation | None) -> tuple[Attachment, ...]:
    """The files; of a photo the largest size."""
    found: list[Attachment] = []
    if content.photo:
        largest = max(content.photo, key=lambda size: (size.width * size.height, size.file_size or 0))
        found.append(
            Attachment(kind=AttachmentKind.IMAGE, file_id=largest.file_id, size=largest.file_size, relation=relation)
        )
    for name, kind in _FILES:
        file: File | None = getattr(content, name)
        if file is not None and not (name == "document" and content.animation is not None):
            found.append(
                Attachment(
                    kind=kind,
                    file_id=file.file_id,
                    name=file.file_name,
                    media_type=file.mime_type,
                    size=file.file_size,
                    relation=relation,
                )
            )
    if content.sticker is not None:
        found.append(_sticker(content.sticker, relation))
    return tuple(found)


def _sticker(sticker: Sticker, relation: Relation | None) -> Attachment:
    media_type = "image/webp"  # the three kinds that there are (Bot API, "Sticker")
    if sticker.is_animated:
        media_type = "application/x-tgsticker"
    elif sticker.is_video:
        media_type = "video/webm"
    return Attachment(
        kind=AttachmentKind.STICKER,
        file_id=sticker.file_id,
        name=sticker.emoji,
        media_type=media_type,
        size=sticker.file_size,
        relation=relation,
    )


def shared_by(content: Content) -> str:
    """What it shares in place of words, as a short text; empty when that is nothing."""
    return "\n".join(_shared(content))


def _shared(content: Content) -> Iterable[str]:
    if content.venue is not None:
        where = content.venue.location
        named = ", ".join(filter(None, (content.venue.title, content.venue.address)))
        yield f"A place: {named} ({where.latitude}, {where.longitude})."
    elif content.location is not None:
        where = content.location
        yield f"A point on the map: latitude {where.latitude}, longitude {where.longitude}."
    if content.contact is not None:
        contact = content.contact
        named = " ".join(filter(None, (contact.first_name, contact.last_name)))
        yield f"A contact: {named}, {contact.phone_number}."
    if content.poll is not None:
        yield f"A poll: {content.poll.question}"
        yield from (f"{number}. {option.text}" for number, option in enumerate(content.poll.options, 1))
    if content.dice is not None:
        yield f"{content.dice.emoji} came to {content.dice.value}."


def shown_by(content: Content) -> str:
    """What stands for a message without words that is quoted: what it shares, or what its files are."""
    kinds = dict.fromkeys(each.kind.value for each in attachments_of(content, None))
    return shared_by(content) or " ".join(f"[{kind}]" for kind in kinds)
