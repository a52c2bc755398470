from dataclasses import replace

import pytest

from harness.config import ConfigFinding, Surroundings, UnsetVariable, read_config
from harness.config.places import Json
from harness.config.variables import plain_tree, with_variables


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("${KEY}", "k1"),
        ("Bearer ${KEY}-${OTHER_2}", "Bearer k1-o2"),
        ("$${KEY}", "${KEY}"),
        ("$${KEY} is ${KEY}", "${KEY} is k1"),
        ("${lower} $KEY ${} $", "${lower} $KEY ${} $"),
    ],
)
def test_upper_case_references_are_replaced_and_a_doubled_dollar_keeps_them(written: str, read: str) -> None:
    findings: list[ConfigFinding] = []

    assert with_variables({"a": [written]}, {"KEY": "k1", "OTHER_2": "o2"}, findings) == {"a": [read]}
    assert findings == []


def test_a_reference_to_nothing_is_named_and_its_key_counts_as_not_written(machine: Surroundings) -> None:
    text = """{
        skills: {entries: {maps: {apiKey: "${MAPS_KEY}", enabled: true}}},
        agents: {list: [{id: "ana", skills: ["${SKILL}", "maps"]}]},
    }"""

    config = read_config(text, replace(machine, environment={"MAPS_KEY": ""}))

    assert config.findings == (
        UnsetVariable("skills.entries.maps.apiKey", "MAPS_KEY"),
        UnsetVariable("agents.list[0].skills[0]", "SKILL"),
    )
    assert config.values.skills.entries["maps"].api_key is None
    assert config.values.agents.list[0].skills == ("${SKILL}", "maps")


def test_an_environment_value_is_never_shown(machine: Surroundings) -> None:
    secret = replace(machine, environment={"KEY": "s3cret"})

    config = read_config('{skills: {entries: {maps: {apiKey: "${KEY}"}}}}', secret)

    assert config.values.skills.entries["maps"].api_key == "s3cret"
    assert "s3cret" not in repr(secret)


@pytest.mark.parametrize(
    ("tree", "plain"),
    [("\ud83d\ude00", "😀"), ("a\ud83d", "a\ufffd"), ({"\udc00": ["\ude00b"]}, {"\ufffd": ["\ufffdb"]}), ("é", "é")],
    ids=["pair", "first half", "second half", "none"],
)
def test_escaped_pairs_become_their_character_and_halves_a_mark(tree: Json, plain: Json) -> None:
    assert plain_tree(tree) == plain
