"""Skills bring variables to the commands of an agent."""

import pytest

from harness.skills import SkillEntry, skill_environment
from tests.harness.skills.shelf import skill

WEATHER = skill("weather", key="wx", primary_env="WX_KEY")


def test_an_entrys_variables_and_api_key_are_collected() -> None:
    entries = {
        "wx": SkillEntry(api_key="k", env={"WX_UNITS": "metric", "EMPTY": ""}),
        "other": SkillEntry(env={"O": "1"}),
    }
    collected = skill_environment([WEATHER, skill("plain")], entries)
    assert (collected.values, collected.refused) == ({"WX_UNITS": "metric", "WX_KEY": "k"}, ())
    assert "metric" not in repr(collected)


def test_a_variable_named_in_env_beats_the_api_key_and_the_first_skill_beats_the_second() -> None:
    entries = {"wx": SkillEntry(api_key="k", env={"WX_KEY": "env"}), "b": SkillEntry(env={"WX_KEY": "second"})}
    assert skill_environment([WEATHER, skill("b")], entries).values == {"WX_KEY": "env"}


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "node_options", "PYTHONPATH", "GIT_SSH_COMMAND", "A=B", "1X", ""]
)
def test_names_that_change_what_runs_are_refused_with_a_sentence(name: str) -> None:
    collected = skill_environment([WEATHER], {"wx": SkillEntry(env={name: "1", "GOOD": "2"})})
    assert collected.values == {"GOOD": "2"}
    assert collected.refused == (
        f"skills.entries.wx may not set {name!r}; set it for the gateway itself if it is meant.",
    )


def test_a_reference_to_a_key_is_named_unless_the_variable_is_set_otherwise() -> None:
    reference = {"source": "vault", "id": "wx"}
    unset = skill_environment([WEATHER], {"wx": SkillEntry(api_key=reference)})
    by_env = skill_environment([WEATHER], {"wx": SkillEntry(api_key=reference, env={"WX_KEY": "k"})})

    assert (unset.values, unset.refused) == (
        {},
        (
            "skills.entries.wx.apiKey is a reference that nobody replaced by its key; "
            "set WX_KEY in skills.entries.wx.env or write the key.",
        ),
    )
    assert (by_env.values, by_env.refused) == ({"WX_KEY": "k"}, ())
