"""The commands as a person starts them: a process of its own, an empty home."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codex_bridge.binary import CodexBinary

SAMPLE = Path(__file__).parent.parent.parent / "harness" / "testing" / "sample"
DEVELOPER = "thread/start · developerInstructions"
SENTINELS = {
    "gateway/runtime": ("You run inside a personal agent gateway.", "developer", DEVELOPER),
    "gateway/tool-manifest": ("# Tools of the gateway", "developer", DEVELOPER),
    "gateway/subagents": ("# Subagents", "developer", DEVELOPER),
    "workspace/AGENTS.md": ("The rule written in AGENTS.md", "user", "Codex reads it from the working directory"),
    "workspace/TOOLS.md": ("The device noted in TOOLS.md", "developer", DEVELOPER),
    "workspace/SOUL.md": ("The voice written in SOUL.md", "mode", MODE := "turn/start · collaborationMode.settings."
                          "developer_instructions"),
    "workspace/IDENTITY.md": ("The name written in IDENTITY.md", "mode", MODE),
    "workspace/USER.md": ("The person described in USER.md", "mode", MODE),
    "gateway/memory-note": ("Long-term memory is kept in this file.", "mode", MODE),
    "message/text": ("Is it worth polishing the lens", "user", "turn/start · input"),
}  # fmt: skip


FRAMES = {"<collaboration_mode>": "mode", "# Files of your workspace": "quoted"}
NO_KEY = "Expecting property name enclosed in double quotes"


def run(codex: CodexBinary, state: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(state), "PATH": os.environ["PATH"], "CODEX_BIN": str(codex.path), "COLUMNS": "118"}
    return subprocess.run(
        [sys.executable, "-m", "codex_bridge", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )


def test_the_demo_shows_each_sentinel_where_the_model_saw_it(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "demo", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    data: dict[str, Any] = json.loads(done.stdout)
    seen: dict[str, tuple[str, str, str]] = {}
    for layer in data["layers"]:
        sentinel = SENTINELS[layer["layer"]][0]
        parts = [part for part in data["received"] if sentinel in part["text"]]
        assert [f"{part['item']}.{part['part']}" for part in parts] == layer["seenAt"]
        (part,) = parts
        role = next((role for start, role in FRAMES.items() if part["text"].startswith(start)), part["role"])
        seen[layer["layer"]] = (sentinel, role, layer["lane"])
    assert seen == SENTINELS
    assert data["asPromised"] is True
    assert "".join(data["reply"]["pieces"]) == data["reply"]["text"]
    assert [request["method"] for request in data["sent"]] == ["thread/start", "turn/start"]


def test_the_demo_tells_a_person_the_same(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "demo")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "workspace/SOUL.md collaborationMode 130 1.2 in its lane" in lines
    assert lines[-1] == "Every layer reached the model once, in its lane, and the reply came back whole."
    assert list((state / ".local/state/openclaw-codex-bridge/demo").iterdir()) == []


def test_a_payload_becomes_an_outbox_and_the_chat_goes_on_in_the_next_process(codex: CodexBinary, state: Path) -> None:
    arguments = ("turn", "--payload", str(SAMPLE / "update.json"), "--workspace", str(SAMPLE / "workspace"))
    first, second = (json.loads(run(codex, state, *arguments, "--loopback", "--json").stdout) for _ in range(2))
    question = "Morning! Is it worth polishing the lens before the weekend?"
    assert first["outbox"] == [
        {
            "channel": "telegram",
            "chat": "555010203",
            "replyTo": "2041",
            "text": f"The loopback model received: {question}",
        }
    ]
    assert first["result"]["thread"] == second["result"]["thread"]
    assert first["result"]["turn"] != second["result"]["turn"]


def test_a_turn_for_a_person_prints_the_answer_alone(codex: CodexBinary, state: Path) -> None:
    update = (SAMPLE / "update.json").read_text("utf-8")
    done = run(
        codex, state, "turn", "--payload", "-", "--workspace", str(SAMPLE / "workspace"), "--loopback", stdin=update
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("The loopback model received: Morning! Is it worth polishing the lens before the weekend?\n")


def test_without_a_login_one_sentence_names_both_ways(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "turn", "--payload", str(SAMPLE / "update.json"), "--workspace", str(SAMPLE / "workspace"))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("codex-bridge: Codex is not signed in for agent 'main'")
    assert "`codex-bridge login --agent main`" in done.stderr
    assert "`--codex-home user`" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_login_by_key_is_used_by_the_next_turn(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "login", "--with", "api-key", "--agent", "keeper", stdin="sk-invented-0123456789\n")
    assert (done.returncode, done.stderr) == (0, "")
    home = state / ".local/state/openclaw-codex-bridge/agents/keeper/codex-home"
    assert done.stdout == f"Signed in with an API key; Codex home: {home}\n"


@pytest.mark.parametrize(
    ("payload", "stdin", "sentence"),
    [
        ("no-such-file.json", "", "The payload no-such-file.json cannot be read: No such file or directory."),
        (
            "-",
            "{",
            "The payload stdin is not JSON: Expecting property name enclosed in double quotes in line 1, column 2.",
        ),
        ("-", "[]", "The payload stdin is not a JSON object."),
        ("-", "{}", "This is not a Telegram update: update_id: field required."),
    ],
    ids=["missing", "broken", "array", "foreign"],
)
def test_a_wrong_payload_gets_one_sentence(
    codex: CodexBinary, state: Path, payload: str, stdin: str, sentence: str
) -> None:
    done = run(codex, state, "turn", "--workspace", str(state), "--payload", payload, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"codex-bridge: {sentence}\n")


def test_a_binary_that_is_not_there_is_named_with_what_to_do(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "demo", "--codex", "nowhere/codex")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "codex-bridge: No Codex binary found. Tried: the path given (nowhere/codex is no file). Install one with: "
        "pip install 'openclaw-codex-bridge[codex]', or name yours in CODEX_BIN.\n"
    )
