"""`update_plan` (S12, prompt-builder 3)."""

import pytest

from harness.json_value import Json
from harness.plan_tool import DESCRIPTION, PLAN_TOOL, offers_plan
from harness.tools import ToolResult
from harness.turns import PlanChanged, PlanStep


def step(text: Json, status: Json = "pending") -> Json:
    return {"step": text, "status": status}


async def test_a_sound_plan_is_handed_on() -> None:
    plan: list[Json] = [step(" Look ", "completed"), step("Mend", "in_progress"), step("Check")]
    result = await PLAN_TOOL.call({"plan": plan, "explanation": "Found it."})
    steps = (PlanStep("Look", "completed"), PlanStep("Mend", "inProgress"), PlanStep("Check", "pending"))
    assert result == ToolResult(success=True, text="The plan is noted.", plan=PlanChanged(steps, "Found it."))


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
    assert await PLAN_TOOL.call(arguments) == ToolResult(success=False, text=problem)


def test_the_description_itself_says_when_to_use_it() -> None:
    """S12: only for work of several steps, at most one in progress, not for simple work."""
    for words in (
        "only for work of several steps that is not trivial",
        "skip it for simple work",
        "at most one step in_progress",
        "do not repeat it in your answer",
    ):
        assert words in DESCRIPTION


@pytest.mark.parametrize(
    ("chosen", "model", "offered"),
    [
        (True, None, True),
        (True, "acme/rocket", True),
        (False, "openai/gpt-5.5", False),
        (None, "openai/gpt-5.5", True),
        (None, " OpenAI/GPT-5 ", True),
        (None, "mock-openai/gpt-5o", True),
        (None, "openai/gpt-50", False),
        (None, "openai/gpt-4.1", False),
        (None, "azure-openai/gpt-5", False),
        (None, "gpt-5", False),
        (None, None, False),
    ],
)
def test_a_plan_is_offered_by_the_configuration_or_to_models_made_for_it(
    chosen: bool | None, model: str | None, offered: bool
) -> None:
    """S12, prompt-builder 3."""
    assert offers_plan(chosen, model) is offered
