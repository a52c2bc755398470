"""The environment variables of prompt-builder 14, and where they lead."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config import Surroundings, config_file, this_machine
from harness.config.machine import is_timezone

HOME = Path("/home/ana")


@pytest.mark.parametrize(
    ("environment", "state", "workspace", "file"),
    [
        ({}, HOME / ".openclaw", HOME / ".openclaw/workspace", HOME / ".openclaw/openclaw.json"),
        (
            {"OPENCLAW_PROFILE": "lab"},
            HOME / ".openclaw-lab",
            HOME / ".openclaw/workspace-lab",
            HOME / ".openclaw-lab/openclaw.json",
        ),
        (
            {"OPENCLAW_PROFILE": "Default"},
            HOME / ".openclaw",
            HOME / ".openclaw/workspace",
            HOME / ".openclaw/openclaw.json",
        ),
        (
            {"OPENCLAW_HOME": "/srv/bot"},
            Path("/srv/bot/.openclaw"),
            Path("/srv/bot/.openclaw/workspace"),
            Path("/srv/bot/.openclaw/openclaw.json"),
        ),
        (
            {"OPENCLAW_STATE_DIR": "~/state", "OPENCLAW_WORKSPACE_DIR": "~/work"},
            HOME / "state",
            HOME / "work",
            HOME / "state/openclaw.json",
        ),
        (
            {"OPENCLAW_CONFIG_PATH": "~/my.json5", "OPENCLAW_STATE_DIR": "/state"},
            Path("/state"),
            HOME / ".openclaw/workspace",
            HOME / "my.json5",
        ),
        (
            {"OPENCLAW_CONFIG_PATH": "  ", "OPENCLAW_STATE_DIR": ""},
            HOME / ".openclaw",
            HOME / ".openclaw/workspace",
            HOME / ".openclaw/openclaw.json",
        ),
    ],
    ids=["nothing set", "profile", "default profile", "home", "folders", "file", "blank"],
)
def test_environment_variables_move_state_workspace_and_file(
    machine: Surroundings, environment: dict[str, str], state: Path, workspace: Path, file: Path
) -> None:
    moved = replace(machine, environment=environment)

    assert (moved.state_dir, moved.default_workspace, config_file(moved)) == (state, workspace, file)


def test_a_named_file_comes_before_the_environment(machine: Surroundings) -> None:
    moved = replace(machine, environment={"OPENCLAW_CONFIG_PATH": "/other.json"})

    assert config_file(moved, Path("mine.json")) == Path("mine.json")


def test_the_bundled_skills_folder_is_the_environments(machine: Surroundings) -> None:
    moved = replace(machine, environment={"OPENCLAW_BUNDLED_SKILLS_DIR": "~/bundled"})

    assert (machine.bundled_skills_dir, moved.bundled_skills_dir) == (None, HOME / "bundled")


@pytest.mark.parametrize(
    ("written", "path"),
    [("~", HOME), ("~/a", HOME / "a"), ("~b/c", Path("~b/c")), (" /x ", Path("/x")), ("/a\0b", Path("/ab"))],
)
def test_only_a_leading_tilde_of_ones_own_is_the_home(machine: Surroundings, written: str, path: Path) -> None:
    assert machine.path(written) == path


def test_this_machine_has_a_home_and_a_known_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    monkeypatch.setenv("OPENCLAW_PROFILE", "lab")

    found = this_machine()

    assert (found.home, found.host_timezone, found.profile) == (Path.home(), "Asia/Tokyo", "lab")


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "/etc/localtime"])
def test_a_strange_tz_variable_falls_back_to_a_known_zone(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)

    assert is_timezone(this_machine().host_timezone)


@pytest.mark.parametrize(
    ("variables", "clock"),
    [
        ({}, "24"),
        ({"LANG": "en_US.UTF-8"}, "12"),
        ({"LANG": "en_US.UTF-8", "LC_TIME": "fr_FR.UTF-8"}, "24"),
        ({"LC_ALL": "en_AU", "LC_TIME": "fr_FR.UTF-8"}, "12"),
        ({"LANG": "fr_CA.UTF-8"}, "24"),
        ({"LANG": "en_CA.UTF-8"}, "12"),
        ({"LANG": "C.UTF-8"}, "24"),
    ],
)
def test_the_locale_tells_how_the_time_is_written(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], clock: str
) -> None:
    for name in ("LC_ALL", "LC_TIME", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert (this_machine().host_clock, this_machine().platform) == (clock, sys.platform)
