"""The tool with which a heartbeat turn ends: `heartbeat_respond`.

The tool is registered for the whole conversation and means something only on heartbeat turns: the first valid
answer counts, a second one is refused and ends the turn; elsewhere a quiet answer does nothing and an alert is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from harness.heartbeat.wording import RESPONSE_TOOL
from harness.json_value import Json
from harness.tools import Tool, ToolResult, strange_argument

Priority = Literal["low", "normal", "high"]


class Outcome(StrEnum):
    """What a heartbeat came to."""

    NO_CHANGE = "no_change"
    PROGRESS = "progress"
    DONE = "done"
    BLOCKED = "blocked"
    NEEDS_ATTENTION = "needs_attention"


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """A valid call of the tool."""

    outcome: Outcome
    notify: bool
    summary: str
    notification_text: str = ""
    reason: str = ""
    priority: Priority = "normal"
    next_check: str = ""

    @property
    def message(self) -> str:
        """What the owner is told when `notify` is true."""
        return self.notification_text or self.summary


DESCRIPTION: Final = (
    "Ends a heartbeat turn. Call it exactly once, as the last step, and only when the turn is a heartbeat. "
    "notify=false keeps the turn quiet; notify=true sends notificationText, or the summary, to the owner."
)
_TEXTS: Final[tuple[tuple[str, str], ...]] = (
    ("summary", "One sentence on what was checked or done."),
    ("notificationText", "The message for the owner; needed only with notify=true."),
    ("reason", "Why this outcome, when it is not obvious."),
    ("nextCheck", "When to look again, if that is before the next heartbeat: '30m', '14:30' or a date with a time."),
)
_REQUIRED: Final = ("outcome", "notify", "summary")
_PRIORITIES: Final[dict[str, Priority]] = {"low": "low", "normal": "normal", "high": "high"}
INPUT_SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "outcome": {"type": "string", "enum": [outcome.value for outcome in Outcome]},
        "notify": {"type": "boolean"},
        "priority": {"type": "string", "enum": list(_PRIORITIES)},
        **{name: {"type": "string", "description": text} for name, text in _TEXTS},
    },
    "required": list(_REQUIRED),
    "additionalProperties": False,
}
"""The arguments of the tool (field names: openclaw-codex-harness 14.1)."""


def read_answer(arguments: Mapping[str, Json]) -> HeartbeatAnswer | str:
    """Return the answer that a call gives, or the sentence that says what is wrong with the call."""
    if problem := strange_argument(RESPONSE_TOOL, INPUT_SCHEMA, arguments):
        return problem
    notify = arguments.get("notify")
    if not isinstance(notify, bool):
        return "notify must be true or false."
    outcome = arguments.get("outcome")
    if not isinstance(outcome, str) or outcome not in set(Outcome):
        return f"outcome must be one of {', '.join(Outcome)}."
    # Models fill an optional argument that they have nothing for with null.
    given = {name: value for name, value in arguments.items() if value is not None or name in _REQUIRED}
    priority = given.get("priority", "normal")
    if not isinstance(priority, str) or priority not in _PRIORITIES:
        return f"priority must be one of {', '.join(_PRIORITIES)}."
    texts: dict[str, str] = {}
    for name, _ in _TEXTS:
        value = given.get(name, "")
        if not isinstance(value, str):
            return f"{name} must be a text."
        texts[name] = value.strip()
    if not texts["summary"]:
        return "summary must say in a sentence what was checked or done."
    return HeartbeatAnswer(
        Outcome(outcome),
        notify,
        texts["summary"],
        texts["notificationText"],
        texts["reason"],
        _PRIORITIES[priority],
        texts["nextCheck"],
    )


@dataclass(slots=True)
class HeartbeatResponder:
    """What one turn has answered so far, and the tool that takes the answer."""

    active: bool
    """True on a heartbeat turn."""
    answer: HeartbeatAnswer | None = field(default=None, init=False)
    """The turn's answer, once there is one."""

    @property
    def tool(self) -> Tool:
        """The tool for this turn; its name, description and schema are the same on every turn."""
        return Tool(RESPONSE_TOOL, DESCRIPTION, INPUT_SCHEMA, self.call)

    async def call(self, arguments: Mapping[str, Json]) -> ToolResult:
        """Take one call of the model."""
        read = read_answer(arguments)
        if isinstance(read, str):
            return ToolResult(False, read)
        if not self.active:
            if read.notify:
                return ToolResult(False, "This turn is no heartbeat: say it in your answer instead.")
            return ToolResult(True, "This turn is no heartbeat; nothing was recorded.")
        if self.answer is not None:
            return ToolResult(False, "This heartbeat is already answered.", ends_turn=True)
        self.answer = read
        return ToolResult(True, "Recorded. The heartbeat is over.")
