"""Which conversation of a backend belongs to which chat, and what was said there, kept over restarts.

SQLite in WAL mode, readable by the owner alone, and used by one process at a time. Every call is one short transaction.
"""

import errno
import logging
import sqlite3
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from harness.errors import StoreError
from harness.store.bound import Basis, Binding, Holds, Listed
from harness.store.database import Database
from harness.store.schema import WHOLE_BINDING, tolerant
from harness.store.transcript import Spoken, TranscriptLimits, append, correct, last_of, turns_since, unheard

logger = logging.getLogger(__name__)

_COLUMNS: Final = (
    "conversation, carried, rules, developer, tools, heard, said, ended, cwd, model, provider, account, loading"
)

_PASSING: Final = frozenset(
    {errno.EACCES, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EPERM, errno.EROFS}
)
"""What the disk, or whoever looks after it, can set right."""


class Bindings:
    """The bindings and transcripts in one database file; open one with `bindings_at`."""

    def __init__(self, database: Database, limits: TranscriptLimits) -> None:
        self._database = database
        self._limits = limits
        self._last: dict[str, int] = {}
        """The number of each chat's last row, as far as it is known; nobody else writes."""
        self._unsure: set[str] = set()
        """Chats of which it may be another one, since a write ended otherwise than it should."""

    @property
    def database(self) -> Database:
        """The file, for what else is kept in it, see `harness.store.deliveries`."""
        return self._database

    def take_notices(self) -> list[str]:
        """What became of the store, in sentences that nobody was told yet."""
        told = self._database.notices[:]
        self._database.notices.clear()
        return told

    def last(self, session_key: str) -> int:
        """The number of the last row of a chat whose binding was read or written; 0 for any other."""
        return self._last.get(session_key, 0)

    async def get(self, backend: str, session_key: str) -> Binding | None:
        """The binding of a chat, or None.

        Raises:
            StoreError: The store cannot be read.
        """

        def read(connection: sqlite3.Connection) -> tuple[Binding | None, int]:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM bindings WHERE backend = ? AND session_key = ?",  # noqa: S608 - our own names
                (backend, session_key),
            ).fetchone()
            found = None if row is None else _binding(backend, session_key, row)
            return found, last_of(connection, session_key)

        binding, self._last[session_key] = await self._database.run(read)
        return binding

    async def chat_of(self, backend: str, conversation: str) -> str | None:
        """The chat that a conversation is bound to, or None.

        Raises:
            StoreError: The store cannot be read.
        """

        def read(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(
                "SELECT session_key FROM bindings WHERE backend = ? AND conversation = ?", (backend, conversation)
            ).fetchone()
            return None if row is None else str(row[0])

        return await self._database.run(read)

    async def put(self, binding: Binding) -> None:
        """Keep a binding, in place of the chat's earlier one.

        Raises:
            StoreError: The store cannot be written; what it held is unchanged.
        """
        await self._database.run(lambda connection: _put(connection, binding))

    async def record(self, binding: Binding, spoken: Spoken) -> int:
        """Keep what a turn of a bound conversation said, with the binding, in one transaction.

        Gives the number of the last row that the conversation knows now, which is also stored: its own words count as
        known unless something else was said in the chat meanwhile.

        Raises:
            StoreError: The store cannot be written; what it held is unchanged.
        """
        key = binding.session_key

        def write(connection: sqlite3.Connection) -> tuple[int, int]:
            sure = key in self._last and key not in self._unsure
            before = self._last[key] if sure else last_of(connection, key)
            last = append(connection, key, spoken, self._limits, last=before)
            heard = last if binding.holds.heard == before else binding.holds.heard
            _put(connection, binding, heard=heard)
            return heard, last

        try:
            heard, self._last[key] = await self._database.run_small(write)
        except BaseException:  # it may have come after the write
            self._unsure.add(key)
            raise
        self._unsure.discard(key)
        return heard

    async def began_aside(self, message_key: str, conversation: str) -> None:
        """The turn of a message runs in a conversation that ends with it: what became of it stands in no other one.

        Raises:
            StoreError: The store cannot be written.
        """
        statement = "UPDATE deliveries SET conversation = ? WHERE lead = ? AND state = 'running'"
        await self._database.run_small(lambda connection: connection.execute(statement, (conversation, message_key)))

    async def mirror(self, session_key: str, spoken: Spoken) -> None:
        """Keep what was said in a chat by other means than a turn of its bound conversation.

        The conversation is told with its next turn, unless `spoken.conversation` says that it has it in its history.

        Raises:
            StoreError: The store cannot be written.
        """
        self._last[session_key] = await self._database.run(
            lambda connection: append(connection, session_key, spoken, self._limits)
        )

    async def unheard(self, session_key: str, conversation: str, heard: int) -> list[Spoken]:
        """What a conversation does not know of its chat, newest first.

        Args:
            session_key: The chat.
            conversation: The backend's id of the conversation; empty for one that is yet to begin.
            heard: The number of the last row that it knows.

        Raises:
            StoreError: The store cannot be read.
        """
        return await self._database.run(lambda connection: list(unheard(connection, session_key, conversation, heard)))

    async def turns_since(self, session_key: str, conversation: str, heard: int) -> frozenset[str]:
        """The turns after the row `heard` of a chat that a conversation has in its history, or may have.

        Raises:
            StoreError: The store cannot be read.
        """
        return await self._database.run(lambda connection: turns_since(connection, session_key, conversation, heard))

    async def correct(self, session_key: str, conversation: str, *, has: frozenset[str], lacks: frozenset[str]) -> int:
        """Set right which turns of a chat a conversation has in its own history; it is told of the others.

        Gives how many of those that it has lost it was thought to have.

        Args:
            session_key: The chat.
            conversation: The backend's id of the conversation.
            has: Turns that it has, also where a loss left that open.
            lacks: Turns that it has lost.

        Raises:
            StoreError: The store cannot be written.
        """
        return await self._database.run(
            lambda connection: correct(connection, session_key, conversation, has=has, lacks=lacks)
        )

    async def forget(self, backend: str, session_key: str) -> None:
        """Drop a chat's binding; what was said there stays, and the next conversation is told of it.

        Raises:
            StoreError: The store cannot be written.
        """

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM bindings WHERE backend = ? AND session_key = ?", (backend, session_key))

        await self._database.run(write)

    async def clear(self, session_key: str) -> None:
        """Drop a chat's bindings on every backend, and all that was said there.

        Raises:
            StoreError: The store cannot be written.
        """

        def write(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM bindings WHERE session_key = ?", (session_key,))
            connection.execute("DELETE FROM transcript WHERE session_key = ?", (session_key,))
            return connection.total_changes > 0

        if await self._database.run(write):
            # The log still holds the pages as they were written before.
            await self._database.run(
                lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            )
        self._last[session_key] = 0


@asynccontextmanager
async def bindings_at(path: Path, limits: TranscriptLimits = TranscriptLimits()) -> AsyncGenerator[Bindings]:  # noqa: B008 - frozen
    """Use the database at `path`, made with mode 0600 if it is not there, for as long as the block lasts.

    A disk that is full, or a file that is locked, does not keep the gateway from starting: each call then tells, and
    works again when the disk does. A damaged file is moved aside, and a new one begun.

    Args:
        path: The file.
        limits: How much is kept of each chat.

    Raises:
        StoreHeldError: Another process uses it.
        NewerStoreError: A newer version of the program wrote it.
        StoreError: The path leads to something else than a file of ours, or its folder is not there.
    """
    database = Database(path)
    try:
        try:
            await database.run(lambda _: None)
        except StoreError as error:
            if not _may_pass(error):
                raise
            logger.warning("%s", error)
        yield Bindings(database, limits)
    finally:
        await database.close()


def _may_pass(error: StoreError) -> bool:
    """Whether a store that cannot be opened now may work later, without anybody giving another path."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) or (isinstance(cause, OSError) and cause.errno in _PASSING)


def listed(path: Path) -> list[Listed]:
    """Every binding, the last used first, without taking the store from the process that uses it. Blocks.

    Raises:
        StoreError: It cannot be read; an empty list means that there is none.
    """
    if not path.exists():
        return []
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.text_factory = tolerant
            rows = connection.execute(
                f"SELECT backend, session_key, used_at, (SELECT COUNT(*) FROM transcript t WHERE t.session_key ="  # noqa: S608
                f" b.session_key), {_COLUMNS} FROM bindings b WHERE {WHOLE_BINDING}"
                " ORDER BY used_at DESC, backend, session_key"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StoreError(f"The store {path} cannot be read: {error}.") from error
    return [Listed(_binding(str(row[0]), str(row[1]), row[4:]), float(row[2]), int(row[3])) for row in rows]


def _binding(backend: str, session_key: str, row: tuple[object, ...]) -> Binding:
    conversation, carried, rules, developer, tools, heard, said, ended, *basis = map(str, row)
    holds = Holds(carried, rules, developer, tools, int(heard), said, ended)
    return Binding(backend, session_key, conversation, holds, Basis(*basis))


def _put(connection: sqlite3.Connection, binding: Binding, *, heard: int | None = None) -> None:
    holds, basis = binding.holds, binding.basis
    connection.execute(
        f"INSERT OR REPLACE INTO bindings (backend, session_key, used_at, {_COLUMNS})"  # noqa: S608 - our own names
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            binding.backend,
            binding.session_key,
            time.time(),
            binding.conversation,
            holds.context,
            holds.rules,
            holds.developer,
            holds.tools,
            holds.heard if heard is None else heard,
            holds.said,
            holds.ended,
            basis.cwd,
            basis.model,
            basis.provider,
            basis.account,
            basis.loading,
        ),
    )
