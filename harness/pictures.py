"""Whether some bytes are a picture that a model can be shown, and of which type.

Pure but for `picture_file`, which looks at both ends of a file. A picture that a provider cannot read stays in a
conversation and fails each of its later turns, so what is no whole picture is found out before.
"""

import os
from collections.abc import Callable, Mapping
from stat import S_ISREG
from typing import BinaryIO, Final

from harness.lean_values import dataclass

MOST_PICTURE_BYTES: Final = 5_000_000
"""How large one picture of a tool may be; our choice, the least that a large provider states."""
NOT_WHOLE: Final = "it is no whole PNG, JPEG, GIF or WebP picture"
_START: Final = 16
_END: Final = 65_536
"""Bytes at the end in which a JPEG file ends; some programs write something behind the picture."""


@dataclass(frozen=True, slots=True)
class PictureFile:
    """What a file is as a picture."""

    media_type: str = ""
    """Empty for what cannot be shown."""
    problem: str = ""
    """Why it cannot be, as the end of a sentence; empty when it can."""


def picture_type(data: bytes) -> str:
    """Return the media type of a picture by its bytes; empty for what is none, or was cut short."""
    return _type_of(data[:_START], data[-_END:], len(data))


def picture_begun(start: bytes) -> str:
    """Return the media type that the first 12 bytes of a picture tell, whole or not; empty for what is none."""
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else ""


def picture_problem(data: bytes, most: int = MOST_PICTURE_BYTES) -> str:
    """Say why a model cannot be shown these bytes, as the end of a sentence; empty when it can."""
    return _too_large(len(data), most) or ("" if picture_type(data) else NOT_WHOLE)


def picture_file(path: str, most: int) -> PictureFile:
    """Look at a file.

    Args:
        path: Where it is, from the root of this machine.
        most: How many bytes it may have.
    """
    try:
        with opened_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if problem := _too_large(size, most):
                return PictureFile(problem=problem)
            start = file.read(_START)
            file.seek(-min(_END, size), os.SEEK_END)
            kind = _type_of(start, file.read(_END), size)
    except IrregularFileError:
        return PictureFile(problem="it is no regular file")
    except (OSError, ValueError) as error:
        return PictureFile(problem=f"it cannot be read ({getattr(error, 'strerror', None) or 'its path is none'})")
    return PictureFile(kind, "" if kind else NOT_WHOLE)


class IrregularFileError(OSError):
    """A folder, a pipe or a device stands where a file should."""


def opened_regular(path: str) -> BinaryIO:
    """Open a file for reading, and no pipe that a command of the agent has put in its place: that would never end.

    Raises:
        OSError: It cannot be read, or is no regular file.
        ValueError: It is no path.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IrregularFileError(f"{path} is no regular file.")
    return os.fdopen(descriptor, "rb")


def _too_large(size: int, most: int) -> str:
    return f"it has {size:,} bytes, and at most {most:,} are shown" if size > most else ""


def _type_of(start: bytes, end: bytes, size: int) -> str:
    kind = picture_begun(start)
    return kind if kind and _WHOLE[kind](start, end, size) else ""


def _is_whole_png(start: bytes, end: bytes, size: int) -> bool:
    del size
    return start[12:16] == b"IHDR" and end[-8:-4] == b"IEND"


def _is_whole_jpeg(start: bytes, end: bytes, size: int) -> bool:
    del start, size
    return b"\xff\xd9" in end


def _is_whole_gif(start: bytes, end: bytes, size: int) -> bool:
    del start, size
    return end[-1:] == b"\x3b"


def _is_whole_webp(start: bytes, end: bytes, size: int) -> bool:
    del end
    told = int.from_bytes(start[4:8], "little")
    return size in (told + 8, told + 9)


_WHOLE: Final[Mapping[str, Callable[[bytes, bytes, int], bool]]] = {
    "image/png": _is_whole_png,
    "image/jpeg": _is_whole_jpeg,
    "image/gif": _is_whole_gif,
    "image/webp": _is_whole_webp,
}
