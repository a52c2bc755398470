"""Importing a part brings nothing heavier than it along."""

import pytest

from tests.support.imports import asked_for_by

PARTS = ("harness.workspace", "harness.skills", "harness.memory", "harness.heartbeat")


def test_reading_a_configuration_loads_no_part_that_is_configured() -> None:
    heavy = {"sqlite3", "watchfiles", "yaml", "json5", "anyio", "regex"}
    assert asked_for_by("harness.config") & {*heavy, *PARTS} == set()


@pytest.mark.parametrize("part", PARTS)
def test_no_part_knows_the_configuration(part: str) -> None:
    assert {name for name in asked_for_by(part) if name.startswith("harness.config")} == set()


def test_settings_are_plain_values() -> None:
    known = {"harness", "harness.clock", "harness.json_value", "harness.lazy", "harness.lean_values"}
    ours = {name for name in asked_for_by("harness.settings") if name.partition(".")[0] == "harness"}
    assert {name for name in ours - known if not name.startswith("harness.settings")} == set()
    assert "pydantic" not in asked_for_by("harness.settings")


RARE_ON_A_TURN = {
    "harness.heartbeat.run",
    "harness.heartbeat.wording",
    "harness.memory.daily_files",
    "harness.memory.note",
    "harness.memory.reset",
    "harness.skills.eligibility",
    "harness.skills.parse",
    "harness.skills.watching",
    "harness.workspace.extra_files",
    "harness.workspace.hook_results",
}
"""Loaded by the first turn that needs them: a heartbeat, a bare /new, a skill that was found, a hook."""


def test_gathering_for_a_turn_loads_nothing_that_few_turns_need() -> None:
    heavy = {"sqlite3", "watchfiles", "yaml", "json5", "regex", "pydantic"}
    assert asked_for_by("harness.gather") & (RARE_ON_A_TURN | heavy) == set()


@pytest.mark.parametrize("module", ["harness", "harness.agent", "harness.gather", "harness.config"])
def test_the_harness_asks_for_no_backend_command_line_or_extra(module: str) -> None:
    asked = {name.partition(".")[0] for name in asked_for_by(module)}
    assert asked & {"codex_bridge", "pydantic_ai", "rich", "typer", "websockets"} == set()
