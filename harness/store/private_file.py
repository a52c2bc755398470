"""How a SQLite file that is its owner's alone is opened, by several connections and processes at once.

Touches the disk and blocks: call it from a thread.
"""

import errno
import os
import sqlite3
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

BUSY_SECONDS: Final = 5.0
"""How long a connection waits for another one that is writing, unless its owner sets another `busy_timeout`."""
OPEN_PAUSE: Final = 0.01
"""Seconds between two tries to switch the write-ahead log on."""
_CREATING: Final = threading.Lock()
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def open_private(path: Path) -> sqlite3.Connection:
    """Open the database at `path`, made if it is not there: mode 0600, write-ahead log, what is deleted overwritten.

    The connection may be used from any thread, from one at a time.

    Raises:
        OSError: It cannot be made or closed to others, or is a symbolic link or a folder.
        sqlite3.Error: It is no database, or stays locked for `BUSY_SECONDS`.
    """
    _create(path)
    _close_to_others(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        # Before anything is written. Not every build of SQLite does it unasked.
        connection.execute("PRAGMA secure_delete = ON").fetchone()
        _write_ahead(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def primary_code(error: sqlite3.Error) -> int:
    """Which kind of trouble it is, such as `sqlite3.SQLITE_FULL`, without the case that the upper bytes tell.

    An error of the module itself has no code and counts as `sqlite3.SQLITE_ERROR`.
    """
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether the same call may work once another connection is done."""
    return primary_code(error) in _BUSY


def _create(path: Path) -> None:
    """Create the file, closed to others; SQLite gives its side files the mode of the main one.

    A file that is there is not opened here: to close it again would drop every lock that this process holds on it, also
    those of other connections (sqlite.org/howtocorrupt.html, 2.2). For the same reason nobody else connects meanwhile.
    """
    with _CREATING, suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _close_to_others(path: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):  # one that somebody else laid there could lead anywhere
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_IMODE(mode) != 0o600:
        path.chmod(0o600)


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the log on. SQLite's own wait does not hold for this one statement: it fails at once where others open."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(OPEN_PAUSE)
        else:
            return
