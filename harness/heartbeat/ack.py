"""Whether a reply merely acknowledges a heartbeat, and what is left of it without the token.

Pure. Silence by other tokens, and everything that a channel does, is decided elsewhere.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum

from harness.settings.heartbeat import ACK_MAX_CHARS, ack_limit
from harness.units import utf16_units

HEARTBEAT_TOKEN = "HEARTBEAT_OK"  # noqa: S105 - a word that a model answers with


class AckMode(Enum):
    """Where the reply comes from."""

    HEARTBEAT = "heartbeat"
    """A heartbeat turn: a short remainder is dropped along with the token."""
    MESSAGE = "message"
    """Any other turn: a stray token goes, the rest is kept."""


@dataclass(frozen=True, slots=True)
class Stripped:
    """A reply without its acknowledgement."""

    text: str
    """What is left to deliver; empty when `silent`."""
    silent: bool
    """True when nothing is to be delivered."""
    stripped: bool
    """True when a token, or a `notify=false` line, was found and taken off."""


_MARK = r"[*`~_]"
# The token with its own emphasis, as in **TOKEN**; never the beginning of a longer word.
_TOKEN = rf"(?P<mark>{_MARK}{{0,3}}){HEARTBEAT_TOKEN}(?!_*[A-Za-z0-9])(?P=mark)"
_LEADING = re.compile(rf"\s*(?:{_TOKEN}\s*)+")
_TRAILING = re.compile(rf"(?<![A-Za-z0-9_]){_TOKEN}(?P<tail>\W{{0,4}})\Z")
_REACH = 40
"""How far from the end a token with its marks and what may follow it can begin."""
_TAG = re.compile(r"<[^<>]*>|&nbsp;", re.IGNORECASE)
_OPENERS = {
    **{closer: opener for opener, closer in ("()", "[]", "{}", "<>", "（）", "【】", "「」", "『』", "«»", '""', "''")},  # noqa: RUF001
    "\N{RIGHT SINGLE QUOTATION MARK}": "\N{LEFT SINGLE QUOTATION MARK}",
    "”": "“„",
    "“": "„",
}
"""What a bracket or quotation mark may close."""
_UNSEEN = frozenset({"Cc", "Cf"})
_SAYS_NOTHING = re.compile(r"P.|Sm|C[cf]")
_EDGE_MARKS = " \t\r\n*`~_"
_NOTIFY_FALSE = re.compile(rf"{_MARK}*notify\s*=\s*false{_MARK}*", re.IGNORECASE)


def strip_heartbeat_token(
    text: str | None, *, mode: AckMode = AckMode.MESSAGE, ack_max_chars: str | float | None = ACK_MAX_CHARS
) -> Stripped:
    """Take the acknowledgement off the edges of a reply and say whether anything remains to be told.

    A token in the middle of a sentence stays. Where one was taken off, line breaks and repeated blanks become
    single blanks (prompt-builder 10.3).
    """
    trimmed = (text or "").strip()
    if not trimmed:
        return Stripped("", silent=True, stripped=False)
    if mode is AckMode.HEARTBEAT and _NOTIFY_FALSE.fullmatch(trimmed.splitlines()[-1].strip()):
        return Stripped("", silent=True, stripped=True)
    rest = _off_the_edges(trimmed)
    if rest is None:
        return Stripped(trimmed, silent=False, stripped=False)
    if not rest or (mode is AckMode.HEARTBEAT and utf16_units(rest) <= ack_limit(ack_max_chars)):
        return Stripped("", silent=True, stripped=True)
    return Stripped(rest, silent=False, stripped=True)


def _off_the_edges(trimmed: str) -> str | None:
    """Return what surrounds the tokens at the edges, or None when there is none."""
    if HEARTBEAT_TOKEN not in trimmed:
        return None
    rest = _peeled(trimmed)
    if rest is None:
        # Markup that spans more than the token hides it: look again without the markup.
        rest = _peeled(_TAG.sub(" ", trimmed).strip(_EDGE_MARKS))
    if rest is None:
        return None
    collapsed = " ".join(rest.split())
    return "" if _is_punctuation(_TAG.sub(" ", collapsed)) else collapsed


def _peeled(text: str) -> str | None:
    rest = text
    while True:
        if match := _LEADING.match(rest):
            rest = rest[match.end() :]
        elif match := _TRAILING.search(rest, max(0, len(rest) - _REACH)):
            rest = _joined(rest[: match.start()].rstrip(), match["tail"].strip())
        else:
            return None if rest is text else rest


def _joined(before: str, tail: str) -> str:
    """Join what stood around a token at the end: its full stop now ends the sentence before it.

    Brackets and quotation marks that stood around the token alone go with it.
    """
    if not before or not _is_punctuation(tail):
        return f"{before} {tail}".strip()
    tail = "".join(mark for mark in tail if unicodedata.category(mark) not in _UNSEEN)
    while before and tail and before[-1] in _OPENERS.get(tail[0], ""):
        before, tail = before[:-1].rstrip(), tail[1:].lstrip()
    return before if not before or _is_punctuation(before[-1]) else before + tail


def _is_punctuation(text: str) -> bool:
    """Whether `text` says nothing: marks, mathematical signs such as ">", and characters that nobody sees."""
    return all(mark in " `~" or _SAYS_NOTHING.match(unicodedata.category(mark)) for mark in text)
