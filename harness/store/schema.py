"""The tables of a store, and how an older store is brought up to date.

Blocks: call it from a thread.
"""

import sqlite3
from pathlib import Path
from typing import Final

from harness.errors import StoreError

_BINDINGS: Final = """
CREATE TABLE bindings (
    backend TEXT NOT NULL,
    session_key TEXT NOT NULL,
    conversation TEXT NOT NULL,
    carried TEXT NOT NULL DEFAULT '',
    rules TEXT NOT NULL DEFAULT '',
    developer TEXT NOT NULL DEFAULT '',
    tools TEXT NOT NULL DEFAULT '',
    heard INTEGER NOT NULL DEFAULT 0,
    said TEXT NOT NULL DEFAULT '',
    ended TEXT NOT NULL DEFAULT '',
    cwd TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    provider TEXT NOT NULL DEFAULT '',
    account TEXT NOT NULL DEFAULT '',
    loading TEXT NOT NULL DEFAULT '',
    used_at REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (backend, session_key)
)
"""
_TRANSCRIPT: Final = """
CREATE TABLE transcript (
    session_key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    said_at REAL NOT NULL,
    kind TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn TEXT NOT NULL,
    said TEXT NOT NULL,
    answered TEXT NOT NULL,
    PRIMARY KEY (session_key, seq)
) WITHOUT ROWID
"""
_DELIVERIES: Final = """
CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    session_key TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    message_id TEXT NOT NULL,
    arrived_at REAL NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    lead TEXT NOT NULL,
    owner TEXT NOT NULL,
    steered INTEGER NOT NULL DEFAULT 0,
    conversation TEXT NOT NULL DEFAULT '',
    turn TEXT NOT NULL DEFAULT '',
    ending TEXT NOT NULL DEFAULT '',
    settled_at REAL NOT NULL DEFAULT 0
)
"""
_ROUNDS: Final = "ALTER TABLE deliveries ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0"
_OPEN_DELIVERIES: Final = "CREATE INDEX open_deliveries ON deliveries (lead) WHERE state != 'settled'"
_OUTBOUND: Final = """
CREATE TABLE outbound (
    lead TEXT NOT NULL,
    place INTEGER NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    sent_as TEXT NOT NULL DEFAULT '',
    repeats INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (lead, place)
) WITHOUT ROWID
"""
_ASKED: Final = """
CREATE TABLE asked (
    seq INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    handle TEXT NOT NULL,
    digest TEXT NOT NULL,
    session_key TEXT NOT NULL,
    thread TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    topic TEXT NOT NULL,
    card TEXT NOT NULL,
    sent_as TEXT NOT NULL DEFAULT '',
    expires_at REAL NOT NULL,
    outlives INTEGER NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    answer TEXT NOT NULL DEFAULT '',
    told TEXT NOT NULL DEFAULT ''
)
"""
_ASKED_HANDLES: Final = "CREATE INDEX asked_handles ON asked (handle)"
_MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    # 1: stores of before have no version, and no column for what a conversation was told of edited files.
    (
        "ALTER TABLE bindings ADD COLUMN rules TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bindings ADD COLUMN developer TEXT NOT NULL DEFAULT ''",
    ),
    # 2: tools are registered.
    ("ALTER TABLE bindings ADD COLUMN tools TEXT NOT NULL DEFAULT ''",),
    # 3: what a conversation was begun with, and what was said in each chat.
    (
        "ALTER TABLE bindings ADD COLUMN heard INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE bindings ADD COLUMN cwd TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bindings ADD COLUMN model TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bindings ADD COLUMN provider TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bindings ADD COLUMN account TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bindings ADD COLUMN loading TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bindings ADD COLUMN used_at REAL NOT NULL DEFAULT 0",
        _TRANSCRIPT,
    ),
    # 4: what a conversation was told under names, to be contradicted when it ends.
    ("ALTER TABLE bindings ADD COLUMN said TEXT NOT NULL DEFAULT ''",),
    # 5: what came in, and what became of it.
    (_DELIVERIES, _OPEN_DELIVERIES, _OUTBOUND),
    # 6: how the last turn of a conversation was really ended.
    ("ALTER TABLE bindings ADD COLUMN ended TEXT NOT NULL DEFAULT ''",),
    # 7: what people were asked, and what they said.
    (_ASKED, _ASKED_HANDLES),
    # 8: how often an answer was offered to its channel.
    (_ROUNDS,),
)
"""What brings a store of version N - 1 to version N."""
_ALL: Final = (_BINDINGS, _TRANSCRIPT, _DELIVERIES, _ROUNDS, _OPEN_DELIVERIES, _OUTBOUND, _ASKED, _ASKED_HANDLES)
"""What makes a new one."""
_CHECKS: Final = (
    "SELECT backend, session_key, conversation, ended, loading, used_at FROM bindings LIMIT 0",
    "SELECT session_key, seq, answered FROM transcript LIMIT 0",
    "SELECT key, lead, owner, steered, settled_at, rounds FROM deliveries LIMIT 0",
    "SELECT lead, place, sent_as FROM outbound LIMIT 0",
    "SELECT identity, handle, card, owner, told FROM asked LIMIT 0",
)
"""What only tables of ours understand."""
VERSION: Final = len(_MIGRATIONS)


WHOLE_BINDING: Final = "typeof(heard) = 'integer' AND typeof(used_at) IN ('integer', 'real')"
"""What holds of a row of `bindings` unless somebody else wrote there; a text may be any."""
WHOLE_DELIVERY: Final = (
    "typeof(arrived_at) IN ('integer', 'real') AND typeof(settled_at) IN ('integer', 'real')"
    " AND typeof(steered) = 'integer' AND typeof(rounds) = 'integer'"
)
WHOLE_OUTBOUND: Final = "typeof(place) = 'integer' AND typeof(repeats) = 'integer'"
WHOLE_ASKED: Final = "typeof(expires_at) IN ('integer', 'real') AND typeof(outlives) = 'integer'"
"""The same of `deliveries`, `outbound` and `asked`."""
_WHOLE: Final = (
    ("bindings", WHOLE_BINDING),
    ("transcript", "typeof(seq) = 'integer' AND typeof(said_at) IN ('integer', 'real')"),
    ("deliveries", WHOLE_DELIVERY),
    ("outbound", WHOLE_OUTBOUND),
    ("asked", WHOLE_ASKED),
)


class NewerStoreError(StoreError):
    """The store was written by a newer version of the program."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"The store {path} was written by a newer version of this program; update it.")


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a store to the present form, or make a new one, in one transaction.

    Raises:
        NewerStoreError: It has a form that this version does not know.
        sqlite3.Error: It is no store, or cannot be written.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > VERSION:
            raise NewerStoreError(path)
        known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bindings'").fetchone()
        statements = _MIGRATIONS[version:] if known else (_ALL,)
        for statement in (each for step in statements for each in step):
            connection.execute(statement)
        for statement in _CHECKS:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def tolerant(text: bytes) -> str:
    """A text of the store; what is no UTF-8 in it has marks in its place."""
    return text.decode("utf-8", "replace")


def delete_spoiled(connection: sqlite3.Connection) -> int:
    """Delete the rows with a value that is no number where one has to be; gives how many they were."""
    return sum(
        connection.execute(f"DELETE FROM {table} WHERE NOT ({whole})").rowcount  # noqa: S608 - our own names
        for table, whole in _WHOLE
    )
