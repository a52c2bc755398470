"""The output of commands that waits to be read, bounded whatever the commands print.

Pure. A command may print more than fits into memory, and its reader may be slow, or not there at all.
"""

from typing import Final

from harness.turns import CommandOutput

MOST_OUTPUT: Final = 128 * 1024
"""Bytes of one command's output that wait for a reader, half of them from its beginning and half from its end."""
MOST_OUTPUTS: Final = 4 * 1024 * 1024
"""Bytes of the output of all commands of a turn that wait for a reader; beyond that the oldest loses all of its own."""
_HALF: Final = MOST_OUTPUT // 2


class KeptOutput:
    """What waits of one command's output.

    Args:
        item: The command.
    """

    __slots__ = ("_head", "_omitted", "_tail", "_whole", "item")

    def __init__(self, item: str) -> None:
        self.item = item
        self._head = bytearray()
        self._tail = bytearray()
        self._omitted = 0
        self._whole = False

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return len(self._head) + len(self._tail)

    def add(self, piece: CommandOutput) -> None:
        """Keep a further piece."""
        if piece.whole:
            self._head.clear()
            self._tail.clear()
            self._omitted, self._whole = 0, True
        data = piece.text.encode("utf-8", "surrogatepass")
        room = 0 if self._tail or self._omitted else _HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * _HALF:  # not each time, which would move the tail for every piece
            self._cut()

    def forget(self) -> None:
        """Keep nothing of it but its length."""
        self._omitted += self.size
        self._head.clear()
        self._tail.clear()

    def taken(self) -> CommandOutput:
        """All that is kept, as one piece."""
        self._cut()
        # What is cut may begin or end within a character.
        head, tail = (bytes(each).decode("utf-8", "ignore") for each in (self._head, self._tail))
        if not self._omitted:
            whole = bytes(self._head + self._tail).decode("utf-8", "surrogatepass")
            return CommandOutput(self.item, whole, self._whole)
        return CommandOutput(
            self.item, f"{head}\n[{self._omitted:,} bytes not shown]\n{tail}", self._whole, self._omitted
        )

    def _cut(self) -> None:
        surplus = len(self._tail) - _HALF
        if surplus > 0:
            del self._tail[:surplus]
            self._omitted += surplus
