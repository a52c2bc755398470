"""The gateway's own tools for an agent: memory, the answer of a heartbeat, messages, the status, a plan."""

from typing import TYPE_CHECKING, Final

from harness.heartbeat.wording import RESPONSE_TOOL
from harness.memory.index import MemoryIndex
from harness.memory.tools import memory_tools
from harness.plan_tool import NAME as PLAN
from harness.plan_tool import PLAN_TOOL, offers_plan
from harness.replies.mode import MESSAGE_TOOL
from harness.settings.agent import AgentSettings
from harness.toolbox import ToolTurn
from harness.tools import Tool

if TYPE_CHECKING:
    from harness.message_tool.tool import Messaging
    from harness.session_status import StatusSource

NAMES: Final = frozenset({"memory_search", "memory_get", RESPONSE_TOOL})
"""Those that every agent has."""


def standard_names(settings: AgentSettings, model: str | None = None) -> frozenset[str]:
    """The names of an agent's standard tools.

    Args:
        settings: The agent's settings.
        model: The model that is used, as provider/id; None for the configured one.
    """
    planned = offers_plan(settings.tools.plan_tool, model or settings.models.primary)
    return NAMES | {PLAN} if planned else NAMES


class StandardTools:
    """They answer by who is listening and what the turn is.

    Args:
        settings: The agent's settings.
        index: Where its notes are indexed.
        context_tokens: The size of the model's context, or None.
        model: The model that is used, as provider/id; None for the configured one.
        messaging: The way to the chats; None for an agent that speaks nowhere but in its answers.
        status: What is told of conversations; None for a backend that tells nothing of them.
    """

    def __init__(
        self,
        settings: AgentSettings,
        index: MemoryIndex,
        *,
        context_tokens: int | None = None,
        model: str | None = None,
        messaging: "Messaging | None" = None,
        status: "StatusSource | None" = None,
    ) -> None:
        self._settings = settings
        self._names = standard_names(settings, model)
        self._messages = None
        if messaging is not None:
            from harness.message_tool.tool import MessageTool  # an agent without an outbox needs none

            self._messages = MessageTool(messaging, settings)
            self._names |= {MESSAGE_TOOL}
        self._status = None
        if status is not None:
            from harness.session_status import NAME, StatusTool

            self._status = StatusTool(status, settings)
            self._names |= {NAME}
        self._index = index
        self._context_tokens = context_tokens

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        return self._names

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        """The tools of one turn."""
        memory = memory_tools(
            self._index,
            str(self._settings.workspace),
            access=lambda: turn.access,
            limits=self._settings.excerpts,
            context_tokens=self._context_tokens,
        )
        plan = (PLAN_TOOL,) if PLAN in self._names else ()
        message = () if self._messages is None else (self._messages.for_turn(turn),)
        status = () if self._status is None else (self._status.for_turn(turn),)
        return (*memory, turn.responder.tool, *message, *status, *plan)
