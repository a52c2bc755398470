"""Which commands run on a thread: one that is not over goes on when its turn has ended.

Pure. A command that Codex began and did not complete lives in the session of its thread, and dies with it.
"""

from codex_bridge.wire.items import ITEMS, CommandItem, ItemValue, UnknownItem
from codex_bridge.wire.notifications import ItemCompleted, ItemStarted


class Commands:
    """The commands at work on one connection, by thread."""

    def __init__(self) -> None:
        self._at_work: dict[str, set[str]] = {}

    def see(self, wire: ItemStarted | ItemCompleted) -> None:
        """Take in that an item began or is whole, in whichever turn."""
        if not _is_command(wire.item):
            return
        if isinstance(wire, ItemStarted):
            self._at_work.setdefault(wire.thread_id, set()).add(wire.item.id)
        elif (running := self._at_work.get(wire.thread_id)) is not None:
            running.discard(wire.item.id)
            if not running:
                del self._at_work[wire.thread_id]

    @property
    def any(self) -> bool:
        """Whether some are at work."""
        return bool(self._at_work)

    def any_on(self, thread_id: str) -> bool:
        """Whether some are at work on a thread."""
        return thread_id in self._at_work

    def end(self, thread_id: str) -> None:
        """The thread was unloaded, and its commands are over."""
        self._at_work.pop(thread_id, None)

    def lose(self) -> None:
        """The server is gone."""
        self._at_work.clear()


def _is_command(item: ItemValue) -> bool:
    """Whether an item is a command, also one that is not understood."""
    return isinstance(item, CommandItem) or (isinstance(item, UnknownItem) and ITEMS.get(item.type) is CommandItem)
