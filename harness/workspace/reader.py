"""What a workspace file holds now, without reading again what has not changed.

Touches the disk. An unchanged file costs one `stat`, and one that is reached by a link or through a folder of the
workspace also a look at where it leads now; a changed one is inspected and loaded by `harness.workspace.guard`. One
reader serves all agents: files that several of them share are read and held once.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TypeAlias
from weakref import WeakValueDictionary

import anyio

from harness.lean_values import dataclass
from harness.workspace.guard import Candidate, TransientReadError, identity_of, inspect, load
from harness.workspace.reads import MISSING, Content, FileIdentity, Missing, ReadResult, Refusal, Refused

ATTEMPTS = 3
"""How often a read is tried when the system, or a writer in mid-write, asks for patience (prompt-builder 7.1)."""

RETRY_SECONDS = 0.05
"""Pause between attempts (prompt-builder 7.1)."""

CACHE_BYTES = 32 * 1024 * 1024
"""Size on disk of the texts held by one reader, all workspaces together."""

_MOST_PATHS = 4096

_UNSTABLE = frozenset({Refusal.RACE, Refusal.UNREADABLE, Refusal.BAD_PATH})
"""Refusals that the file's identity does not vouch for: the next turn looks again."""

Wait = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class _Seen:
    identity: FileIdentity
    settled: bool
    result: Content | Refused
    real_root: str
    """The workspace, with every link followed."""
    real_path: str
    """Where the path leads, with every link followed."""
    direct: bool
    """Whether the file stands in the workspace itself under this name: no link and no folder on the way to it."""

    @property
    def cost(self) -> int:
        return self.identity.size if isinstance(self.result, Content) else 0


class GuardedReader:
    """Reads workspace files through the guard and remembers them.

    Args:
        wait: Sleeps for a number of seconds between attempts.
        now_ns: The time in nanoseconds since the epoch, on the file system's clock.
        open_file: `os.open`, or a wrapper around it.
        cache_bytes: How much to hold, measured on disk.
    """

    def __init__(
        self,
        *,
        wait: Wait = anyio.sleep,
        now_ns: Callable[[], int] = time.time_ns,
        open_file: Callable[..., int] = os.open,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._wait = wait
        self._now_ns = now_ns
        self._open_file = open_file
        self._cache_bytes = cache_bytes
        self._seen: OrderedDict[tuple[str, str], _Seen] = OrderedDict()
        self._held_bytes = 0
        self._settled: WeakValueDictionary[Candidate, Content] = WeakValueDictionary()

    async def read(self, root: str, path: str) -> ReadResult:
        """Read `path`, absolute or relative to the workspace `root`.

        An unchanged file gives the very same result object again. Never raises for the state of the disk: whatever
        keeps the file from being read is a `Missing` or a `Refused`.
        """
        # On every turn, where the path is absolute, and making a Path costs more than the stat.
        full = path if path.startswith("/") else os.path.join(root, path)  # noqa: PTH118
        key = root, full
        seen = self._seen.get(key)
        if seen is not None and seen.settled and _still_holds(seen, root, full):
            self._seen.move_to_end(key)
            return seen.result
        if isinstance(_identity_at(full), Missing):
            self._forget(key)
            return MISSING
        return await self._read_with_patience(root, full)

    def look(self, root: str, path: str, result: ReadResult) -> "Look | None":
        """What to compare with `are_unchanged` in place of another `read` of an absolute path that gave `result`.

        None where one look cannot vouch for it: the file is too fresh, or a link or a folder stands on the way to it.
        """
        if isinstance(result, Missing):
            return path, None
        seen = self._seen.get((root, path))
        if seen is None or seen.result is not result or not (seen.settled and seen.direct):
            return None
        return path, seen.identity

    async def _read_with_patience(self, root: str, full: str) -> ReadResult:
        result: ReadResult = Refused(Refusal.RACE)
        for attempt in range(ATTEMPTS):
            if attempt:
                await self._wait(RETRY_SECONDS)
            try:
                result = self._read_once(root, full)
            except TransientReadError as error:
                result = Refused(Refusal.UNREADABLE, error.strerror or "try again later")
            else:
                if result != Refused(Refusal.RACE):
                    break
        return result

    def _read_once(self, root: str, full: str) -> ReadResult:
        real_root = os.path.realpath(root)
        found = inspect(real_root, full)
        now = self._now_ns()
        result = self._load(real_root, found) if isinstance(found, Candidate) else found
        identity = found.identity if isinstance(found, Candidate) else _identity_at(full)
        if isinstance(result, Missing) or not isinstance(identity, FileIdentity) or _is_unstable(result):
            self._forget((root, full))
            return result
        settled = identity.is_settled(now)
        if settled and isinstance(result, Content):
            self._settled[Candidate(result.real_path, identity)] = result
        real_path = found.real_path if isinstance(found, Candidate) else os.path.realpath(full)
        direct = _is_direct(root, full, real_root, real_path)
        return self._remember((root, full), _Seen(identity, settled, result, real_root, real_path, direct))

    def _load(self, real_root: str, found: Candidate) -> ReadResult:
        held = self._settled.get(found)
        return load(real_root, found, open_file=self._open_file) if held is None else held

    def _remember(self, key: tuple[str, str], new: _Seen) -> Content | Refused:
        old = self._seen.get(key)
        if old is not None and old.result == new.result:
            new = replace(new, result=old.result)
        self._forget(key)
        self._seen[key] = new
        self._held_bytes += new.cost
        while self._held_bytes > self._cache_bytes or len(self._seen) > _MOST_PATHS:
            self._forget(next(iter(self._seen)))
        return new.result

    def _forget(self, key: tuple[str, str]) -> None:
        old = self._seen.pop(key, None)
        if old is not None:
            self._held_bytes -= old.cost


Look: TypeAlias = tuple[str, FileIdentity | None]
"""A path and what stood there; None for nothing."""


def are_unchanged(looks: Iterable[Look]) -> bool:
    """Whether the same stands there still; spelt out, as it is asked of each file on each turn."""
    for path, identity in looks:
        try:
            found = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - as above
        except (FileNotFoundError, NotADirectoryError):
            if identity is not None:
                return False
        except (OSError, ValueError):
            return False
        else:
            if identity is None or identity_of(found) != identity:
                return False
    return True


def _is_unstable(result: Content | Refused) -> bool:
    return isinstance(result, Refused) and result.refusal in _UNSTABLE


def _is_direct(root: str, full: str, real_root: str, real_path: str) -> bool:
    name = os.path.basename(full)  # noqa: PTH119 - as above
    here = os.path.join(root, name), os.path.join(real_root, name)  # noqa: PTH118 - as above
    return (full, real_path) == here


def _still_holds(seen: _Seen, root: str, full: str) -> bool:
    """Whether a file is unchanged and still reached in the way that was judged.

    Moving a folder changes nothing about the files in it, so their identity cannot vouch for the way to them. Whatever
    takes the place of a direct file, be it a link to that very file, has another identity.
    """
    if seen.direct:
        return _identity_at(full, follow=False) == seen.identity
    return (
        _identity_at(full) == seen.identity
        and os.path.realpath(full) == seen.real_path
        and os.path.realpath(root) == seen.real_root
    )


def _identity_at(path: str, *, follow: bool = True) -> FileIdentity | Missing | None:
    """Look at what `path` leads to: one system call; None when only a closer look can tell."""
    try:
        return identity_of(os.stat(path, follow_symlinks=follow))  # noqa: PTH116 - as above
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except (OSError, ValueError):
        return None
