"""Which process a store belongs to.

One process at a time: it holds in memory what it wrote, so two of them would not know of each other. The lock is the
system's, on a file of its own beside the store, and ends with the process however that dies. Touches the disk, and does
not wait.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.errors import StoreError

ENDING: Final = ".lock"


class StoreHeldError(StoreError):
    """Another process has the store."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(f"The store {path} is in use by {who}; stop that one first, or use another state folder.")
        self.pid = pid
        """The holder's process id; None when it did not get to say it."""


class Ownership:
    """The right to use the store at `path`.

    Raises:
        StoreHeldError: Another process has it.
        OSError: The lock's file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        # Never removed: a process that waits on a file that is gone would hold a lock that nobody else sees.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path.with_name(path.name + ENDING), flags, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            held = StoreHeldError(path, _pid(os.pread(self._file, 32, 0)))
            os.close(self._file)
            raise held from None
        except OSError:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Give it up."""
        os.close(self._file)


def holder_of(path: Path) -> int | None:
    """The process that has the store at `path`, by what it wrote down; None for nobody. Takes the store from nobody."""
    try:
        pid = _pid(path.with_name(path.name + ENDING).read_bytes()[:32])
        if pid is None:
            return None
        with suppress(PermissionError):  # somebody else's, and alive
            os.kill(pid, 0)
    except OSError:
        return None
    return pid


def _pid(written: bytes) -> int | None:
    text = written.decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
