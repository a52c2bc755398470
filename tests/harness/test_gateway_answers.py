"""What an agent reads of the gateway's configuration (prompt-builder 11.8)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.gateway_answers import ConfigAnswerError, config_answer
from harness.gateway_guard import ConfigChangeError, config_hash
from harness.json_value import Json
from harness.units import utf16_units

CONFIG: dict[str, Json] = {
    "agents": {
        "list": [{"id": "pell", "model": "a/b"}, {"id": "tamsin"}],
        "defaults": {"models": {"a/b": {"alias": "b"}}},
    },
    "channels": {"telegram": {"botToken": "123:secret", "requireMention": True, "apiKey": ""}},
    "env": {"PLAIN": "also secret", "OFF": False},
}


def ask(path: str, config: dict[str, Json] = CONFIG) -> Any:
    return json.loads(config_answer(config, path))


def refusal(path: str, config: dict[str, Json] = CONFIG) -> str:
    with pytest.raises(ConfigAnswerError) as caught:
        config_answer(config, path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "place", "value"),
    [
        ("agents.list[0].model", "agents.list[0].model", "a/b"),
        ("agents.list[pell].model", "agents.list[0].model", "a/b"),
        (" agents . list [ 'tamsin' ] ", "agents.list[1]", {"id": "tamsin"}),
        ('agents.defaults.models["a/b"].alias', 'agents.defaults.models["a/b"].alias', "b"),
        ("channels", "channels", {"telegram": {"botToken": "(hidden)", "requireMention": True, "apiKey": ""}}),
        ("channels.telegram.botToken", "channels.telegram.botToken", "(hidden)"),
        ("env", "env", {"PLAIN": "(hidden)", "OFF": False}),
    ],
)
def test_a_part_is_answered_with_its_place_and_the_hash_of_the_whole_and_without_secrets(
    path: str, place: str, value: object
) -> None:
    assert ask(path) == {"path": place, "value": value, "hash": config_hash(CONFIG)}


def test_the_whole_is_answered_without_a_path() -> None:
    answer = ask("")
    assert (answer["path"], set(answer["value"]), answer["hash"]) == ("", set(CONFIG), config_hash(CONFIG))


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("agent", 'There is no "agent" in the configuration; did you mean agents?'),
        ("agents.list[2]", 'There is no "2" in agents.list; it has 0, 1.'),
        ("agents.list[zz].model", 'There is no "zz" in agents.list; it has 0, 1.'),
        ("agents.list[0].model.primary", 'There is no "primary" in agents.list[0].model; it has nothing below it.'),
        ("9" * 5_000, f'There is no "{"9" * 60}" in the configuration; it has agents, channels, env.'),
    ],
)
def test_what_is_not_there_is_named_with_what_is(path: str, sentence: str) -> None:
    assert refusal(path) == sentence


@pytest.mark.parametrize("character", ["x", "\U0001f99e"])
def test_an_answer_of_up_to_12000_units_is_given_and_a_longer_one_refused_with_what_to_ask(character: str) -> None:
    empty = utf16_units(config_answer({"a": {"long": "", "short": 1}}, "a"))
    room = (12_000 - empty) // utf16_units(character)
    fits: dict[str, Json] = {"a": {"long": character * room, "short": 1}}
    assert 11_998 < utf16_units(config_answer(fits, "a")) <= 12_000
    over: dict[str, Json] = {"a": {"long": character * (room + 1), "short": 1}}
    assert refusal("a", over) == (
        f"The answer would have {empty + (room + 1) * utf16_units(character):,} characters, and 12,000 are the most; "
        "ask for one of: a.long, a.short."
    )


def test_a_refusal_names_only_so_many_places() -> None:
    wide: dict[str, Json] = {f"key{number}": "x" * 500 for number in range(100)}
    assert refusal("", wide).endswith("key18, key19 and 80 more.")


def test_a_configuration_that_no_file_can_hold_is_one_sentence() -> None:
    with pytest.raises(ConfigChangeError, match=r"^The configuration holds a number of more than 64 bits at a\.$"):
        config_answer({"a": 2**70}, "a")


@settings(derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(["agents", "list", ".", "[", "]", "0", "pell", '"', "'", " ", "\ud83e", "²", "\n"])))
def test_any_path_ends_in_an_answer_or_one_sentence(words: list[str]) -> None:
    try:
        answer = config_answer(CONFIG, "".join(words))
    except HarnessError as error:
        sentence = str(error)
        answer = "{}"
        assert sentence.isprintable()
    assert isinstance(json.loads(answer), dict)
