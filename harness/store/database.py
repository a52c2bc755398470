"""The database of a store: opened when it can be, used in short transactions, replaced when it is damaged.

Calls are carried out in their order. What may wait for the disk or for others does so in a worker thread.
"""

import logging
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from harness.errors import StoreError
from harness.store.owner import Ownership
from harness.store.private_file import is_busy, open_private, primary_code
from harness.store.schema import delete_spoiled, prepare, tolerant

BUSY_SECONDS: Final = 5.0
"""How long a call waits for another connection's write, the wait for the calls before it included."""
BUSY_PAUSE: Final = 0.05
"""Seconds between two tries."""
CHECKPOINT_EVERY: Final = 250
"""Small writes after which the log is moved into the database: each adds a handful of pages, and SQLite's own count is
1,000."""
SIDE_FILES: Final = ("", "-wal", "-shm")
_ROWS: Final = ("row, which is deleted", "rows, which are deleted")
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

logger = logging.getLogger(__name__)
Value = TypeVar("Value")


class _DamagedError(Exception):
    """The file is no store of ours, or not any more."""


class _SpoiledError(Exception):
    """A value in it is not what stands there in a store of ours."""


class Database:
    """One database file, which belongs to this process from the first call that can open it until `close`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owned: Ownership | None = None
        self._connection: sqlite3.Connection | None = None
        self._one_at_a_time = anyio.Lock()
        self._small = 0
        self.notices: list[str] = []
        """What became of the file, in sentences that nobody was told yet."""

    async def run(self, work: Callable[[sqlite3.Connection], Value]) -> Value:
        """Do it in one transaction. Each call has its own time, so a store that stays locked fails all at once.

        A damaged file is moved aside and kept, a row with a value that is none is deleted; then it is done once more.

        Raises:
            StoreError: The store cannot be used now; it is unchanged, and may work at the next call.
        """
        deadline = time.monotonic() + BUSY_SECONDS
        async with self._one_at_a_time:
            while True:
                try:
                    return await anyio.to_thread.run_sync(self._attempt, work)
                except (sqlite3.Error, OSError) as error:
                    is_late = time.monotonic() >= deadline
                    if is_late or not isinstance(error, sqlite3.Error) or not is_busy(error):
                        raise StoreError(f"The store {self._path} cannot be used: {error}.") from error
                await anyio.sleep(BUSY_PAUSE)

    async def run_small(self, work: Callable[[sqlite3.Connection], Value]) -> Value:
        """Like `run`, for a few rows: at once and in this thread, since the way to another one takes twice as long.

        Nothing here waits for the disk: a commit goes to the system's memory, see `_opened`, and the log is moved into
        the database by another thread. What cannot be done at once is done by `run`.

        Raises:
            StoreError: As `run`.
        """
        if self._connection is None or self._one_at_a_time.locked():
            return await self.run(work)
        try:
            value = self._transaction(work)
        except (sqlite3.Error, OSError, _DamagedError, _SpoiledError):
            return await self.run(work)
        self._small += 1
        if self._small >= CHECKPOINT_EVERY:
            self._small = 0
            try:
                await self.run(lambda connection: connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone())
            except StoreError as error:  # what was written counts, and the log waits for the next time
                logger.warning("%s", error)
        return value

    async def close(self) -> None:
        """Let go of the file."""
        async with self._one_at_a_time:
            await anyio.to_thread.run_sync(self._close)

    def _attempt(self, work: Callable[[sqlite3.Connection], Value]) -> Value:
        try:
            return self._transaction(work)
        except _DamagedError as error:
            self._set_aside(error)
        except _SpoiledError as error:
            try:
                self._heal(error)
            except (_DamagedError, _SpoiledError) as worse:  # what cannot be healed is as good as damaged
                self._set_aside(worse)
        try:
            return self._transaction(work)
        except (_DamagedError, _SpoiledError) as error:
            raise StoreError(f"The store {self._path} cannot be used: {error}.") from error

    def _transaction(self, work: Callable[[sqlite3.Connection], Value]) -> Value:
        connection = self._opened()
        try:
            with connection:
                return work(connection)
        except sqlite3.DatabaseError as error:
            if primary_code(error) in _DAMAGE:
                raise _DamagedError(str(error)) from error
            raise
        except (ValueError, TypeError) as error:
            raise _SpoiledError(str(error)) from error

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        if self._owned is None:
            self._owned = Ownership(self._path)
        try:
            connection = open_private(self._path)
            try:
                prepare(connection, self._path)
                connection.text_factory = tolerant
                # A crash of ours loses nothing then; a power cut may lose the last turns, and spoils nothing.
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA wal_autocheckpoint = 0").fetchone()  # it would wait for the disk
                connection.execute("PRAGMA busy_timeout = 0")  # from here on `run` waits, and holds no thread meanwhile
            except BaseException:
                connection.close()
                raise
        except sqlite3.DatabaseError as error:
            # A statement that its tables do not understand tells that they are somebody else's.
            if primary_code(error) in _DAMAGE | {sqlite3.SQLITE_ERROR}:
                raise _DamagedError(str(error)) from error
            raise
        self._connection = connection
        return connection

    def _set_aside(self, why: Exception) -> None:
        """Move the file away and keep it. Nobody else can have it open: it is ours."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
        kept = self._path.with_name(f"{self._path.name}.damaged-{stamp}")
        # The side files first: alone they are nothing, and a new database must not find them.
        for ending in reversed(SIDE_FILES):
            found = self._path.with_name(self._path.name + ending)
            if found.exists():
                found.rename(kept.with_name(kept.name + ending))
        text = f"The store {self._path} was damaged ({why}); it is kept as {kept.name}, and a new one was begun."
        logger.warning("%s", text)
        self.notices.append(text)

    def _heal(self, why: Exception) -> None:
        """Delete what cannot be used, and keep the rest."""
        count = self._transaction(delete_spoiled)
        logger.warning("the store %s held %d rows that cannot be used (%s); they are deleted", self._path, count, why)
        if count:
            self.notices.append(f"The store {self._path} held {count} damaged {_ROWS[count > 1]}; the rest is kept.")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._owned is not None:
            self._owned.release()
            self._owned = None
