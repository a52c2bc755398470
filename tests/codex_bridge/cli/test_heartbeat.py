"""`heartbeat` without a run: what it says of the next one, and what it refuses."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from codex_bridge.cli.app import app
from codex_bridge.cli.heartbeat import STATE_FILE
from codex_bridge.cli.options import OptionError
from harness.errors import WorkspaceError
from harness.heartbeat import HeartbeatState, save_state

TASKS = """tasks:
- name: vents
  interval: 2h
  prompt: Look at the vents.
- name: bad
  interval: soon
  prompt: Hm.
"""
NEVER = "HEARTBEAT.md: task 'bad' never runs: 'soon' is no interval; write one such as 30m"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("CODEX_BRIDGE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    (tmp_path / "w").mkdir()
    return tmp_path


def run(place: Path, *arguments: str, heartbeat: str = "{}", file: str | None = TASKS) -> str:
    (place / "openclaw.json").write_text(f"{{agents: {{defaults: {{heartbeat: {heartbeat}}}}}}}", "utf-8")
    if file is not None:
        (place / "w" / "HEARTBEAT.md").write_text(file, "utf-8")
    words = ("heartbeat", *arguments, "--workspace", str(place / "w"), "--config", str(place / "openclaw.json"))
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def plan(place: Path, heartbeat: str = "{}", file: str | None = TASKS, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(place, "--json", *arguments, heartbeat=heartbeat, file=file))
    return found


def test_the_plan_says_when_the_next_one_is_due_and_what_it_would_ask(place: Path) -> None:
    found = plan(place)
    due = datetime.fromisoformat(found.pop("next"))
    assert timedelta(0) < due - datetime.now(UTC) <= timedelta(minutes=30)
    assert found.pop("poll").startswith(
        "Heartbeat check. These recurring tasks are due; do each of them now:\n- vents: "
    )
    assert found == {
        "agent": "main",
        "every": 1800,
        "wouldRun": True,
        "skip": None,
        "why": "",
        "session": "agent:main:main",
        "target": None,
        "light": False,
        "isolated": False,
        "tasks": [
            {"name": "vents", "every": 7200, "lastRun": None, "due": True},
            {"name": "bad", "every": None, "lastRun": None, "due": False},
        ],
        "problems": [NEVER],
    }


def test_the_plan_knows_what_ran_already(place: Path) -> None:
    now = datetime.now(UTC)
    folder = place / "state" / "agents" / "main"
    folder.mkdir(parents=True)
    save_state(folder / STATE_FILE, HeartbeatState(task_runs=(("vents", now),)))
    found = plan(place)
    assert (found["wouldRun"], found["skip"], found["poll"]) == (False, "no-tasks-due", "")
    assert found["tasks"][0] == {"name": "vents", "every": 7200, "lastRun": now.isoformat(), "due": False}
    assert plan(place, "{}", TASKS, "--loopback")["wouldRun"]


@pytest.mark.parametrize(
    ("heartbeat", "file", "skip"),
    [
        ("{every: '0m'}", TASKS, "disabled"),
        ("{}", "# Nothing\n", "empty-heartbeat-file"),
        ("{activeHours: {start: '08:00', end: '08:00'}}", TASKS, "quiet-hours"),
    ],
)
def test_the_plan_says_why_it_would_be_skipped(place: Path, heartbeat: str, file: str, skip: str) -> None:
    found = plan(place, heartbeat, file)
    assert (found["wouldRun"], found["skip"], bool(found["why"])) == (False, skip, True)
    assert (found["next"] is None) is (skip == "disabled")


def test_the_configured_chat_and_context_are_named(place: Path) -> None:
    found = plan(place, "{target: 'telegram', to: '7', lightContext: true, isolatedSession: true, every: '2h'}")
    assert found["session"] == "agent:main:telegram:direct:7:heartbeat"
    assert found["target"] == {"channel": "telegram", "chat": "7"}
    assert (found["light"], found["isolated"], found["every"]) == (True, True, 7200)


@pytest.mark.parametrize(
    ("target", "session"),
    [
        ("target: 'telegram', to: '7'", "agent:main:telegram:direct:7"),
        ("target: 'telegram', to: '-1001234567890'", "agent:main:main:shared:telegram:-1001234567890"),
        ("target: 'discord', to: '42'", "agent:main:main:shared:discord:42"),
    ],
)
def test_a_chat_that_may_be_a_group_is_not_taken_for_the_owners(place: Path, target: str, session: str) -> None:
    assert plan(place, f"{{{target}}}")["session"] == session
    shared = "others than the owner may read" in run(place, heartbeat=f"{{{target}}}")
    assert shared is (":shared:" in session)


def test_a_person_reads_the_same(place: Path) -> None:
    lines = run(place, heartbeat="{target: 'telegram', to: '7', every: '90m'}").splitlines()
    assert lines[0].startswith("Next: ")
    assert lines[1:3] == ["It would run.", "Heartbeats of main: every 1 h 30 min, tells telegram 7."]
    assert [line.split() for line in lines[5:8]] == [
        ["task", "every", "last", "run", "due", "then"],
        ["vents", "2", "h", "never", "yes"],
        ["bad", "never", "never", "no"],
    ]
    assert lines[8] == f"! {NEVER}"
    skipped = run(place, file="# Nothing\n").splitlines()[1]
    assert skipped == "It would be skipped: HEARTBEAT.md asks for nothing (empty-heartbeat-file)."
    off = run(place, heartbeat="{every: 0}").splitlines()[0]
    assert off.startswith("No heartbeat: this agent has no heartbeats: ")


def test_a_file_that_must_not_be_read_is_named(place: Path) -> None:
    (place / "other.md").write_text("- steal", "utf-8")
    (place / "w" / "HEARTBEAT.md").symlink_to(place / "other.md")
    (problem,) = plan(place, "{}", None)["problems"]
    assert problem.startswith("HEARTBEAT.md was not read: it leads outside the workspace; ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--once", "--watch"),
            "One runs a single heartbeat now and the other all of them when they are due; leave out one of --once and "
            "--watch.",
        ),
        (("--model", "gpt-5.5"), "--model is for --once and --watch: a plan asks no model."),
        (("--codex", "codex"), "--codex is for --once and --watch: a plan asks no model."),
    ],
)
def test_options_that_would_do_nothing_are_refused(place: Path, words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(OptionError) as refused:
        run(place, *words)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("words", [(), ("--once", "--loopback")])
def test_a_workspace_that_is_not_there_is_named(place: Path, words: tuple[str, ...]) -> None:
    (place / "w").rmdir()
    with pytest.raises(WorkspaceError, match=r"The workspace .*/w is no folder"):
        run(place, *words, file=None)
