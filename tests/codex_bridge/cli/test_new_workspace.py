"""`codex-bridge setup`, as somebody starts it who has nothing yet."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from codex_bridge.cli.app import app
from harness.workspace.starter_files import starter_text

ALL = ["AGENTS.md", "TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_BRIDGE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    return tmp_path


def setup(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["setup", *arguments])
    assert done.exit_code == code, done.output
    return done.stdout


def data(*arguments: str) -> dict[str, Any]:
    return json.loads(setup("--json", *arguments))


def test_a_new_agent_gets_its_folder_where_the_gateway_looks_for_it(home: Path) -> None:
    folder = home / ".openclaw" / "workspace"
    told = setup()
    assert told.splitlines() == [
        *(f"written  {name}" for name in ALL),
        f"The workspace {folder} is ready. "
        "In the first conversation the agent asks who it is to be, as BOOTSTRAP.md says.",
    ]
    assert {name: (folder / name).read_text("utf-8") for name in ALL} == {name: starter_text(name) for name in ALL}


def test_what_is_there_stays_and_what_is_missing_is_written(home: Path) -> None:
    folder = home / "w"
    folder.mkdir()
    (folder / "SOUL.md").write_text("dry", "utf-8")
    first, second = data("--workspace", str(folder)), data("--workspace", str(folder))
    assert (folder / "SOUL.md").read_text("utf-8") == "dry"
    # Who wrote its SOUL.md is past the first conversation, and may do without the other files of the profile.
    assert first == {
        "workspace": str(folder),
        "written": ["AGENTS.md", "TOOLS.md"],
        "removed": [],
        "firstRun": False,
        "notices": [],
    }
    assert second == {**first, "written": []}
    assert setup("--workspace", str(folder)) == f"The workspace {folder} lacks nothing.\n"


def test_an_operator_who_fills_workspaces_differently_is_obeyed(home: Path) -> None:
    """`skipBootstrap` and `skipOptionalBootstrapFiles`."""
    folder = home / "w"
    (home / "openclaw.json").write_text("{agents: {defaults: {workspace: '~/w', skipBootstrap: true}}}", "utf-8")
    told = setup("--config", str(home / "openclaw.json"))
    assert (told, list(folder.iterdir())) == (
        f"The workspace {folder} is there; no file was written, since agents.defaults.skipBootstrap is set.\n",
        [],
    )
    (home / "openclaw.json").write_text(
        "{agents: {defaults: {workspace: '~/w', skipOptionalBootstrapFiles: ['USER.md']}}}", "utf-8"
    )
    assert data("--config", str(home / "openclaw.json"))["written"] == [name for name in ALL if name != "USER.md"]


def test_a_folder_that_is_suddenly_empty_is_left_alone_and_named(home: Path) -> None:
    folder = home / "w"
    setup("--workspace", str(folder))
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "codex_bridge", "setup", "--workspace", str(folder)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, list(folder.iterdir())) == (2, "", [])
    assert done.stderr.startswith(f"codex-bridge: The workspace {folder} is empty, but it was in use at ")
    assert done.stderr.count("\n") == 1
