"""The subagents of running turns: what each of them used and how it ended.

Pure. A subagent has a thread of its own that speaks on the same connection, without any word of its beginning. Its
turns name the turn that they go back to (`rootTurnId`, measured on both versions), and by that it is known: nothing
that it says is taken for its parent's.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from codex_bridge.ledger import TurnLedger
from codex_bridge.telling import Tell
from codex_bridge.wire.notifications import ThreadTokenUsage, TurnBegan, Wire
from harness.lean_values import dataclass
from harness.turns import EndedBy, Finished, SubagentFinished, SubagentStarted

ParentT = TypeVar("ParentT")


@dataclass(frozen=True, slots=True)
class Child(Generic[ParentT]):
    """A subagent at work."""

    parent: ParentT
    ledger: TurnLedger


class Children(Generic[ParentT]):
    """Follows the subagents of one connection, and of all turns on it.

    Args:
        parent_of: Finds the turn with an id of the server's; None for a turn that is none of ours.
        tell: Says what the error means that a subagent fails with.
        counted: The last count of each thread.
    """

    def __init__(
        self,
        parent_of: Callable[[str], ParentT | None],
        tell: Tell,
        counted: Mapping[str, ThreadTokenUsage] = MappingProxyType({}),
    ) -> None:
        self._tell = tell
        self._counted = counted
        self._parent_of = parent_of
        self._at_work: dict[str, Child[ParentT]] = {}

    def see(self, thread_id: str, wire: Wire) -> tuple[ParentT, SubagentStarted | SubagentFinished] | None:
        """Take in a notification of a thread that is no conversation of ours; gives what its parent should hear."""
        if isinstance(wire, TurnBegan):
            return self._begin(wire)
        child = self._at_work.get(thread_id)
        if child is None:
            return None
        for event in child.ledger.see(wire):
            if isinstance(event, Finished):
                del self._at_work[thread_id]
                return child.parent, SubagentFinished(thread_id, event.result)
        return None

    def parent_at(self, thread_id: str) -> ParentT | None:
        """The turn that a subagent on that thread works for now; None when there is none on it."""
        child = self._at_work.get(thread_id)
        return child.parent if child is not None else None

    def ledger_at(self, thread_id: str) -> TurnLedger | None:
        """The account of the subagent that works on that thread now."""
        child = self._at_work.get(thread_id)
        return child.ledger if child is not None else None

    def of(self, parent: ParentT) -> tuple[TurnLedger, ...]:
        """The accounts of those that work for a turn now."""
        return self.of_those(lambda each: each is parent)

    def of_those(self, one_of: Callable[[ParentT], bool]) -> tuple[TurnLedger, ...]:
        """The accounts of those that work now for a turn of which that is true."""
        return tuple(child.ledger for child in self._at_work.values() if one_of(child.parent))

    def work_for(self, one_of: Callable[[ParentT], bool]) -> bool:
        """Whether some are at work for a turn of which that is true."""
        return any(one_of(child.parent) for child in self._at_work.values())

    @property
    def any(self) -> bool:
        """Whether some are at work."""
        return bool(self._at_work)

    def lose(self) -> list[tuple[ParentT, TurnLedger]]:
        """The server is gone, and all of them with it as far as is known here; gives them, by whom they worked for."""
        lost = [(child.parent, child.ledger) for child in self._at_work.values()]
        self._at_work.clear()
        return lost

    def _begin(self, began: TurnBegan) -> tuple[ParentT, SubagentStarted] | None:
        root = began.turn.root_turn_id
        known = self._at_work.get(began.thread_id)
        # One that is spoken to again may be at work for another turn than at first.
        parent = None if root == began.turn.id else self._parent_of(root)
        parent = known.parent if parent is None and known is not None else parent
        if parent is None or (known is not None and known.ledger.turn_id == began.turn.id):  # or told of it already
            return None
        # It ends by itself, or by the agent that it works for.
        ledger = TurnLedger(began.thread_id, self._tell, EndedBy.ITSELF, self._counted.get(began.thread_id))
        ledger.accept(began.turn)
        ledger.see(began)
        self._at_work[began.thread_id] = Child(parent, ledger)
        return parent, SubagentStarted(began.thread_id)
