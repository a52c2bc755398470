"""What of an answer reaches the chat: nothing when the agent chose to stay silent, else the answer without our tokens.

Pure. One table for every trigger and channel (prompt-builder 11.1). A heartbeat's acknowledgement has rules of its own
beside these, see `harness.heartbeat.ack`.
"""

import json
import re
import unicodedata
from typing import Final, cast

from harness.heartbeat.ack import HEARTBEAT_TOKEN, strip_heartbeat_token

NO_REPLY: Final = "NO_REPLY"
"""The whole answer of an agent that keeps silent."""
_THOUGHTS: Final = re.compile(r"\A(?:\s*<(think|thinking|reasoning)>.*?</\1>)+", re.IGNORECASE | re.DOTALL)
_AT_AN_EDGE: Final = re.compile(rf"\A{NO_REPLY}(?![\w-])[ \t]*|[ \t]*(?<![\w-]){NO_REPLY}\Z")


def is_silence(text: str) -> bool:
    """Whether an answer says no more than that there is none, or ends so on a line of its own."""
    said = _THOUGHTS.sub("", text).strip()
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


def told(text: str) -> str:
    """What a chat is told of an answer; empty for nothing. For every turn but a heartbeat's."""
    if is_silence(text):
        return ""
    stripped = strip_heartbeat_token(text)
    left = stripped.text if stripped.stripped else text
    return _AT_AN_EDGE.sub("", left)


def may_become_silence(text: str) -> bool:
    """Whether what was streamed so far may still turn out to be silence, and is not to be shown yet."""
    begun = _trimmed(text).upper()
    return any(token.startswith(begun) for token in (NO_REPLY, HEARTBEAT_TOKEN))


def _is_token(text: str) -> bool:
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
