"""The tokens by which an agent says that there is nothing to say, and what is left of a text without them.

Pure. One table for every trigger and channel (prompt-builder 10.3 and 11.1); of a heartbeat's answer a short remainder
is dropped along with the token, see `harness.heartbeat.ack`.
"""

import json
import re
import unicodedata
from typing import Final, cast

from harness.heartbeat.ack import HEARTBEAT_TOKEN, AckMode, strip_heartbeat_token
from harness.settings.heartbeat import ACK_MAX_CHARS

NO_REPLY: Final = "NO_REPLY"
"""The whole answer of an agent that keeps silent."""
_TOKENS: Final = (NO_REPLY, HEARTBEAT_TOKEN)
_AS_JSON: Final = '{"action":"NO_REPLY"}'
_WORD: Final = re.compile(r"[\w-]")
_MARKUP: Final = re.compile(r"<[^<>]*(?:>|\Z)|&nbsp;|&(?:n(?:b(?:sp?)?)?)?\Z", re.IGNORECASE)
_BEGUN: Final = "|".join(token[:size] for token in _TOKENS for size in range(len(token), 0, -1))
_UNDECIDED: Final = re.compile(rf"[ \t]*(?<![\w-])[*`~_]{{0,3}}(?:{_BEGUN})\Z")
"""What may still become a token at the end of a longer line, where case counts."""
_REACH: Final = 64
"""Characters from the end in which that begins."""


def is_silence(text: str) -> bool:
    """Whether an answer says no more than that there is none, or ends so on a line of its own."""
    said = _plain(text).strip()
    if not said:
        return False
    if _is_token(said) or _is_token(said.splitlines()[-1]):
        return True
    if said[0] not in '"{':
        return False
    try:
        value = cast("object", json.loads(said))
    except (ValueError, RecursionError):
        return False
    return value in (NO_REPLY, {"action": NO_REPLY})


def told(text: str, *, mode: AckMode = AckMode.MESSAGE, ack_max_chars: str | float | None = ACK_MAX_CHARS) -> str:
    """What a chat is told of an answer, without thoughts, directives and tokens; empty for nothing.

    Args:
        text: The answer.
        mode: Whether a heartbeat gave it.
        ack_max_chars: How long what stands beside a heartbeat's token may be and still be dropped with it.
    """
    text = _plain(text)
    if is_silence(text):
        return ""
    stripped = strip_heartbeat_token(text, mode=mode, ack_max_chars=ack_max_chars)
    left = stripped.text if stripped.stripped else text
    return _without_edges(left)


def _without_edges(text: str) -> str:
    """Take our token off the edges of a text, where it is no part of a longer word."""
    if NO_REPLY not in text:
        return text
    begun = text.lstrip()
    if begun.startswith(NO_REPLY) and not _WORD.match(begun, len(NO_REPLY)):
        text = begun[len(NO_REPLY) :].lstrip(" \t")
    ended = text.rstrip()
    if ended.endswith(NO_REPLY) and not _WORD.match(ended[-len(NO_REPLY) - 1 : -len(NO_REPLY)]):
        text = ended[: -len(NO_REPLY)].rstrip(" \t")
    return text


def may_become_silence(text: str) -> bool:
    """Whether what was streamed so far may still turn out to be silence, and is not to be shown yet."""
    if _may_become_tokens(_MARKUP.sub("", text)):
        return True
    begun = text.lstrip()
    return begun.startswith("{") and _AS_JSON.startswith("".join(begun.split()))


def showable(text: str) -> str:
    """What may be shown of an answer that is still being said; empty for nothing yet.

    It never ends with a part of a token, a directive or a tag of thoughts: what may still become one is held back until
    it is clear. A whole text that ends with a token on its last line was not known for silence before.
    """
    from harness.replies.directives import without_directives  # who only starts a server shows nothing
    from harness.replies.thoughts import without_thoughts

    text = without_directives(without_thoughts(text, streamed=True))
    if not text or may_become_silence(text):
        return ""
    start = len(text) - len(text.splitlines(keepends=True)[-1])
    if _may_become_tokens(text[start:]):
        text = text[:start]
    text = text.rstrip()
    return told(text[:-_REACH] + _UNDECIDED.sub("", text[-_REACH:])).rstrip()


def _plain(text: str) -> str:
    """An answer without thoughts and directives, of which few have any."""
    if "<" in text:
        from harness.replies.thoughts import without_thoughts

        text = without_thoughts(text)
    if "[[" in text or "MEDIA:" in text:
        from harness.replies.directives import directed

        text = directed(text).text
    return text


def _may_become_tokens(text: str) -> bool:
    """Whether the words may all turn out to be tokens, if more comes."""
    *whole, last = [_trimmed(word).upper() for word in _trimmed(text).split()] or [""]
    return all(word in _TOKENS for word in whole) and any(token.startswith(last) for token in _TOKENS)


def _is_token(text: str) -> bool:
    if NO_REPLY not in text.upper():  # nearly every answer; to look at its edges takes longer
        return False
    words = _trimmed(text).split()
    return bool(words) and all(_trimmed(word).upper() == NO_REPLY for word in words)


def _trimmed(text: str) -> str:
    """Take blanks, punctuation and markup off the edges."""
    start, end = 0, len(text)
    while start < end and _is_edge(text[start]):
        start += 1
    while end > start and _is_edge(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_edge(sign: str) -> bool:
    return sign.isspace() or sign in "`~" or unicodedata.category(sign)[0] == "P"
