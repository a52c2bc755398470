"""The configured model and the depth of thinking, in Codex's words."""

import pytest

from codex_bridge.model_choice import ModelChoice, model_choice
from harness.settings.agent import ModelSettings


@pytest.mark.parametrize(
    ("primary", "model"),
    [
        (None, None),
        (" ", None),
        ("gpt-5.5", "gpt-5.5"),
        ("openai/gpt-5.5", "gpt-5.5"),
        ("OpenAI-Codex/gpt-6-sol", "gpt-6-sol"),
        ("quick", "gpt-5.5-mini"),
    ],
)
def test_a_model_is_named_as_codex_knows_it(primary: str | None, model: str | None) -> None:
    settings = ModelSettings(primary=primary, aliases={"quick": "openai/gpt-5.5-mini"})
    assert model_choice(settings) == ModelChoice(model)


def test_a_model_of_somebody_else_is_named_with_the_way_out() -> None:
    assert model_choice(ModelSettings(primary="anthropic/claude-sonnet", thinking="high")) == ModelChoice(
        None,
        "high",
        "The configured model anthropic/claude-sonnet is no model of Codex, which answers with its own choice; "
        "name one such as openai/gpt-5.5 in agents.defaults.model, or give --model.",
    )


@pytest.mark.parametrize(
    ("thinking", "effort"),
    [("minimal", "low"), ("Medium", "medium"), ("xhigh", "xhigh"), ("off", None), ("adaptive", None), (None, None)],
)
def test_a_level_of_thinking_is_an_effort_where_codex_has_one(thinking: str | None, effort: str | None) -> None:
    assert model_choice(ModelSettings(thinking=thinking)) == ModelChoice(effort=effort)
