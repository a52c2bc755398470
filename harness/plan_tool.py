"""`update_plan`: the tool by which an agent keeps a visible plan of larger work.

Pure. `offers_plan` decides where it is offered. Codex has a plan of its own under the same name, so the bridge never
registers this one there, and Codex's is there whatever this setting says.
"""

import re
from collections.abc import Mapping
from typing import Final

from harness.json_value import Json
from harness.tool_names import PLAN_TOOL as PLAN_TOOL_NAME
from harness.tools import Tool, ToolResult, strange_argument
from harness.turns import PlanChanged, PlanStep

NAME: Final = PLAN_TOOL_NAME
STATUSES: Final = ("pending", "in_progress", "completed")
IN_PROGRESS: Final = "inProgress"
_AS_EVENT: Final = {"in_progress": IN_PROGRESS}
"""The one status that events spell otherwise than the tool."""
ADVICE: Final = (
    "only for work of several steps that is not trivial, with at most one step in_progress; skip it for simple work of "
    "one step."
)
"""When to use it: in its own description, and in a prompt that offers it (S12)."""
DESCRIPTION: Final = (
    f"Keep a visible plan, {ADVICE} Give the whole plan each time, and do not repeat it in your answer."
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


_PROVIDERS: Final = frozenset({"openai", "mock-openai"})
_STRICT: Final = re.compile(r"gpt-5(?:[.o-]|$)")


def offers_plan(chosen: bool | None, model: str | None) -> bool:
    """Whether an agent is offered the tool (prompt-builder 3).

    Args:
        chosen: What the configuration says; None when it says nothing.
        model: The agent's model as provider/id. Without a word of the configuration the tool is for models of OpenAI's
            GPT-5 family, which are made to keep plans.
    """
    if chosen is not None:
        return chosen
    provider, _, bare = (model or "").strip().lower().partition("/")
    return provider in _PROVIDERS and _STRICT.match(bare) is not None


async def _call(arguments: Mapping[str, Json]) -> ToolResult:
    strange = strange_argument(NAME, SCHEMA, arguments)
    if strange:
        return ToolResult(success=False, text=strange)
    found = read_plan(arguments)
    if isinstance(found, str):
        return ToolResult(success=False, text=found)
    return ToolResult(success=True, text="The plan is noted.", plan=found)


PLAN_TOOL: Final = Tool(NAME, DESCRIPTION, SCHEMA, _call)
"""The tool; the plan of a sound call is in its result, for whoever runs the turn to tell."""


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
