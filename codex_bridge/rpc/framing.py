"""Where one message ends in a stream of bytes: at the newline.

Pure: chunks in, lines out. Only stdio needs it; a WebSocket frame is one message already.
"""

from typing import Final

MESSAGE_LIMIT: Final = 64 * 1024 * 1024
"""Longest message accepted, in bytes. Resumed threads come on one line of several megabytes; this ceiling
only keeps a stream without newlines from filling the memory."""


class MessageTooLargeError(ValueError):
    """A message is longer than the ceiling; the stream cannot be followed any further."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"message too large: more than {limit:,} bytes without an end")
        self.limit = limit


class LineFramer:
    """Cuts a byte stream into lines, at a cost linear in its length.

    Works on bytes, so a character split across two chunks is whole again when its line is.
    """

    def __init__(self, *, limit: int = MESSAGE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes and return the lines that they complete, without line ends; blank ones dropped.

        Raises:
            MessageTooLargeError: A line exceeds the limit. What was buffered is gone; feed no more.
        """
        # No line is longer than all that is here, so that lines need measuring only near the limit.
        near = self._size + len(chunk) > self._limit
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if near and (self._size > self._limit or (lines and max(map(len, lines)) > self._limit)):
            self._parts.clear()
            raise MessageTooLargeError(self._limit)
        return [line for raw in lines if (line := raw.rstrip(b"\r")) and not line.isspace()]

    @property
    def pending(self) -> int:
        """Bytes of the unfinished line."""
        return self._size
