"""What stands before and after each call of a tool: somebody's own rules. Pure; `tool_running` asks them."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from harness.json_value import Json
from harness.lean_values import dataclass
from harness.tools import ToolResult

HOOK_SECONDS: Final = 15.0
"""How long a hook may take, before a call and after it; our choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A call that is about to be made, or was."""

    session_key: str
    """The conversation that it belongs to."""
    tool: str
    owner: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Refused:
    """The call is not made."""

    reason: str
    """What the model is told, a sentence."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The call is made with other arguments, which are checked like the model's."""

    arguments: Mapping[str, Json]


Verdict: TypeAlias = Refused | Changed | None
"""What a hook makes of a call; None: nothing."""


class ToolHook(Protocol):
    """Rules about calls. One hook serves calls that run at the same time."""

    @property
    def name(self) -> str:
        """Who an operator is told of."""
        ...

    @property
    def covers(self) -> frozenset[str]:
        """What it has to see: "tools" for the gateway's own, "commands" for what the backend runs by itself."""
        ...

    @property
    def required(self) -> bool:
        """Whether no turn may run where the backend cannot have it see what it covers."""
        ...

    async def before(self, use: ToolUse) -> Verdict:
        """Judge a call. One that raises, or takes longer than `HOOK_SECONDS`, refuses it."""
        ...

    async def after(self, use: ToolUse, result: ToolResult) -> ToolResult:
        """Give the result that counts. One that raises, or takes too long, leaves it as it is."""
        ...


def missing_hook(hooks: Sequence[ToolHook], seen: frozenset[str]) -> str:
    """Return the sentence for the first required hook that a backend cannot serve; empty when there is none.

    Args:
        hooks: The hooks of a turn.
        seen: What the backend has hooks see, see `ToolHook.covers`.
    """
    for hook in hooks:
        if hook.required and (unseen := hook.covers - seen):
            what = ", ".join(sorted(unseen))
            return f"The hook {hook.name} is required and cannot see {what} here, so the turn was not run."
    return ""
