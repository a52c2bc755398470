"""How a workspace file is read without following anything out of the workspace.

Touches the disk. A path is first inspected (where does it lead, what is there) and then loaded; between the two the
file must stay the same one. The directories on the way are opened one below the other without following links, so
that swapping one for a link in between leads nowhere. Nothing is remembered here: see `harness.workspace.reader`.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePath

from harness.lean_values import dataclass
from harness.workspace.reads import MAX_FILE_BYTES, MISSING, Content, FileIdentity, Missing, Refusal, Refused

TRANSIENT = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR})
"""Errors that are worth another attempt (prompt-builder 7.1)."""

_DEVICE_ROOTS = ("/dev/", "/proc/", "/sys/")
_GONE = (errno.ENOENT, errno.ENOTDIR)
_FOLLOW_NOTHING = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_OpenFile = Callable[..., int]


class TransientReadError(OSError):
    """The system asked to try again."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be read, as it was when it was looked at."""

    real_path: str
    identity: FileIdentity


def identity_of(status: os.stat_result) -> FileIdentity:
    """Reduce a `stat` result to what tells one state of a file from another."""
    return FileIdentity(
        status.st_dev, status.st_ino, status.st_nlink, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


def inspect(real_root: str, path: str) -> Candidate | Missing | Refused:
    """Find out where `path` leads and whether that may be read.

    Args:
        real_root: The workspace, with every link followed.
        path: An absolute path, or one relative to the workspace.

    Raises:
        TransientReadError: The system asked to try again.
    """
    try:
        real = os.path.realpath(Path(real_root, path), strict=True)
        status = os.lstat(real)
    except ValueError:
        return Refused(Refusal.BAD_PATH)
    except OSError as error:
        return _failure(error)
    return _refusal(real_root, real, status) or Candidate(real, identity_of(status))


def load(real_root: str, candidate: Candidate, *, open_file: _OpenFile = os.open) -> Content | Missing | Refused:
    """Read the file that `inspect` found, provided that it is still the same one afterwards.

    Bytes that are not UTF-8 become replacement characters, and a byte order mark is dropped.

    Args:
        real_root: The workspace, with every link followed.
        candidate: What `inspect` returned for it.
        open_file: `os.open`, or a wrapper around it.

    Raises:
        TransientReadError: The system asked to try again.
    """
    try:
        descriptor = _open_beneath(real_root, candidate.real_path, open_file)
    except OSError as error:
        # A link where a directory or file was a moment ago is an exchange, whatever it points to.
        return Refused(Refusal.RACE) if error.errno in (errno.ELOOP, *_GONE) else _failure(error)
    try:
        if identity_of(os.fstat(descriptor)) != candidate.identity:
            return Refused(Refusal.RACE)
        data = _read_all(descriptor)
        after = identity_of(os.fstat(descriptor))
    except OSError as error:
        return _failure(error)
    finally:
        os.close(descriptor)
    if after != candidate.identity or len(data) != after.size:
        return Refused(Refusal.RACE)
    text, invalid = _decode(data)
    return Content(text, candidate.real_path, candidate.identity, invalid)


def _refusal(real_root: str, real: str, status: os.stat_result) -> Refused | None:
    checks = (
        (not PurePath(real).is_relative_to(real_root), Refusal.OUTSIDE),
        (not stat.S_ISREG(status.st_mode) or _is_device_path(real_root, real), Refusal.NOT_REGULAR),
        (status.st_nlink > 1, Refusal.HARD_LINK),
        (status.st_size > MAX_FILE_BYTES, Refusal.TOO_LARGE),
    )
    return next((Refused(refusal) for failed, refusal in checks if failed), None)


def _is_device_path(real_root: str, real: str) -> bool:
    """A workspace on a RAM disk below /dev is fine; a workspace of / does not make /proc part of it."""
    return real.startswith(_DEVICE_ROOTS) and not real_root.startswith(_DEVICE_ROOTS)


def _open_beneath(real_root: str, real: str, open_file: _OpenFile) -> int:
    *directories, name = PurePath(real).relative_to(real_root).parts
    parent = open_file(real_root, _FOLLOW_NOTHING | os.O_DIRECTORY)
    try:
        for directory in directories:
            child = open_file(directory, _FOLLOW_NOTHING | os.O_DIRECTORY, dir_fd=parent)
            os.close(parent)
            parent = child
        # Without O_NONBLOCK a named pipe put in the file's place would hold us up here.
        return open_file(name, _FOLLOW_NOTHING | os.O_NONBLOCK, dir_fd=parent)
    finally:
        os.close(parent)


def _read_all(descriptor: int) -> bytes:
    """Read to the end, but no further than just over the limit: the file may be growing."""
    data = bytearray()
    while len(data) <= MAX_FILE_BYTES:
        part = os.read(descriptor, MAX_FILE_BYTES + 1 - len(data))
        if not part:
            break
        data += part
    return bytes(data)


def _decode(data: bytes) -> tuple[str, int]:
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8-sig"), 0
    text = data.decode("utf-8-sig", "replace")
    return text, text.count("\ufffd") - data.count("\ufffd".encode())


def _failure(error: OSError) -> Missing | Refused:
    if error.errno in TRANSIENT:
        raise TransientReadError(error.errno, error.strerror) from error
    if error.errno in _GONE:
        return MISSING
    if error.errno == errno.ELOOP:
        return Refused(Refusal.LINK_LOOP)
    return Refused(Refusal.UNREADABLE, error.strerror or "unknown error")
