"""`status`: an agent at a glance, from what is on the machine."""

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner

from codex_bridge.cli.app import app
from codex_bridge.cli.last_prompt import FILE, LastPrompt, LastPrompts
from codex_bridge.cli.setup import STORE
from codex_bridge.home import agent_dir, private_dir
from harness.delivery.advice import TOO_OLD
from harness.report import tokens
from harness.store.bindings import bindings_at
from harness.store.bound import Binding
from harness.store.deliveries import Deliveries
from tests.support.delivery import inbound

CONFIG = """{ agents: { list: [{ id: "pell", name: "Pell of the Light", model: "openai/gpt-5.5", workspace: "~/w" }] },
  plugins: { entries: { codex: { config: { appServer: { sandbox: "read-only" } } } } } }"""
LAST = LastPrompt(
    at="2031-05-08T08:00:00+00:00",
    session_key="agent:pell:telegram:direct:7",
    model="gpt-5.5",
    layers={"workspace/SOUL.md": 1_200, "message/text": 34},
    lanes={"turn/start · input": 34},
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one agent and a binary that knows its version."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_BRIDGE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "SOUL.md").write_text("dry", encoding="utf-8")
    return binary(tmp_path, "echo codex-cli 0.171.7-beta")


def binary(folder: Path, script: str) -> Path:
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return folder


def run(place: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["status", "--codex", str(place / "codex"), *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def data(place: Path, *arguments: str) -> Any:
    return json.loads(run(place, "--json", *arguments))


def rows(place: Path) -> dict[str, str]:
    lines = [line.split(None, 1) for line in run(place).splitlines()]
    return {line[0]: line[1] for line in lines if len(line) == 2}


def test_a_home_without_a_login_names_the_command_that_signs_that_home_in(place: Path) -> None:
    theirs = place / "theirs"
    theirs.mkdir()
    # A long line of a table is broken anywhere.
    shown, of_theirs = ("".join(run(place, "--codex-home", home).split()) for home in ("own", str(theirs)))
    assert "notsignedin:runcodex-bridgelogin--agentpelllast" in shown
    assert f"notsignedin:runcodex-bridgelogin--codex-home{theirs}last" in of_theirs


@pytest.mark.parametrize(("harness", "shown"), [("codex", False), ("auto", False), ("openclaw", True)])
def test_the_system_prompt_is_accounted_for_where_the_model_does_not_run_on_codex(
    place: Path, harness: str, shown: bool
) -> None:
    """S62: size and hash of what the embedded harness would send."""
    config = json.dumps(
        {
            "agents": {
                "list": [{"id": "pell", "model": "acme/rocket", "workspace": "~/w"}],
                "defaults": {"models": {"acme/rocket": {"agentRuntime": {"id": harness}}}},
            }
        }
    )
    (place / ".openclaw" / "openclaw.json").write_text(config, encoding="utf-8")
    found = data(place)["systemPrompt"]
    told = CliRunner().invoke(app, ["prompt", "--harness", "embedded", "--json"])
    account = json.loads(told.stdout)["account"]
    expected = {"units": account["units"], "tokens": tokens(account["units"]), "hash": account["hash"]}
    assert found == ({**expected, "stable": account["stable"]} if shown else None)
    line = rows(place).get("system", "")
    assert (account["stable"]["hash"][:16] in line) is shown


async def bind(path: Path) -> None:
    async with bindings_at(path) as bindings:
        await bindings.put(Binding("codex", LAST.session_key, "thread-1"))


def test_all_that_is_known_is_shown(place: Path) -> None:
    folder = place / "state" / "agents" / "pell"
    (folder / "codex-home").mkdir(parents=True)
    (folder / "codex-home" / "auth.json").write_text("{}", encoding="utf-8")
    (folder / FILE).write_text(LAST.model_dump_json(by_alias=True), encoding="utf-8")
    anyio.run(bind, folder / "bridge.sqlite")
    found = data(place)
    upcoming = found.pop("nextPrompt")
    (conversation,) = found.pop("conversations")
    assert found == {
        "agent": {"id": "pell", "name": "Pell of the Light", "default": True},
        "config": {"path": str(place / ".openclaw" / "openclaw.json"), "findings": 0},
        "workspace": str(place / "w"),
        "harness": "codex",
        "model": "openai/gpt-5.5",
        "sandbox": "read-only",
        "approvals": "on-request",
        "mayAnswer": [],
        "codex": {"path": str(place / "codex"), "source": "the path given", "version": "0.171.7-beta"},
        "home": {"path": str(folder / "codex-home"), "own": True, "signedIn": True},
        "lastPrompt": {
            "source": "run",
            "at": "2031-05-08T08:00:00+00:00",
            "sessionKey": "agent:pell:telegram:direct:7",
            "model": "gpt-5.5",
            "layers": {"workspace/SOUL.md": 1_200, "message/text": 34},
            "lanes": {"turn/start · input": 34},
            "units": 1_234,
            "tokens": 309,
        },
        "undelivered": [],
        "systemPrompt": None,
        "server": None,
        "problems": [],
    }
    assert (conversation["sessionKey"], conversation["thread"]) == ("agent:pell:telegram:direct:7", "thread-1")
    shown = rows(place)
    assert shown["agent"].strip() == "pell, Pell of the Light (the default)"
    assert (
        shown["last"]
        .strip()
        .endswith("1,234 units (~309 tokens) for agent:pell:telegram:direct:7, 2031-05-08T08:00:00+00:00")
    )
    assert shown["next"].strip().removeprefix("prompt").strip() == (
        f"{upcoming['units']:,} units (~{upcoming['tokens']:,} tokens) without the words, tool schemas "
        f"{upcoming['toolSchemaUnits']:,}, 0 skills"
    )
    assert "agent:pell:telegram:direct:7" in shown


def test_the_next_prompt_has_the_sizes_that_context_shows(place: Path) -> None:
    report = json.loads(CliRunner().invoke(app, ["context", "json"]).stdout)
    assert data(place)["nextPrompt"] == {
        "source": "estimate",
        "units": report["units"],
        "tokens": tokens(report["units"]),
        "toolSchemaUnits": report["tools"]["schemaUnits"],
        "skills": 0,
        "files": [{"name": "workspace/SOUL.md", "state": "OK", "raw": 3, "kept": 3}],
        "notices": [],
    }


def test_a_file_that_was_cut_is_named_with_both_its_sizes(place: Path) -> None:
    """S62."""
    (place / "w" / "SOUL.md").write_text("s" * 30_000, encoding="utf-8")
    (place / "w" / "TOOLS.md").write_text("t" * 50, encoding="utf-8")
    assert {line["name"]: (line["raw"], line["kept"]) for line in data(place)["nextPrompt"]["files"]} == {
        "workspace/SOUL.md": (30_000, 19_999),
        "workspace/TOOLS.md": (50, 50),
    }
    assert rows(place)["files"].strip() == "2 in it, 20,049 units; SOUL.md TRUNCATED, 30,000 -> 19,999"


def test_what_is_not_there_is_said_and_the_rest_shown(place: Path) -> None:
    folder = place / "state" / "agents" / "pell"
    folder.mkdir(parents=True)
    (folder / "bridge.sqlite").write_text("no database", encoding="utf-8")
    (folder / FILE).write_text('{"at": 5}', encoding="utf-8")
    found = data(binary(place, "exit 1"), "--workspace", str(place / "no"))
    assert (found["codex"]["version"], found["home"]["signedIn"]) == (None, False)
    assert (found["lastPrompt"], found["nextPrompt"], found["conversations"]) == (None, None, [])
    assert [text.partition(" ")[0] for text in found["problems"]] == ["The", "The"]
    assert found["problems"][1] == f"The workspace {place}/no is no folder; create it or name another."
    (place / "codex").unlink()
    assert data(place)["codex"] is None
    assert "No conversations yet." in run(place)
    assert not (folder / "codex-home").exists()


def test_the_note_of_the_last_prompt_is_the_owners_alone_and_costs_no_answer_where_it_cannot_be_written(
    tmp_path: Path,
) -> None:
    notes = LastPrompts(tmp_path)
    notes.keep(LAST)
    assert notes.read() == LAST
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [(FILE, 0o600)]
    nowhere = LastPrompts(tmp_path / "no")
    nowhere.keep(LAST)
    assert nowhere.read() is None


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("0.171.0", []),
        ("0.172.0", ["Codex 0.172.0 is newer than all that this bridge was tested on"]),
        ("0.162.9", ["Codex 0.162.9 is too old for this bridge"]),
    ],
)
def test_a_binary_that_the_bridge_does_not_know_is_told_of(place: Path, version: str, told: list[str]) -> None:
    binary(place, f"echo codex-cli {version}")
    problems = data(place)["problems"]
    assert [problem[: len(start)] for problem, start in zip(problems, told, strict=True)] == told
    assert all(start in " ".join(run(place).split()) for start in told)


async def leave_open(place: Path) -> None:
    folder = private_dir(agent_dir(place / "state", "pell"))
    at = time.time()
    async with bindings_at(folder / STORE) as bindings:
        deliveries = Deliveries(bindings.database)
        for number in ("1", "2", "3"):
            await deliveries.admit(inbound(number, at=at))
        await deliveries.admit(inbound("4", at=at - 100_000))
        await deliveries.begin(["telegram:7:2"], "telegram:7:2")
        await deliveries.answer("telegram:7:3", {0: "One.", 1: "Two."})


def test_messages_without_an_answer_are_listed_with_what_comes_of_them(place: Path) -> None:
    anyio.run(leave_open, place)
    plans = [(each["messages"], each["state"], each["plan"]) for each in data(place)["undelivered"]]
    assert plans == [
        (["telegram:7:1"], "admitted", "The next start runs it."),
        (["telegram:7:2"], "running", "The next start looks up what became of its turn."),
        (["telegram:7:3"], "answered", "The next start delivers its answer (2 texts)."),
        (["telegram:7:4"], "admitted", f"The next start says: {TOO_OLD}"),
    ]
    assert "telegram:7:2  running   The next start looks up what became of its turn." in run(place)


def test_what_a_running_gateway_works_on_is_said_to_be_its_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anyio.run(leave_open, place)

    def holder(path: Path) -> int:
        assert path.name == STORE
        return 4711

    monkeypatch.setattr("codex_bridge.cli.undelivered.holder_of", holder)
    assert {each["plan"] for each in data(place)["undelivered"]} == {"Process 4711 sees to it."}
