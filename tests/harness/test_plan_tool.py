"""`update_plan` (S12, prompt-builder 3)."""

import pytest

from harness.json_value import Json
from harness.plan_tool import DESCRIPTION, plan_tool
from harness.tools import ToolResult
from harness.turns import PlanChanged, PlanStep


def step(text: Json, status: Json = "pending") -> Json:
    return {"step": text, "status": status}


async def test_a_sound_plan_is_handed_on() -> None:
    heard: list[PlanChanged] = []
    plan: list[Json] = [step(" Look ", "completed"), step("Mend", "in_progress"), step("Check")]
    result = await plan_tool(heard.append).call({"plan": plan, "explanation": "Found it."})
    assert result == ToolResult(success=True, text="The plan is noted.")
    steps = (PlanStep("Look", "completed"), PlanStep("Mend", "inProgress"), PlanStep("Check", "pending"))
    assert heard == [PlanChanged(steps, "Found it.")]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "plan must be a list of at least one step."),
        ({"plan": []}, "plan must be a list of at least one step."),
        (
            {"plan": [step("a", "in_progress"), step("b", "in_progress")]},
            "At most one step of the plan may be in_progress.",
        ),
        (
            {"plan": [step("a"), step("b", "doing")]},
            "Step 2 of the plan needs a status: pending, in_progress, completed.",
        ),
        ({"plan": [step(" ")]}, "Step 1 of the plan needs a text under step."),
        ({"plan": ["a"]}, "Step 1 of the plan needs a text under step."),
        ({"plan": [step("a")], "explanation": 7}, "explanation must be a text."),
        ({"plan": [step("a")], "why": ""}, "'why' is no argument of update_plan; it takes explanation, plan."),
    ],
)
async def test_a_plan_that_is_wrong_is_refused_with_what_is_wrong(arguments: dict[str, Json], problem: str) -> None:
    heard: list[PlanChanged] = []
    assert await plan_tool(heard.append).call(arguments) == ToolResult(success=False, text=problem)
    assert heard == []


def test_the_description_itself_says_when_to_use_it() -> None:
    """S12: only for work of several steps, at most one in progress, not for simple work."""
    for words in (
        "several steps",
        "skip it for simple work",
        "At most one step is in_progress",
        "Do not repeat the plan",
    ):
        assert words in DESCRIPTION
