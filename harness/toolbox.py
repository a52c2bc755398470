"""The tools that an agent has on every turn, and what each of them may do on this one.

A conversation's list of tools never changes: their names, descriptions and schemas are the same on each turn, so that a
backend which registers them once need not begin anew. What changes is whether a call is answered.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from harness.inbound import ChatKind
from harness.lean_values import dataclass
from harness.memory.access import Access
from harness.tools import Tool
from harness.turns import Trigger

if TYPE_CHECKING:
    from harness.heartbeat.response import HeartbeatResponder


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChat:
    """The chat that a turn answers, or that a heartbeat may tell."""

    channel: str
    """The channel's name in lower case."""
    chat: str
    """The channel's own id of the chat."""
    topic: str = ""
    message: str = ""
    """The channel's own id of the message that is answered; empty where the turn answers none."""
    kind: ChatKind = ChatKind.DIRECT


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTurn:
    """What decides about the calls of one turn."""

    access: Access
    """Whether it may hear from the memory."""
    responder: "HeartbeatResponder"
    """Takes the answer of a heartbeat; inactive on other turns."""
    key: str = ""
    """What caused the turn, see `TurnRequest.message_key`."""
    session_key: str = ""
    """The conversation."""
    trigger: Trigger = Trigger.CHAT
    owned: bool = False
    """It was caused by the owner or the operator, and nobody else hears what is said on it."""
    chat: OwnChat | None = None
    """None for a turn that has no chat of its own."""


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
