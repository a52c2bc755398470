"""Importing a part brings nothing heavier than it along."""

import subprocess
import sys

import pytest

PARTS = ("harness.workspace", "harness.skills", "harness.memory", "harness.heartbeat")


def loaded_by(module: str) -> set[str]:
    code = f"import {module}, sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_reading_a_configuration_loads_no_part_that_is_configured() -> None:
    heavy = {"sqlite3", "watchfiles", "yaml", "json5", "anyio", "regex"}
    assert loaded_by("harness.config") & {*heavy, *PARTS} == set()


@pytest.mark.parametrize("part", PARTS)
def test_no_part_knows_the_configuration(part: str) -> None:
    assert {name for name in loaded_by(part) if name.startswith("harness.config")} == set()


def test_settings_are_plain_values() -> None:
    known = {"harness", "harness.clock", "harness.json_value", "harness.lazy"}
    ours = {name for name in loaded_by("harness.settings") if name.partition(".")[0] == "harness"}
    assert {name for name in ours - known if not name.startswith("harness.settings")} == set()
    assert "pydantic" not in loaded_by("harness.settings")


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
    assert loaded_by("harness.gather") & (RARE_ON_A_TURN | heavy) == set()
