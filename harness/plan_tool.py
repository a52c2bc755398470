"""`update_plan`: the tool by which an agent keeps a visible plan of larger work.

Pure. It is offered where `tools.experimental.planTool` is on, and its own description says how to use it (S12), so that
no prompt speaks of it where it is not.
"""

from collections.abc import Callable, Mapping
from typing import Final

from harness.json_value import Json
from harness.tools import Tool, ToolResult, strange_argument
from harness.turns import PlanChanged, PlanStep

NAME: Final = "update_plan"
STATUSES: Final = ("pending", "in_progress", "completed")
IN_PROGRESS: Final = "inProgress"
_AS_EVENT: Final = {"in_progress": IN_PROGRESS}
"""The one status that events spell otherwise than the tool."""
DESCRIPTION: Final = (
    "Keep a plan of work that takes several steps and is not trivial; skip it for simple work of one step. "
    "Give the whole plan each time. At most one step is in_progress. Do not repeat the plan in your answer."
)
SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "explanation": {"type": "string", "description": "Why the plan changed, in a sentence."},
        "plan": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "string", "minLength": 1},
                    "status": {"type": "string", "enum": list[Json](STATUSES)},
                },
                "required": ["step", "status"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["plan"],
    "additionalProperties": False,
}


def plan_tool(on_change: Callable[[PlanChanged], None]) -> Tool:
    """Make the tool; `on_change` hears of each plan that is sound."""

    async def call(arguments: Mapping[str, Json]) -> ToolResult:
        strange = strange_argument(NAME, SCHEMA, arguments)
        if strange:
            return ToolResult(success=False, text=strange)
        found = read_plan(arguments)
        if isinstance(found, str):
            return ToolResult(success=False, text=found)
        on_change(found)
        return ToolResult(success=True, text="The plan is noted.")

    return Tool(NAME, DESCRIPTION, SCHEMA, call)


def read_plan(arguments: Mapping[str, Json]) -> PlanChanged | str:
    """Return the plan that a call gives, or the sentence that says what is wrong with it."""
    steps, explanation = arguments.get("plan"), arguments.get("explanation", "")
    if not isinstance(steps, list) or not steps:
        return "plan must be a list of at least one step."
    if not isinstance(explanation, str):
        return "explanation must be a text."
    found: list[PlanStep] = []
    for number, step in enumerate(steps, 1):
        text = step.get("step") if isinstance(step, dict) else None
        status = step.get("status") if isinstance(step, dict) else None
        if not isinstance(text, str) or not text.strip():
            return f"Step {number} of the plan needs a text under step."
        if not isinstance(status, str) or status not in STATUSES:
            return f"Step {number} of the plan needs a status: {', '.join(STATUSES)}."
        found.append(PlanStep(text.strip(), _AS_EVENT.get(status, status)))
    if sum(step.status == IN_PROGRESS for step in found) > 1:
        return "At most one step of the plan may be in_progress."
    return PlanChanged(tuple(found), explanation.strip())
