"""What providers add, and what models of the GPT-5 family get."""

import pytest

from harness.prompt.contributions import Contribution, contribution, merged
from harness.prompt.gpt5 import CONTRACT, FRIENDLY, HEARTBEATS, gpt5_contribution, is_gpt5


def test_foreign_texts_are_normalised_and_what_is_no_text_is_nothing() -> None:
    """Prompt-builder 5.1."""
    made = contribution(
        stable_prefix=" a \r\nb\ud800 ",
        dynamic_suffix=7,
        overrides={"interaction_style": " \n", "tool_call_style": "## T", "execution_bias": None, "safety": "no rules"},
    )
    assert made == Contribution(stable_prefix="a\nb", tool_call_style="## T")


def test_prefixes_and_suffixes_add_up_once_and_the_later_override_counts() -> None:
    base = Contribution(stable_prefix="a", interaction_style="x", tool_call_style="t")
    more = Contribution(stable_prefix="b", dynamic_suffix="c", interaction_style="y")
    assert merged(base, None, more, Contribution(stable_prefix="a", dynamic_suffix="c")) == Contribution(
        stable_prefix="a\n\nb", dynamic_suffix="c", interaction_style="y", tool_call_style="t"
    )
    assert merged() == merged(None) == Contribution()


@pytest.mark.parametrize(
    ("model", "of_the_family"),
    [
        ("gpt-5", True),
        (" GPT-5.5 ", True),
        ("gpt-5-mini", True),
        ("openai/gpt-5.4", True),
        ("x:gpt-5", True),
        ("gpt-50", False),
        ("gpt-5o", False),
        ("mygpt-5", False),
        ("gpt-6-sol", False),
        ("", False),
    ],
)
def test_the_family_is_known_by_its_id(model: str, of_the_family: bool) -> None:
    """S10, prompt-builder 5.2."""
    assert is_gpt5(model) is of_the_family
    assert (gpt5_contribution(model) is not None) is of_the_family


def test_the_contract_is_always_there_and_the_manner_can_be_switched_off() -> None:
    """S09, S11."""
    assert gpt5_contribution("gpt-5") == Contribution(stable_prefix=CONTRACT, interaction_style=FRIENDLY)
    assert gpt5_contribution("gpt-5", personality="off", heartbeat=True) == Contribution(stable_prefix=CONTRACT)
    assert gpt5_contribution("gpt-5", enabled=False) is None
    tags = ("persona_latch", "execution_policy", "tool_discipline", "output_contract", "completion_contract")
    places = [CONTRACT.index(f"<{tag}>") for tag in tags]
    assert places == sorted(places)


def test_heartbeats_are_spoken_of_on_a_heartbeat_alone_and_below_the_boundary() -> None:
    """D9: a chat must not read that it should be proactive."""
    beat, chat = gpt5_contribution("gpt-5", heartbeat=True), gpt5_contribution("gpt-5")
    assert beat is not None
    assert chat is not None
    assert (beat.dynamic_suffix, chat.dynamic_suffix) == (HEARTBEATS, "")
    assert (beat.stable_prefix, beat.interaction_style) == (chat.stable_prefix, chat.interaction_style)
