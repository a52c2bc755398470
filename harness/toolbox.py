"""The tools that an agent has on every turn, and what each of them may do on this one.

A conversation's list of tools never changes: their names, descriptions and schemas are the same on each turn, so that a
backend which registers them once need not begin anew. What changes is whether a call is answered.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from harness.lean_values import dataclass
from harness.memory.access import Access
from harness.tools import Tool

if TYPE_CHECKING:
    from harness.heartbeat.response import HeartbeatResponder


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTurn:
    """What decides about the calls of one turn."""

    access: Access
    """Whether it may hear from the memory."""
    responder: "HeartbeatResponder"
    """Takes the answer of a heartbeat; inactive on other turns."""


class Toolbox(Protocol):
    """Where an agent's tools come from."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        ...

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        """The tools of one turn: always the same ones, whether or not they answer."""
        ...


class Without:
    """A toolbox without some of its tools, which are then spoken of nowhere.

    Args:
        inner: The toolbox.
        names: Their names, in any letter case.
    """

    def __init__(self, inner: Toolbox, names: Iterable[str]) -> None:
        self._inner = inner
        self._closed = frozenset(name.strip().lower() for name in names)

    @property
    def names(self) -> frozenset[str]:
        """The names of those that are left."""
        return frozenset(name for name in self._inner.names if name.lower() not in self._closed)

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        """The tools of one turn that are left."""
        return tuple(tool for tool in self._inner.for_turn(turn) if tool.name in self.names)
