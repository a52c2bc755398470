"""Where the index of the notes is kept: one SQLite file for all workspaces.

Touches the disk. The file is nobody else's to read, and what a person deletes from the notes is deleted from it;
one that is broken, or of another version, is thrown away and built again, as it holds nothing that the notes do not.
"""

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import TypeVar

from harness.store.private_file import open_private, primary_code

DATABASE = "memory-index.sqlite3"
VERSION = 2
"""Raised when the shape changes, or what an index may hold: those of version 1 kept the words of deleted notes."""

_SCHEMA = """
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    workspace BLOB NOT NULL,
    path TEXT NOT NULL,
    identity TEXT NOT NULL,
    UNIQUE (workspace, path)
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    note INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX passages_of_note ON passages (note);
CREATE VIRTUAL TABLE words USING fts5 (title, body, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE TRIGGER passage_gone AFTER DELETE ON passages BEGIN DELETE FROM words WHERE rowid = old.id; END;
"""
_OUTSIDE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""The troubles that a new index would meet as well."""

T = TypeVar("T")


class MemoryUnavailableError(Exception):
    """The index of the notes cannot be used; the message says why and what to do."""


class IndexStore:
    """The database file. Safe to use from several threads, one at a time, and beside other processes.

    Args:
        folder: Where the file is kept; made when it is not there, and its owner's alone in any case.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / DATABASE
        self._lock = Lock()
        self._open: sqlite3.Connection | None = None

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` makes of the database, as one transaction.

        When the database proves broken it is built anew and `work` runs once more.

        Raises:
            MemoryUnavailableError: The disk is full, the folder cannot be written, or the like.
        """
        with self._lock:
            try:
                return self._attempt(work)
            except sqlite3.DatabaseError as error:
                if primary_code(error) in _OUTSIDE:
                    raise self._unavailable(error) from error
            self._discard()
            try:
                return self._attempt(work)
            except sqlite3.DatabaseError as error:
                raise self._unavailable(error) from error

    def close(self) -> None:
        """Let go of the file; a later call opens it again."""
        with self._lock:
            self._close()

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._open is None:
                self._open = self._connect()
            with self._open as connection:
                before = connection.total_changes
                result = work(connection)
                has_changed = connection.total_changes != before
                if has_changed:
                    # A full-text index only notes what was deleted; the words go when its parts are merged.
                    connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            if has_changed:
                # The log still holds pages as they were written before.
                self._open.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return result
        except OSError as error:
            raise self._unavailable(error) from error

    def _connect(self) -> sqlite3.Connection:
        _make_private_folder(self._path.parent)
        connection = open_private(self._path)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _discard(self) -> None:
        self._close()
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(DATABASE + ending).unlink()

    def _close(self) -> None:
        if self._open is not None:
            with closing(self._open):
                self._open = None

    def _unavailable(self, error: Exception) -> MemoryUnavailableError:
        return MemoryUnavailableError(
            f"the memory index {self._path} cannot be used: {error}; check the disk and that the folder is writable"
        )


def _prepare(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    if version != 0 or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise sqlite3.DatabaseError(f"the index has version {version}, not {VERSION}")
    for statement in _statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _statements() -> list[str]:
    """Return the schema's statements; `executescript` would end the transaction that holds them together."""
    statements, part = list[str](), ""
    for piece in _SCHEMA.split(";"):
        part += piece + ";"
        if sqlite3.complete_statement(part) and part.strip(" \n;"):
            statements.append(part)
            part = ""
    return statements


def _make_private_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        # In a folder of another owner, such as a mounted volume, the file's own mode has to do.
        with suppress(PermissionError):
            folder.chmod(0o700)
