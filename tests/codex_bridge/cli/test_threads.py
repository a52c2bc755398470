"""`threads list` and `threads forget`, which need no Codex."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from codex_bridge.cli.app import app
from harness.errors import HarnessError
from harness.store.bindings import bindings_at
from harness.store.bound import Basis, Binding
from harness.store.transcript import Spoken

CHAT = "agent:main:telegram:direct:7"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of an agent with one conversation, used at a known time."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_BRIDGE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    monkeypatch.setattr("harness.store.bindings.time.time", lambda: 1_935_906_245.0)
    path = tmp_path / "state" / "agents" / "main" / "bridge.sqlite"
    path.parent.mkdir(parents=True)
    anyio.run(fill, path)
    return path


async def fill(path: Path) -> None:
    async with bindings_at(path) as bindings:
        bound = Binding("codex", CHAT, "thread-1", basis=Basis("/home/pell", "gpt-5.5", "openai"))
        await bindings.record(bound, Spoken(said="heron", answered="osprey"))


async def bound(path: Path) -> Binding | None:
    async with bindings_at(path) as bindings:
        assert await bindings.unheard(CHAT, "", 0) == []
        return await bindings.get("codex", CHAT)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["threads", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_chats_and_their_threads_are_listed(store: Path) -> None:
    del store
    assert json.loads(run("list", "--json")) == [
        {
            "chat": CHAT,
            "backend": "codex",
            "thread": "thread-1",
            "model": "gpt-5.5",
            "provider": "openai",
            "folder": "/home/pell",
            "lastUsed": "2031-05-07T07:44:05+00:00",
            "exchanges": 1,
        }
    ]
    lines = run("list").splitlines()
    assert [line for line in lines if CHAT in line and "thread-1" in line and "2031-05-07T07:44:05" in line] != []


def test_a_forgotten_chat_has_no_thread_and_no_word_left(store: Path) -> None:
    assert json.loads(run("forget", CHAT, "--json")) == {"chat": CHAT, "threads": ["thread-1"]}
    assert anyio.run(bound, store) is None
    assert json.loads(run("list", "--json")) == []


def test_a_chat_without_a_thread_cannot_be_forgotten(store: Path) -> None:
    del store
    with pytest.raises(HarnessError, match=r"^No thread belongs to nobody; `codex-bridge threads list` names those"):
        run("forget", "nobody")


HOLD = """
import sys
from pathlib import Path
import anyio
from harness.store.bindings import bindings_at

async def main():
    async with bindings_at(Path(sys.argv[1])):
        print("ready", flush=True)
        sys.stdin.readline()

anyio.run(main)
"""


def test_while_a_gateway_runs_its_chats_are_listed_and_not_changed(store: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(store)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as gateway:
        try:
            assert gateway.stdout is not None
            assert gateway.stdout.readline() == "ready\n"
            assert [each["chat"] for each in json.loads(run("list", "--json"))] == [CHAT]
            with pytest.raises(HarnessError, match=f"is in use by process {gateway.pid}; stop that one first"):
                run("forget", CHAT)
        finally:
            gateway.kill()
