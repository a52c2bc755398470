"""What an answer says about its delivery, parsed off before it is delivered.

Pure (prompt-builder 11.3):

    MEDIA:<path-or-url>       on a line of its own: the file goes along
    [[audio_as_voice]]        its sound files are played as voice messages
    [[reply_to_current]]      it answers the message that the turn is about, as it does anyway
    [[reply_to:<id>]]         it answers another one

In code, and a tag between back quotes, they are words like any other.
"""

import re
from typing import Final

from harness.lean_values import dataclass

MEDIA: Final = "MEDIA:"
LONGEST_ID: Final = 256
"""Characters of a message's id; a longer one is no id (prompt-builder 11.3)."""
_QUOTED: Final = re.compile(r"""(["'`]).+\1|<.+>""")
_BEGINS_PATH: Final = ("/", "~/", "./", "../")
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{2,5}\Z")
_TAG: Final = re.compile(
    r"\[\[[ \t]*(?:(audio_as_voice)[ \t]*|(reply_to_current)[ \t]*|reply_to[ \t]*:([^\[\]\n]*))\]\][ \t]*",
    re.IGNORECASE,
)
"""No two of its parts take the same characters one after the other: a model may write thousands of blanks."""
_NAMES: Final = ("audio_as_voice", "reply_to_current", "reply_to:")


@dataclass(frozen=True, slots=True)
class Directed:
    """An answer, and what it says about its delivery."""

    text: str
    media: tuple[str, ...] = ()
    """Paths and addresses as the model wrote them, each once."""
    voice: bool = False
    reply_to: str = ""
    """The channel's id of the message that it answers; empty for the one that the turn is about."""


def directed(text: str) -> Directed:
    """Parse the directives off an answer. A line that held nothing else goes with them."""
    if "[[" not in text and MEDIA not in text:
        return Directed(text)
    from harness.replies.code import outside, spans  # few answers hold one

    kept: list[str] = []
    media: dict[str, None] = {}
    voice, reply_to, at = False, "", 0
    for start, end in outside(text):
        kept.append(text[at:start])
        line, at = text[start:end], end
        if (named := _media(line)) is not None:
            media[named] = None
            continue
        code = spans(line)
        tags = [tag for tag in _TAG.finditer(line) if not any(first <= tag.start() < last for first, last in code)]
        voice = voice or any(tag[1] for tag in tags)
        ids = (tag[3].strip() for tag in tags if tag[3])
        reply_to = next((each for each in ids if 0 < len(each) <= LONGEST_ID), reply_to)
        for tag in reversed(tags):
            line = line[: tag.start()] + line[tag.end() :]
        if not tags or line.strip():
            kept.append(line)
    rest = "".join([*kept, text[at:]])
    return Directed(rest if rest == text else rest.strip("\n"), tuple(media), voice, reply_to)


def without_directives(text: str) -> str:
    """What may be shown of an answer that is still being said: without directives, and without half of one."""
    said = directed(text).text
    last = text[text.rfind("\n") + 1 :]
    if not _may_be_media(last) and not _may_be_tag(last):
        return said
    from harness.replies.code import outside

    start = len(text) - len(last)
    if all(at != start for at, _ in outside(text)):
        return said  # it is code
    if _may_be_media(last):
        return directed(text[:start]).text
    return directed(text[: start + _begun_tag(last)]).text


def _media(line: str) -> str | None:
    """What a line names, if it is a directive."""
    if MEDIA not in line:
        return None
    said = line.lstrip(" \t").rstrip()
    ticks = said[: len(said) - len(said.lstrip("`"))]
    if len(ticks) > 2 or not said.startswith(MEDIA, len(ticks)) or not said.endswith(ticks):
        return None
    named = said[len(ticks) + len(MEDIA) : len(said) - len(ticks)].strip()
    if _QUOTED.fullmatch(named):
        return named[1:-1].strip() or None
    return named if _is_path(named) else None


def _is_path(named: str) -> bool:
    """Whether it is a path or an address; what has blanks in it and begins like none has to end like a file's name."""
    if named.startswith(_BEGINS_PATH) or _ENDING.search(named[-6:]):
        return True
    return len(named.split()) == 1 and any(sign in named[:-1] for sign in "/.")


def _may_be_media(line: str) -> bool:
    """Whether the last line may become a directive, or be a longer one."""
    begun = line.lstrip(" \t`")
    if not begun:
        return line.strip() in ("`", "``")
    return MEDIA.startswith(begun) or begun.startswith(MEDIA)


def _may_be_tag(line: str) -> bool:
    """Whether the last line ends with what may become one."""
    start = _begun_tag(line)
    if start < 0:
        return False
    begun = "".join(line[start:].lstrip("[").rstrip("]").split()).lower()
    return any(name.startswith(begun) for name in _NAMES) or begun.startswith("reply_to:")


def _begun_tag(line: str) -> int:
    """Where a tag begins that is not over at the end of a line; -1 for none."""
    begun = line.removesuffix("]")
    start = begun.rfind("[[", begun.rfind("]") + 1)
    return len(line) - 1 if start < 0 and line.endswith("[") else start
