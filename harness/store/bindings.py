"""Which conversation of a backend belongs to which chat, kept over restarts.

SQLite in WAL mode, readable by the owner alone. Every call is one short transaction in a worker thread.
"""

import sqlite3
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from harness.errors import StoreError
from harness.store.private_file import is_busy, open_private

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS bindings (
    backend TEXT NOT NULL,
    session_key TEXT NOT NULL,
    conversation TEXT NOT NULL,
    carried TEXT NOT NULL DEFAULT '',
    rules TEXT NOT NULL DEFAULT '',
    developer TEXT NOT NULL DEFAULT '',
    tools TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (backend, session_key)
)
"""
_MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    # 1: stores of before have no version, and no column for what a conversation was told of edited files.
    (
        "ALTER TABLE bindings ADD COLUMN rules TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE bindings ADD COLUMN developer TEXT NOT NULL DEFAULT ''",
    ),
    # 2: tools are registered.
    ("ALTER TABLE bindings ADD COLUMN tools TEXT NOT NULL DEFAULT ''",),
)
"""What brings a store of version N - 1 to version N."""
BUSY_SECONDS: Final = 5.0
"""How long a call waits for another process's write, the wait for the calls before it included."""
BUSY_PAUSE: Final = 0.05
"""Seconds between two tries."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Holds:
    """What a conversation was told of the workspace: digests, empty for nothing or for not known."""

    context: str = ""
    """Of the quoted files."""
    rules: str = ""
    """Of the rules file that the backend reads by itself."""
    developer: str = ""
    """Of the instructions that hold for the conversation."""
    tools: str = ""
    """Of the tools that were registered with it; empty for none."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A chat's conversation on a backend."""

    backend: str
    session_key: str
    conversation: str
    """The backend's own id, a Codex thread id for instance."""
    holds: Holds = Holds()


class Bindings:
    """The bindings in one database file; open one with `bindings_at`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._one_at_a_time = anyio.Lock()

    async def get(self, backend: str, session_key: str) -> Binding | None:
        """The binding of a chat, or None.

        Raises:
            StoreError: The database cannot be read.
        """

        def read(connection: sqlite3.Connection) -> Binding | None:
            row = connection.execute(
                "SELECT conversation, carried, rules, developer, tools FROM bindings"
                " WHERE backend = ? AND session_key = ?",
                (backend, session_key),
            ).fetchone()
            return None if row is None else Binding(backend, session_key, str(row[0]), Holds(*map(str, row[1:])))

        return await self._run(read)

    async def put(self, binding: Binding) -> None:
        """Keep a binding, in place of the chat's earlier one.

        Raises:
            StoreError: The database cannot be written; what it held is unchanged.
        """

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO bindings (backend, session_key, conversation, carried, rules, developer, tools)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    binding.backend,
                    binding.session_key,
                    binding.conversation,
                    binding.holds.context,
                    binding.holds.rules,
                    binding.holds.developer,
                    binding.holds.tools,
                ),
            )

        await self._run(write)

    async def forget(self, backend: str, session_key: str) -> None:
        """Drop a chat's binding.

        Raises:
            StoreError: The database cannot be written.
        """

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM bindings WHERE backend = ? AND session_key = ?", (backend, session_key))

        await self._run(write)

    async def _run(self, work: Callable[[sqlite3.Connection], Value]) -> Value:
        """Do it in the order of the calls. Each has its own time, so a store that stays locked fails all at once."""

        def transaction() -> Value:
            with self._connection:
                return work(self._connection)

        deadline = time.monotonic() + BUSY_SECONDS
        async with self._one_at_a_time:
            while True:
                try:
                    return await anyio.to_thread.run_sync(transaction)
                except sqlite3.Error as error:
                    if not is_busy(error) or time.monotonic() >= deadline:
                        raise StoreError(f"The store {self._path} cannot be used: {error}.") from error
                await anyio.sleep(BUSY_PAUSE)


@asynccontextmanager
async def bindings_at(path: Path) -> AsyncGenerator[Bindings]:
    """Open the database at `path`, made with mode 0600 if it is not there, for as long as the block lasts.

    Raises:
        StoreError: It cannot be opened, or is no database of this kind.
    """
    with closing(await anyio.to_thread.run_sync(_opened, path)) as connection:
        yield Bindings(connection, path)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a store to the present form, or make a new one, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")  # two processes may open it at the same time
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(_MIGRATIONS):
            raise StoreError(f"The store {path} was written by a newer version of this program; update it.")
        known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'bindings'").fetchone()
        if known is None:
            connection.execute(_SCHEMA)
        else:
            for statements in _MIGRATIONS[version:]:
                for statement in statements:
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def _opened(path: Path) -> sqlite3.Connection:
    try:
        connection = open_private(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"The store {path} cannot be opened: {error}.") from error
    try:
        _migrate(connection, path)
        connection.execute("PRAGMA busy_timeout = 0")  # from here on `Bindings` waits, and holds no thread meanwhile
    except sqlite3.Error as error:
        connection.close()
        raise StoreError(f"The store {path} cannot be opened: {error}.") from error
    except StoreError:
        connection.close()
        raise
    return connection
