"""The gateway's own tools for an agent: the memory, and the answer of a heartbeat."""

from typing import Final

from harness.heartbeat.wording import RESPONSE_TOOL
from harness.memory.index import MemoryIndex
from harness.memory.tools import memory_tools
from harness.settings.agent import AgentSettings
from harness.toolbox import ToolTurn
from harness.tools import Tool

NAMES: Final = frozenset({"memory_search", "memory_get", RESPONSE_TOOL})


class StandardTools:
    """They answer by who is listening and what the turn is.

    Args:
        settings: The agent's settings.
        index: Where its notes are indexed.
        context_tokens: The size of the model's context, or None.
    """

    def __init__(self, settings: AgentSettings, index: MemoryIndex, *, context_tokens: int | None = None) -> None:
        self._settings = settings
        self._index = index
        self._context_tokens = context_tokens

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        return NAMES

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        """The tools of one turn."""
        memory = memory_tools(
            self._index,
            str(self._settings.workspace),
            access=lambda: turn.access,
            limits=self._settings.excerpts,
            context_tokens=self._context_tokens,
        )
        return (*memory, turn.responder.tool)
