"""What a server tells of a thread before it has said which turn is ours.

Pure. A ledger has one thread, and each notification names its turn, so what is kept is known by both. The answer to
turn/start takes milliseconds, so this is little; when it is lost, a turn runs for half a minute unconfirmed. So pieces
of one text are joined, and of what commands print no more than `MOST_OUTPUT` is kept: all of it comes when the command
ends.
"""

from collections.abc import Iterable
from typing import Final

from codex_bridge.wire.notifications import Delta, Stream, TurnBegan, Wire
from codex_bridge.wire.requests import Turn

MOST_OUTPUT: Final = 1024 * 1024
"""Bytes of commands' output."""


class _Pieces:
    """The pieces of one text."""

    __slots__ = ("first", "text")

    def __init__(self, first: Delta) -> None:
        self.first = first
        self.text = bytearray()

    def joined(self) -> Delta:
        first, text = self.first, self.text.decode("utf-8", "surrogatepass")
        return Delta(first.thread_id, first.turn_id, first.item_id, first.stream, text)


class Early:
    """The early notifications of one thread."""

    def __init__(self) -> None:
        self._kept: list[Wire | _Pieces] = []
        self._pieces: dict[tuple[str, str, Stream], _Pieces] = {}
        self._printed = 0
        self.began: dict[str, Turn] = {}
        """The turns that began, by id; the last one last."""

    def keep(self, wire: Wire) -> None:
        """Keep a notification."""
        if isinstance(wire, Delta):
            self._join(wire)
            return
        if isinstance(wire, TurnBegan):
            self.began[wire.turn.id] = wire.turn
        self._kept.append(wire)

    def take(self) -> Iterable[Wire]:
        """All that was kept, in the order of arrival; nothing is kept any more."""
        kept, self._kept = self._kept, []
        self._pieces.clear()
        return [each.joined() if isinstance(each, _Pieces) else each for each in kept]

    def _join(self, delta: Delta) -> None:
        data = delta.text.encode("utf-8", "surrogatepass")
        if delta.stream is Stream.COMMAND_OUTPUT:
            if self._printed + len(data) > MOST_OUTPUT:
                return
            self._printed += len(data)
        key = (delta.turn_id, delta.item_id, delta.stream)
        pieces = self._pieces.get(key)
        if pieces is None:
            pieces = self._pieces[key] = _Pieces(delta)
            self._kept.append(pieces)
        pieces.text += data
