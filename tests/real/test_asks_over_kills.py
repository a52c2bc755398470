"""A gateway is killed while somebody is asked: a server that lives on gets the answer, and one that dies gets none."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
from anyio.streams.buffered import BufferedByteReceiveStream

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.model import LoopbackModel, loopback_model
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, say
from harness.approvals.hearing import LOST
from tests.real.test_transports import elsewhere
from tests.support.real import LIMIT

ALLOWED = "Allowed once by `Orrin`."


def script(request: RecordedRequest) -> Action:
    """Run a command, and tell what came of it."""
    outputs = [part.text for part in request.parts() if part.kind == "function_call_output"]
    if not outputs:
        return Reply((CallTool("exec_command", {"cmd": "echo line >> made.txt"}),))
    return say("It was declined." if "rejected" in outputs[-1] else "It ran.")


class Gateway:
    """A gateway in a process of its own."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdout is not None
        self.process = process
        self._lines = BufferedByteReceiveStream(process.stdout)

    async def say(self, text: str, number: str, **more: str) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps({"text": text, "number": number, **more}).encode() + b"\n")

    async def settled(self) -> list[str]:
        """Wait until nothing is left to do, and give all that was shown since the last look."""
        await self.say("settled", "")
        shown: list[str] = []
        while True:
            each: dict[str, Any] = json.loads(await self._lines.receive_until(b"\n", 1_000_000))
            if each["call"] == "settled":
                return shown
            shown.append(each["text"])

    async def end(self) -> None:
        """Have it end as it should, with its server."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        await self.process.wait()

    async def shows(self, words: str) -> dict[str, Any]:
        """Wait for a text with these words."""
        while True:
            shown: dict[str, Any] = json.loads(await self._lines.receive_until(b"\n", 1_000_000))
            if words in shown["text"] or shown["call"] == words:
                return shown


@asynccontextmanager
async def gateway(how: dict[str, Any]) -> AsyncGenerator[Gateway]:
    """Start one; what is left of it at the end of the block is killed."""
    command = [sys.executable, "-m", "tests.support.asking_gateway", json.dumps(how)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await anyio.open_process(command, env=environment, stderr=subprocess.DEVNULL)
    async with process:
        try:
            yield Gateway(process)
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def lines(workspace: Path) -> int:
    path = workspace / "made.txt"
    return len(path.read_text("utf-8").splitlines()) if path.exists() else 0


def is_written_down(state: Path) -> bool:
    """Whether the store knows that the card was sent; a gateway that is killed before that asks with another one."""
    with closing(sqlite3.connect(state / "bridge.sqlite")) as store:
        return bool(store.execute("SELECT 1 FROM asked WHERE sent_as <> ''").fetchall())


@asynccontextmanager
async def killed_while_it_asks(how: dict[str, Any]) -> AsyncGenerator[tuple[Gateway, dict[str, Any]]]:
    """The second gateway, after the first one was killed over its open card."""
    async with gateway(how) as first:
        await first.shows("ready")
        await first.say("go", "1")
        card = await first.shows("May I run this command?")
        while not is_written_down(Path(how["state"])):
            await anyio.lowlevel.checkpoint()
    async with gateway({**how, "after": 1}) as second:
        await second.shows("ready")
        yield second, card
        await second.end()


@asynccontextmanager
async def on_a_unix_socket(
    codex: CodexBinary, state: Path, workspace: Path, seconds: float
) -> AsyncGenerator[tuple[dict[str, Any], LoopbackModel]]:
    with anyio.fail_after(LIMIT):
        async with loopback_model(script) as model, elsewhere("unix", codex, state, model.provider) as remote:
            yield (
                {
                    "address": remote.address,
                    "state": str(state / "gateway"),
                    "workspace": str(workspace),
                    "seconds": seconds,
                    "after": 0,
                },
                model,
            )


async def test_a_server_that_outlived_the_gateway_runs_what_is_allowed_after_it_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with (
        on_a_unix_socket(codex, state, workspace, 600) as (how, model),
        killed_while_it_asks(how) as (second, card),
    ):
        await second.say("", "1", pressed=card["buttons"][0][1])
        await second.shows("It ran.")
        await second.say("", "2", pressed=card["buttons"][0][1])
        shown = await second.settled()
        assert [text for text in shown if "over already" in text] == [f"This is over already. {ALLOWED}"]
        assert "It ran." not in shown
        assert (lines(workspace), len(model.requests)) == (1, 2)


async def test_what_nobody_answers_over_a_restart_is_declined_and_the_turn_goes_on(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with (
        on_a_unix_socket(codex, state, workspace, 3) as (how, _),
        killed_while_it_asks(how) as (second, _),
    ):
        await second.shows("It was declined.")
        assert "It was declined." not in await second.settled()
        assert lines(workspace) == 0


async def test_a_child_that_died_with_the_gateway_runs_nothing_and_a_late_answer_is_told_so_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    with anyio.fail_after(LIMIT):
        async with loopback_model(script) as model:
            how = {
                "codex": str(codex.path),
                "provider": asdict(model.provider),
                "state": str(state),
                "workspace": str(workspace),
                "seconds": 600,
                "after": 0,
            }
            async with killed_while_it_asks(how) as (second, card):
                for number in ("1", "2"):
                    await second.say("", number, pressed=card["buttons"][0][1])
                shown = await second.settled()
                assert shown.count(LOST) == 1
                assert await second.settled() == []
    assert (lines(workspace), len(model.requests)) == (0, 1)
