"""Entries of the additional context: how they are named, and how a text is cut into them.

Pure.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from codex_bridge.wording import CUT

CHUNK_BYTES: Final = 3_900
"""Bytes of one entry of the additional context; the server cuts the middle out of more than 4,000 (measured)."""
TURN_KEY: Final = "gateway_turn"
"""Keys of the entries that stand in for the turn's developer text. Letters, digits and `_`, as 0.171 wants them."""
CHANGED_KEY: Final = "gateway_changed"
QUOTED_KEY: Final = "gateway_quoted"
HISTORY_KEY: Final = f"{QUOTED_KEY}_history"
"""Of what was said in a chat before. What follows are the number of the last row of its transcript that is told so, how
many entries there are, and which of them this one is: by these names the thread's files say what it was told."""
MESSAGE_KEY: Final = "gateway_message"
"""Of what somebody else than the owner wrote to the agent."""
NAMED_KEY: Final = "gateway_chat"
"""Of what people outside call a chat and themselves."""
ONCE_KEY: Final = "gateway_note"
MOST_CHUNKS: Final = 24
"""Entries that one text may take; more is a mistake, and is cut with a word."""
GROUP: Final = "25_group"
"""The name of what we say of a group, among the entries of a turn."""
ABOUT: Final = "10_about"
"""The name of what stands over all that we say."""
_OF_CHAT: Final = (f"{NAMED_KEY}_", f"{TURN_KEY}_{GROUP}_", f"{TURN_KEY}_{ABOUT}_")
"""How the names of entries begin that say something of a chat; the last one stands over what the gateway says."""


def of_chat(keys: Iterable[str]) -> frozenset[str]:
    """Those of the names of entries under which something of a chat is said, and not of the agent."""
    return frozenset(key for key in keys if key.startswith(_OF_CHAT))


def entries(key: str, texts: Mapping[str, str]) -> dict[str, str]:
    """The entries of some texts, each cut into pieces that the server leaves whole."""
    return {
        f"{key}_{name}_{number:02}": piece
        for name, text in texts.items()
        for number, piece in enumerate(chunks(text), 1)
    }


def chunks(text: str) -> tuple[str, ...]:
    """Cut a text into pieces that the server leaves whole, at line ends where there are any, never in a character."""
    pieces: list[str] = []
    rest = text
    while rest and len(pieces) < MOST_CHUNKS:
        head = rest.encode("utf-8", "replace")[:CHUNK_BYTES].decode("utf-8", "ignore")
        if len(head) < len(rest):
            line = head.rfind("\n")
            head = head[: line + 1] if line > 0 else head
        pieces.append(head)
        rest = rest[len(head) :]
    if rest:
        pieces[-1] = f"{pieces[-1][: -len(CUT) - 1]}\n{CUT}"
    return tuple(pieces)
