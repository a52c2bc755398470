"""Every scenario folder, run on the real binary."""

import shutil
from pathlib import Path

import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import always, say
from codex_bridge.seen import sightings
from harness.testing.scenarios import Scenario, read_scenario, scenario_folders
from harness.turns import Outcome
from tests.support.real import count, stage


@pytest.mark.parametrize(
    "scenario", [read_scenario(folder) for folder in scenario_folders()], ids=lambda scenario: scenario.name
)
async def test_a_scenario_reaches_the_model_as_its_folder_says(
    codex: CodexBinary, state: Path, tmp_path: Path, scenario: Scenario
) -> None:
    """S89."""
    workspace = tmp_path / "workspace"
    shutil.copytree(scenario.workspace, workspace)
    async with stage(codex, state, workspace, always(say(scenario.answer)), model=scenario.model) as play:
        turn = await play.agent.receive(scenario.message)
        result = await turn.result()
    (request,) = play.model.requests
    seen = sightings(turn.lanes.placed, request)
    assert (result.outcome, result.text) == (Outcome.ANSWERED, scenario.answer)
    assert {each.layer.name.value: each.lane.name for each in seen} == scenario.lanes
    assert [each.verdict for each in seen if each.verdict] == []
    assert {each.name.value: each.reason for each in turn.lanes.left_out} == scenario.left_out
    assert {text: count(request, text) for text in scenario.absent} == dict.fromkeys(scenario.absent, 0)
