"""Scenarios are found by name or folder, and a broken one says what is wrong."""

from pathlib import Path

import pytest

from harness.errors import PayloadError
from harness.testing.scenarios import (
    SAMPLE,
    ScenarioError,
    UnknownScenarioError,
    find_scenario,
    read_scenario,
    scenario_folders,
)
from tests.support.scenarios import WHOLE, scenario


def test_this_projects_scenarios_are_found_by_name() -> None:
    assert [folder.name for folder in scenario_folders()] == ["telegram-direct"]
    found = find_scenario("telegram-direct")
    assert (found.name, found.workspace, found.message.channel) == ("telegram-direct", SAMPLE, "telegram")


def test_scenarios_of_the_current_folder_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "fixtures" / "scenarios"
    root.mkdir(parents=True)
    scenario(root / "telegram-direct", WHOLE)
    monkeypatch.chdir(tmp_path)
    assert find_scenario("telegram-direct").model == "m"


def test_a_folder_is_a_scenario_with_a_workspace_beside_it(tmp_path: Path) -> None:
    found = find_scenario(str(scenario(tmp_path / "mine", WHOLE)))
    assert (found.name, found.workspace, found.absent) == ("mine", tmp_path / "mine" / "w", ("x",))
    assert found.message.text == "hi"


def test_a_scenario_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnknownScenarioError, match=r"^There is no scenario nope; known are: telegram-direct\."):
        find_scenario("nope")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": 5}, "In the scenario {} model is 5, but must be text."),
        ({"model": " "}, 'In the scenario {} model is " ", but must be text.'),
        ({"payload": 5}, "In the scenario {} payload is 5, but must be text."),
        ({"workspace": {}}, "In the scenario {} workspace is an object, but must be text."),
        ({"channel": "pigeon"}, 'In the scenario {} channel is "pigeon", but must be "telegram" or "discord".'),
        ({"channel": ["telegram"]}, 'In the scenario {} channel is a list, but must be "telegram" or "discord".'),
        ({"answer": None}, "In the scenario {} answer is null, but must be text."),
        ({"absent": None}, "In the scenario {} absent is null, but must be a list of texts."),
        ({"absent": "x"}, 'In the scenario {} absent is "x", but must be a list of texts.'),
        ({"absent": [1]}, "In the scenario {} absent is a list, but must be a list of texts."),
        ({"lanes": []}, "In the scenario {} lanes is a list, but must be an object of texts."),
        ({"leftOut": {"a": 1}}, "In the scenario {} leftOut is an object, but must be an object of texts."),
    ],
)
def test_a_wrong_key_is_named_with_its_file_and_what_it_may_be(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_scenario(scenario(tmp_path, WHOLE | change))
    assert str(caught.value) == sentence.format(tmp_path / "scenario.json")


@pytest.mark.parametrize("key", WHOLE)
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    with pytest.raises(ScenarioError, match=rf"^The scenario .*/scenario\.json lacks {key}, which must be .*\.$"):
        read_scenario(scenario(tmp_path, {name: value for name, value in WHOLE.items() if name != key}))


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("[]", "is not a JSON object"),
        ("5", "is not a JSON object"),
        ("{", "is not JSON: Expecting property name enclosed in double quotes in line 1, column 2"),
        ("[" * 100_000, "is beyond what a JSON reader takes"),
        ("1" * 5_000, "is beyond what a JSON reader takes"),
    ],
    ids=["list", "number", "open", "deep", "long number"],
)
@pytest.mark.parametrize(("file", "what"), [("scenario.json", "scenario"), ("update.json", "scenario payload")])
def test_a_file_of_a_scenario_that_is_no_json_object_is_named(
    tmp_path: Path, file: str, what: str, text: str, clause: str
) -> None:
    folder = scenario(tmp_path, WHOLE)
    (folder / file).write_text(text, "utf-8")
    with pytest.raises(PayloadError) as caught:
        read_scenario(folder)
    assert str(caught.value) == f"The {what} {folder / file} {clause}."


def test_a_payload_that_is_not_there_or_not_of_its_channel_is_named(tmp_path: Path) -> None:
    with pytest.raises(PayloadError, match=r"^The scenario payload .*/no\.json cannot be read: No such file"):
        read_scenario(scenario(tmp_path, WHOLE | {"payload": "no.json"}))
    with pytest.raises(PayloadError, match=r"^The scenario payload .*/update\.json: This is not a Telegram update: "):
        read_scenario(scenario(tmp_path, WHOLE, payload={}))
