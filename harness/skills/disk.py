"""How this package looks at the disk: stamps, guarded reads, folders, commands on PATH.

The only module of the package that opens or lists anything. It works on plain paths as text and calls the operating
system directly, because the check of an unchanged workspace is a row of such calls and little else.
"""
# ruff: noqa: PTH116

import errno
import os
import stat
import time
from collections.abc import Iterable
from typing import Final

from harness.lean_values import dataclass
from harness.skills.values import SKILL_FILE, Why

Stamp = tuple[int, int, int]
"""Change time in ns, size and inode of a file or folder; or 0, 0 and the negative error number."""

SETTLED_AFTER_NS: Final = 50_000_000
"""A file younger than this may change again without getting a new time stamp, as clocks of file systems are coarse."""


SCAN: Final = 1_000
"""Entries of a folder that are looked at to tell whether it holds skills."""
IMPOSSIBLE: Final[Stamp] = (0, 0, -errno.EINVAL)
"""The stamp of a path that no file can have: with a NUL, or a character that file names cannot be written in."""


class GuardError(Exception):
    """A file may not or cannot be read.

    Attributes:
        why: The rule.
        reason: A clause for a person that names the fix.
    """

    def __init__(self, why: Why, reason: str) -> None:
        super().__init__(reason)
        self.why = why
        self.reason = reason


def stamp_of(path: str) -> Stamp:
    """Return what must change when `path` changes."""
    try:
        found = os.stat(path)
    except OSError as error:
        return (0, 0, -(error.errno or errno.EIO))
    except ValueError:
        return IMPOSSIBLE
    return (found.st_ctime_ns, found.st_size, found.st_ino)


def changed_paths(stamps: Iterable[tuple[str, Stamp | None]]) -> list[str]:
    """Return the paths whose stamp is another one now, or was never trusted."""
    return [path for path, stamp in stamps if stamp is None or stamp_of(path) != stamp]


def has_changed(stamps: Iterable[tuple[str, Stamp | None]]) -> bool:
    """Whether `changed_paths` would return any; spelt out, as it is called for each skill on each turn."""
    look = os.stat
    for path, stamp in stamps:
        if stamp is None:
            return True
        try:
            found = look(path)
        except (OSError, ValueError):
            if stamp_of(path) != stamp:
                return True
        else:
            if (found.st_ctime_ns, found.st_size, found.st_ino) != stamp:
                return True
    return False


def settled(stamp: Stamp, now_ns: int) -> Stamp | None:
    """Return `stamp`, or None when it is too fresh to be trusted.

    Args:
        stamp: A stamp that was taken before the file or folder was read.
        now_ns: The time at which it was taken.
    """
    return None if abs(now_ns - stamp[0]) < SETTLED_AFTER_NS else stamp


def trusted_stamp(path: str) -> Stamp | None:
    """Return the stamp of `path`, or None when it may change again without a new one."""
    return settled(stamp_of(path), time.time_ns())


def real_path(path: str) -> str:
    """Follow every link of `path`; a link that leads nowhere leads to the path it names.

    A path that no file can have is returned as it is.
    """
    try:
        return os.path.realpath(path)
    except ValueError:
        return path


def is_inside(path: str, folder: str) -> bool:
    """Tell whether the real path `path` is the real path `folder` or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_folder(path: str) -> bool:
    """Tell whether `path` is a folder, through links."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def skill_file_mode(folder: str) -> int | None:
    """Return the mode of the folder's SKILL.md without following a link, or None when it has none."""
    try:
        return os.lstat(f"{folder}/{SKILL_FILE}").st_mode
    except (FileNotFoundError, ValueError):
        return None
    except OSError as error:
        # A folder that may not be entered is none of our business until somebody says that it holds a skill.
        return None if error.errno in {errno.EACCES, errno.ENOTDIR} else 0


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One entry of a folder that could be a folder itself."""

    name: str
    is_link: bool


def subfolders(path: str, at_most: int) -> tuple[list[FolderEntry], bool]:
    """List the folders and links of a folder by name, and tell whether it has more than `at_most` entries.

    Raises:
        OSError: The folder cannot be listed.
    """
    entries: list[FolderEntry] = []
    seen = 0
    with os.scandir(path) as listing:
        for entry in listing:
            seen += 1
            if seen > at_most:
                break
            is_link = entry.is_symlink()
            if is_link or entry.is_dir(follow_symlinks=False):
                entries.append(FolderEntry(entry.name, is_link))
    entries.sort(key=lambda entry: entry.name)
    return entries, seen > at_most


def holds_skills(folder: str) -> bool:
    """Tell whether some direct subfolder has a SKILL.md; a folder of source code named `skills` has none."""
    try:
        entries, _ = subfolders(folder, SCAN)
    except OSError:
        return False
    return any(skill_file_mode(f"{folder}/{entry.name}") is not None for entry in entries)


def read_guarded(path: str, *, at_most: int, hard_links: bool) -> bytes:
    """Read a whole regular file without following a link in its last part.

    Args:
        path: The real path.
        at_most: The most bytes it may have.
        hard_links: Whether the file may have further names.

    Raises:
        GuardError: It may not or cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise GuardError(Why.UNSAFE, "its file became a link while it was read; try again") from error
        reason = f"its file cannot be opened ({os.strerror(error.errno or errno.EIO)}); check its permissions"
        raise GuardError(Why.UNREADABLE, reason) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise GuardError(Why.UNSAFE, f"its {SKILL_FILE} is not a regular file")
        if found.st_nlink > 1 and not hard_links:
            raise GuardError(Why.UNSAFE, f"its {SKILL_FILE} is a hard link; put a copy there")
        raw = _read_all(handle, at_most + 1)
    except OSError as error:
        reason = f"its file cannot be read ({os.strerror(error.errno or errno.EIO)})"
        raise GuardError(Why.UNREADABLE, reason) from error
    finally:
        os.close(handle)
    if len(raw) > at_most:
        size = max(found.st_size, len(raw))
        raise GuardError(
            Why.TOO_LARGE, f"its file has {size} bytes, more than skills.limits.maxSkillFileBytes {at_most}"
        )
    return raw


def _read_all(handle: int, at_most: int) -> bytes:
    raw = os.read(handle, at_most)
    while len(raw) < at_most:
        more = os.read(handle, at_most - len(raw))
        if not more:
            break
        raw += more
    return raw


def find_commands(names: Iterable[str], search_path: str) -> frozenset[str]:
    """Return which of the commands `names` are executable files in a folder of `search_path`."""
    folders = search_folders(search_path)
    return frozenset(name for name in names if _is_command(name, folders))


def search_folders(search_path: str) -> list[str]:
    """Return the folders of a PATH, each once."""
    return list(dict.fromkeys(folder for folder in search_path.split(os.pathsep) if folder))


def _is_command(name: str, folders: list[str]) -> bool:
    candidates = [name] if os.sep in name else [f"{folder}/{name}" for folder in folders]
    return any(_is_executable(path) for path in candidates)


def _is_executable(path: str) -> bool:
    try:
        return os.access(path, os.X_OK) and not is_folder(path)
    except ValueError:  # no file can have such a name
        return False


def home_spellings(*homes: str | None) -> tuple[str, ...]:
    """Return every given home and its real path once, for `PathNaming.homes`."""
    given = [home for home in homes if home]
    return tuple(dict.fromkeys([*given, *map(real_path, given)]))
