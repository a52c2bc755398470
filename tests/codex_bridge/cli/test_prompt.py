"""`prompt` and `context --harness embedded`: what a model gets that does not run on Codex, and what Codex gets."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from codex_bridge.cli.app import app
from harness.prompt.boundary import MARKER


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a workspace, and no configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    workspace = tmp_path / "w"
    workspace.mkdir()
    for name in ("AGENTS.md", "SOUL.md", "MEMORY.md"):
        (workspace / name).write_text(f"{name} says hello", encoding="utf-8")
    return tmp_path


def run(place: Path, *arguments: str, code: int = 0) -> str:
    words = list(arguments)
    if "--scenario" not in words:
        words += ["--workspace", str(place / "w")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return done.stdout


def refused(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["prompt", *arguments])
    assert done.exception is not None
    return str(done.exception)


def data(place: Path, *arguments: str) -> Any:
    return json.loads(run(place, "prompt", "--json", *arguments))


def test_the_sections_are_listed_with_the_boundary_between_them(place: Path) -> None:
    lines = run(place, "prompt").splitlines()
    names = [line.split()[0] for line in lines[2 : lines.index("")]]
    assert names[:2] == ["identity", "tooling"]
    assert names.index("project_context") + 2 == names.index("dynamic_context")
    assert lines[2 + names.index("project_context") + 1].startswith(MARKER)
    assert names[-1] == "runtime"
    assert any(line.startswith("workspace/BOOTSTRAP.md") for line in lines)


def test_the_text_alone_is_the_prompt_and_the_data_agrees_with_it(place: Path) -> None:
    text, found = run(place, "prompt", "--text"), data(place)
    assert found["text"] + "\n" == text
    assert found["units"] == found["account"]["units"] == len(text) - 1
    assert [part["name"] for part in found["parts"]] == [row["name"] for row in found["account"]["sections"]]
    assert "AGENTS.md says hello" in text.partition(MARKER)[0]
    assert "MEMORY.md says hello" in text.partition(MARKER)[2]


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        (["--mode", "none"], 1),
        (["--for", "subagent"], 2),
        (["--for", "cron"], 2),
        (["--mode", "minimal"], 2),
        ([], 3),
    ],
)
def test_the_mode_is_the_turns_or_the_one_asked_for(place: Path, arguments: list[str], mode: int) -> None:
    names = {part["name"] for part in data(place, *arguments)["parts"]}
    assert ("tooling" in names, "messaging" in names) == (mode > 1, mode > 2)


def test_a_scenario_brings_its_workspace_words_and_model(place: Path) -> None:
    found = data(place, "--scenario", "telegram-direct", "--harness", "codex")
    assert {part["name"] for part in found["parts"]} == {
        "native", "thread_developer", "turn_developer", "turn_input"
    }  # fmt: skip
    assert next(part for part in found["parts"] if part["name"] == "turn_input")["text"].startswith("⛵")
    inside = data(place, "--scenario", "telegram-direct")
    assert "Current model identity: gpt-5.5." in inside["text"]
    assert inside["text"].count("⛵") == 0


def test_tools_can_be_named(place: Path) -> None:
    text = run(place, "prompt", "--text", "--tool", "Read", "--tool", "cron")
    assert [line for line in text.splitlines()[3:6] if line.startswith("- ")] == [
        "- Read: Read a file",
        "- cron: Set, change and list reminders and scheduled jobs; word a reminder so that it makes sense then",
    ]


def test_two_prompts_are_compared(place: Path, tmp_path: Path) -> None:
    other, saved = tmp_path / "other", tmp_path / "saved.txt"
    other.mkdir()
    (other / "AGENTS.md").write_text("AGENTS.md says hello", encoding="utf-8")
    saved.write_text(run(place, "prompt", "--text"), encoding="utf-8")
    difference = run(place, "prompt", "--diff", str(other), code=1)
    assert f"--- {other}\n+++ this prompt\n" in difference
    assert "\n+SOUL.md says hello\n" in difference
    assert run(place, "prompt", "--diff", str(saved)) == "The two prompts are the same.\n"
    assert "--- telegram-direct\n" in run(place, "prompt", "--diff", "telegram-direct", code=1)


def test_what_is_not_there_is_named(place: Path) -> None:
    assert refused("--scenario", "nope").startswith("There is no scenario nope; known are: telegram-direct.")
    assert refused("--workspace", str(place / "w"), "--diff", "nope").endswith(
        "Nor is it a workspace folder or a file with a prompt."
    )
    assert refused("--workspace", str(place / "no")) == (
        f"The workspace {place}/no is no folder; create it or name another."
    )


def test_context_accounts_for_the_system_prompt_of_the_embedded_harness(place: Path) -> None:
    """S62, S67."""
    report = json.loads(run(place, "context", "json", "--harness", "embedded"))
    prompt = data(place)
    assert report["systemPrompt"] == prompt["account"]
    lanes = {line["name"]: line["lane"] for line in report["layers"]}
    assert lanes["workspace/SOUL.md"] == "system prompt, above the cache boundary"
    assert lanes["workspace/MEMORY.md"] == "system prompt, below the cache boundary"
    listed = run(place, "context", "--harness", "embedded")
    assert f"System prompt: {prompt['units']:,} units" in listed
    assert f"sha256 {prompt['account']['stable']['hash'][:16]}" in listed
