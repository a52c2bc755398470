"""The last lines of a conversation's transcript file.

Touches the disk. A link, a pipe or anything else that is no regular file counts as an empty transcript.
"""

import os
import stat
from contextlib import suppress

TAIL_BYTES = 256 * 1024
"""How much of the file's end is looked at (prompt-builder 7.9)."""


def transcript_tail(path: str) -> list[bytes]:
    """Return the whole lines within the last `TAIL_BYTES`, oldest first; none when the file cannot be read."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return []
            start = max(0, status.st_size - TAIL_BYTES)
            file.seek(start)
            lines = file.read(TAIL_BYTES).splitlines()
            # The first line of a window that does not begin the file lacks its beginning.
            return lines[1:] if start else lines
    return []
