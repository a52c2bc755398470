"""Servers that a gateway which died has left behind: noted when they start, ended by whoever starts one next.

A process is known by its id and by when it began. One whose gateway lives is no orphan. Touches the disk and the
system's processes.
"""

import logging
import os
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import orjson

from codex_bridge.processes import Session, began, kill_sessions, sessions_of
from codex_bridge.rpc import Json

ENDING: Final = ".json"
DRAIN: Final = 0.5
"""Seconds that a server gets to end its turns, before it is told once more: it would wait for them (measured)."""
GRACE: Final = 2.0
"""Seconds that it gets after that, before it is killed."""
LOOK_AGAIN: Final = 0.02

logger = logging.getLogger("codex_bridge")


def note(path: Path, pid: int, files: Sequence[Path] = ()) -> None:
    """Write down who a server is, whose it is, and which files go with it."""
    us = os.getpid()
    text = {"pid": pid, "began": began(pid), "gateway": [us, began(us)], "files": [str(file) for file in files]}
    write_private(path, orjson.dumps(text))


@contextmanager
def noted(folder: Path, pid: int) -> Generator[None]:
    """Have a server noted in `folder` for as long as the block lasts."""
    path = folder / f"{os.urandom(4).hex()}{ENDING}"
    try:
        note(path, pid)
    except OSError as error:  # a full disk keeps no server from starting
        logger.warning("process %d is not noted: %s", pid, error)
    try:
        yield
    finally:
        forget(path, ())


def write_private(path: Path, content: bytes) -> None:
    """Make a file that its owner alone can read; there must be none of that name."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def forget(path: Path, files: Sequence[Path]) -> None:
    """Remove a note, and the files of the server that it is of."""
    for file in (*files, path):
        with suppress(OSError):
            file.unlink()


async def end_orphans(folder: Path) -> list[int]:
    """End the servers noted in `folder` whose gateway is gone, with all that they started; gives their ids."""
    ended: list[int] = []
    for path, (pid, start, gateway, files) in _notes(folder):
        if began(gateway[0]) == gateway[1] != "":
            continue
        if began(pid) == start != "":
            await _end(pid, start)
            ended.append(pid)
        forget(path, files)
    return ended


def _notes(folder: Path) -> list[tuple[Path, tuple[int, str, tuple[int, str], list[Path]]]]:
    return [(path, found) for path in sorted(folder.glob(f"*{ENDING}")) if (found := _read(path)) is not None]


def _read(path: Path) -> tuple[int, str, tuple[int, str], list[Path]] | None:
    """What a note says; None for one that somebody else just removes, or is just writing."""
    try:
        said: Json = orjson.loads(path.read_bytes())
        assert isinstance(said, dict)
        pid, start, gateway, files = said["pid"], said["began"], said["gateway"], said["files"]
        assert isinstance(pid, int)
        assert isinstance(start, str)
        assert isinstance(gateway, list)
        assert isinstance(files, list)
        owner, since = gateway
        assert isinstance(owner, int)
        assert isinstance(since, str)
    except (OSError, ValueError, KeyError, AssertionError):
        return None
    return pid, start, (owner, since), [Path(str(file)) for file in files]


async def _end(pid: int, start: str) -> None:
    sessions: list[Session] = []
    for sign, seconds in ((signal.SIGTERM, DRAIN), (signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        if sign is signal.SIGKILL:
            sessions = sessions_of(pid)  # what ends by a kill ends none of its commands
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, sign)
        with anyio.move_on_after(seconds):
            # It is no child of ours, so nothing tells of its end.
            while began(pid) == start:  # noqa: ASYNC110
                await anyio.sleep(LOOK_AGAIN)
            break
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # what it started may live on
    kill_sessions(sessions)
