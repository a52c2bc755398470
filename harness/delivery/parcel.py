"""What one message of an answer holds, as the ledger keeps it: one text, which is the text of the message for most.

Pure, but for `files`, which looks at the disk.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from harness.delivery.outbox import Abilities, Media
from harness.lean_values import dataclass
from harness.replies.gate import Reply, Say, Silent
from harness.replies.media import Dropped, MediaRules, checked, is_same

_MARK: Final = "\x1e"
"""Begins a text that holds more than words."""
NOT_SENT: Final = "A file that belongs here could not be sent."
"""What a chat is told in place of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One message on its way."""

    text: str = ""
    media: Media | None = None
    reply_to: str = ""
    """The channel's id of the message that it answers; empty for the one that the turn is about."""


def packed(parcel: Parcel) -> str:
    """The message as one text."""
    if parcel.media is None and not parcel.reply_to and not parcel.text.startswith(_MARK):
        return parcel.text
    import json  # few messages hold more than words

    media = parcel.media
    voiced = media is not None and media.voice
    return _MARK + json.dumps([parcel.text, media.source if media else "", voiced, parcel.reply_to])


def unpacked(kept: str) -> Parcel:
    """The message again; what is not understood is a text."""
    if not kept.startswith(_MARK):
        return Parcel(text=kept)
    import json

    try:
        text, source, voice, reply_to = map(str, json.loads(kept.removeprefix(_MARK)))
    except (ValueError, TypeError, RecursionError):
        return Parcel(text=kept.removeprefix(_MARK))
    media = Media(source=source, voice=voice == str(True)) if source else None
    return Parcel(text=text, media=media, reply_to=reply_to)


def is_file(kept: str) -> bool:
    """Whether a message is a file."""
    return kept.startswith(_MARK) and unpacked(kept).media is not None


def planned(reply: Say, can: Abilities, after: int = 0) -> dict[int, str]:
    """The messages of an answer, by place: its texts in the size that the channel takes, and then its files.

    Args:
        reply: The answer; its files may go out.
        can: What the channel can do.
        after: How many places are taken by what was shown: no file comes to stand at one of these, as no message of
            words becomes a file.
    """
    from harness.replies.chunks import chunks

    answering = reply.answering or ("",) * len(reply.texts)
    texts = [
        packed(Parcel(text=part, reply_to=to))
        for text, to in zip(reply.texts, answering, strict=True)
        for part in chunks(text, can.limit, can.unit)
    ]
    rows = dict(enumerate(texts))
    first = max(len(texts), after) if reply.media else 0
    return rows | {first + at: packed(Parcel(media=media)) for at, media in enumerate(reply.media)}


def deliverable(reply: Reply, rules: MediaRules, tell: Callable[[str], None]) -> Reply:
    """What a chat is told of a turn, see `files`; that a tool has told it where nothing is left of it."""
    if isinstance(reply, Silent):
        return reply
    found = files(reply, rules, tell)
    return found if found.texts or found.media else Silent(said=True)


def files(reply: Say, rules: MediaRules, tell: Callable[[str], None]) -> Say:
    """The answer with those of its files that may go out, each once, by their real paths.

    A copy of one of them is the same file.

    Args:
        reply: The answer.
        rules: Where files may be taken from.
        tell: Hears of each one that is left out.
    """
    if not reply.media:
        return reply
    gone = [found for source in reply.gone if isinstance(found := checked(source, rules), str)]
    kept: dict[str, Media] = {}
    left_out = False
    for media in reply.media:
        found = checked(media.source, rules)
        if isinstance(found, Dropped):
            tell(found.line)
            left_out = True
        elif not any(is_same(found, each) for each in (*gone, *kept)):
            kept[found] = replace(media, source=found)
    if left_out and not kept and not reply.texts:
        return replace(reply, texts=(NOT_SENT,), media=(), notice=True)
    return replace(reply, media=tuple(kept.values()))
