"""Scenarios are found by name or folder, and a broken one says what is wrong."""

import json
from pathlib import Path

import pytest

from harness.errors import PayloadError
from harness.testing.scenarios import SAMPLE, ScenarioError, find_scenario, read_scenario, scenario_folders

UPDATE = {
    "update_id": 1,
    "message": {
        "message_id": 9, "date": 1_900_000_000, "text": "hi",
        "chat": {"id": 7, "type": "private"}, "from": {"id": 7, "is_bot": False, "first_name": "Orrin"},
    },
}  # fmt: skip
WHOLE: dict[str, object] = {
    "channel": "telegram", "payload": "update.json", "workspace": "w", "model": "m", "answer": "a", "lanes": {},
    "leftOut": {}, "absent": ["x"],
}  # fmt: skip


def scenario(folder: Path, data: object, payload: object = UPDATE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "scenario.json").write_text(json.dumps(data), "utf-8")
    (folder / "update.json").write_text(json.dumps(payload), "utf-8")
    return folder


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


def test_what_is_wrong_with_a_scenario_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"There is no scenario nope; known are: telegram-direct\."):
        find_scenario("nope")
    with pytest.raises(ScenarioError, match="lacks or does not know 'model'"):
        read_scenario(scenario(tmp_path, {name: value for name, value in WHOLE.items() if name != "model"}))
    with pytest.raises(ScenarioError, match="lacks or does not know 'pigeon'"):
        read_scenario(scenario(tmp_path, WHOLE | {"channel": "pigeon"}))
    with pytest.raises(
        ScenarioError, match=r"The scenario file .*/no\.json cannot be read: No such file or directory\."
    ):
        read_scenario(scenario(tmp_path, WHOLE | {"payload": "no.json"}))
    with pytest.raises(PayloadError):
        read_scenario(scenario(tmp_path, WHOLE, payload={}))
    (tmp_path / "scenario.json").write_text("{", "utf-8")
    with pytest.raises(ScenarioError, match="is not JSON"):
        read_scenario(tmp_path)
