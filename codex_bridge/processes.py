"""Processes by their id and by when they began: an id alone may be somebody else's by then.

Asks the system, and does not wait.
"""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

Session: TypeAlias = tuple[int, str]
"""The first process of a session, by its id and when it began."""
_PROC: Final = Path("/proc")
# The words of /proc/PID/stat after the name, which stands in parentheses and may hold anything.
_STATE, _PARENT, _SESSION, _BEGAN = 0, 1, 3, 19


def began(pid: int) -> str:
    """When a process began, in the system's own words; empty when there is none of that id."""
    words = _stat(pid)
    if words:
        return "" if words[_STATE] == b"Z" else words[_BEGAN].decode()
    if _stat(os.getpid()):
        return ""
    import subprocess  # a system without /proc

    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def sessions_of(pid: int) -> list[Session]:
    """The sessions that a process has begun and is the parent of: the commands of an app-server.

    To be asked while it lives. What leads a session by itself, as a service that a command left behind does, is a child
    of the command or of nobody. Empty on a system without /proc.
    """
    found: list[Session] = []
    for folder in _PROC.glob("[0-9]*"):
        words = _stat(int(folder.name))
        if words and int(words[_PARENT]) == pid and words[_SESSION].decode() == folder.name:
            found.append((int(folder.name), words[_BEGAN].decode()))
    return found


def kill_sessions(sessions: Iterable[Session]) -> None:
    """Kill what is left of these sessions, in the process group that each began with.

    The id of a group is nobody else's as long as anything is in it.
    """
    for leader, start in sessions:
        if began(leader) in ("", start):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, signal.SIGKILL)


def _stat(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
