"""What was said in each chat, so that a fresh conversation of a backend can go on where another one ended.

The rows of a chat are numbered, and each conversation knows them up to a number (`Holds.heard`). What a backend's own
turn said is known to its conversation already; what was said elsewhere, in an isolated run for instance, is not.
Blocks: called within a transaction of the store.
"""

import sqlite3
import time
from collections.abc import Iterator
from enum import Enum
from typing import Final

from harness.lean_values import dataclass


class Occasion(Enum):
    """Why something was said."""

    CHAT = "chat"
    HEARTBEAT = "heartbeat"
    SCHEDULED = "scheduled"


_OCCASIONS: Final = {each.value: each for each in Occasion}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """An exchange, as the chat saw it."""

    answered: str
    """What the agent said, as it was delivered; empty when it said nothing."""
    said: str = ""
    """A person's words before it; empty when the agent began by itself."""
    occasion: Occasion = Occasion.CHAT
    conversation: str = ""
    """The backend's conversation that has it in its own history; empty for none that lasts, and as long as nobody knows
    whether it has."""
    turn: str = ""
    """The backend's id of the turn, or that of the message where a loss left no other."""
    at: float = 0.0
    """Unix seconds; 0 for the time at which it is kept."""


@dataclass(frozen=True, slots=True)
class TranscriptLimits:
    """How much is kept of each chat."""

    exchanges: int = 200
    """The last ones are kept; 0 keeps nothing."""
    text: int = 8_000
    """UTF-16 units of each text; what is longer is cut."""


_INSERT: Final = (
    "INSERT INTO transcript (session_key, seq, said_at, kind, conversation, turn, said, answered)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_LAST: Final = "SELECT COALESCE(MAX(seq), 0) FROM transcript WHERE session_key = ?"
_UNHEARD: Final = (
    "SELECT said, answered, kind, conversation, turn, said_at FROM transcript"
    " WHERE session_key = ? AND seq > ? AND (conversation != ? OR conversation = '') ORDER BY seq DESC"
)
_TURNS: Final = (
    "SELECT turn FROM transcript WHERE session_key = ? AND seq > ? AND conversation IN (?, '') AND turn != ''"
)
_CLAIM: Final = "UPDATE transcript SET conversation = ? WHERE session_key = ? AND conversation = '' AND turn = ?"
_RELEASE: Final = "UPDATE transcript SET conversation = '' WHERE session_key = ? AND conversation = ? AND turn = ?"


def last_of(connection: sqlite3.Connection, session_key: str) -> int:
    """The number of a chat's last row; 0 when there is none."""
    return int(connection.execute(_LAST, (session_key,)).fetchone()[0])


def append(
    connection: sqlite3.Connection,
    session_key: str,
    spoken: Spoken,
    limits: TranscriptLimits,
    *,
    last: int | None = None,
) -> int:
    """Add a row, and drop those that are too many; gives its number, or that of the last row when none is kept.

    Args:
        connection: The store.
        session_key: The chat.
        spoken: What was said there.
        limits: How much is kept.
        last: The number of the last row, from this same transaction; looked up when left out.
    """
    last = last_of(connection, session_key) if last is None else last
    if limits.exchanges <= 0:
        return last
    texts = (_kept(spoken.said, limits.text), _kept(spoken.answered, limits.text))
    row = (session_key, last + 1, spoken.at or time.time(), spoken.occasion.value, spoken.conversation, spoken.turn)
    connection.execute(_INSERT, (*row, *texts))
    if last >= limits.exchanges:
        connection.execute(
            "DELETE FROM transcript WHERE session_key = ? AND seq <= ?", (session_key, last + 1 - limits.exchanges)
        )
    return last + 1


def unheard(connection: sqlite3.Connection, session_key: str, conversation: str, heard: int) -> Iterator[Spoken]:
    """What a conversation does not know of its chat, newest first.

    Args:
        connection: The store.
        session_key: The chat.
        conversation: The backend's id of the conversation; what it said itself it knows.
        heard: The number of the last row that it was told.
    """
    for said, answered, kind, where, turn, at in connection.execute(_UNHEARD, (session_key, heard, conversation)):
        yield Spoken(
            said=str(said),
            answered=str(answered),
            occasion=_OCCASIONS.get(kind, Occasion.CHAT),
            conversation=str(where),
            turn=str(turn),
            at=float(at),
        )


def turns_since(connection: sqlite3.Connection, session_key: str, conversation: str, heard: int) -> frozenset[str]:
    """The turns after the row `heard` of a chat that a conversation has in its history, or may have."""
    return frozenset(str(turn) for (turn,) in connection.execute(_TURNS, (session_key, heard, conversation)))


def correct(
    connection: sqlite3.Connection,
    session_key: str,
    conversation: str,
    *,
    has: frozenset[str],
    lacks: frozenset[str],
) -> int:
    """Set right which turns a conversation has in its own history: those of `has`, and none of `lacks`.

    Gives how many of the latter it was thought to have.
    """
    connection.executemany(_CLAIM, [(conversation, session_key, turn) for turn in has])
    return connection.executemany(_RELEASE, [(session_key, conversation, turn) for turn in lacks]).rowcount


def _kept(text: str, limit: int) -> str:
    """The text as the store can hold it: without halves of characters, and within the limit."""
    if len(text) * 2 > limit:
        from harness.workspace.boundaries import head  # most messages are short

        shorter = head(text, limit)
        text = shorter if shorter == text else f"{shorter} […]"
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
