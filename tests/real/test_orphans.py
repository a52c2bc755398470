"""What a gateway that is killed leaves behind: its server is ended by the next start, and nothing else is."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.client import ignore_all, refuse_all
from codex_bridge.home import Home
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, always, say
from codex_bridge.params import ThreadSettings
from codex_bridge.process import Launch, app_server
from codex_bridge.processes import began, sessions_of
from harness.turns import Outcome
from tests.support.real import LIMIT, stage
from tests.support.serving import is_running

FREE = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
GATEWAY = """
import sys
from pathlib import Path

import anyio

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import always, say
from tests.support.real import stage

path, state, workspace = sys.argv[1:]


async def run():
    async with stage(CodexBinary(Path(path), "the test"), Path(state), Path(workspace), always(say("Fine."))) as play:
        await play.ask("heron", number="1")
        print((await play.harness.ready()).pid, flush=True)
        await anyio.sleep_forever()


anyio.run(run)
"""


def killed_gateway(codex: CodexBinary, state: Path, workspace: Path) -> int:
    """Run a gateway in a process of its own, stop its server, and kill the gateway; gives the server's id."""
    arguments = [str(codex.path), str(state), str(workspace)]
    with subprocess.Popen([sys.executable, "-c", GATEWAY, *arguments], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            server = int(child.stdout.readline())
            # One that runs ends by itself when its stdin does; one that hangs does not.
            os.kill(server, signal.SIGSTOP)
        finally:
            child.kill()
    return server


@asynccontextmanager
async def unrelated(codex: CodexBinary, state: Path) -> AsyncGenerator[int]:
    """A Codex of somebody else's."""
    home = Home(state / "somebody", owned=False)
    home.path.mkdir()
    async with app_server(Launch(codex, home), on_notification=ignore_all, on_request=refuse_all) as server:
        yield server.pid


async def test_the_server_of_a_gateway_that_was_killed_is_ended_by_the_next_start_and_no_other_one_is(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """User report I6."""
    with anyio.fail_after(LIMIT):
        async with unrelated(codex, state) as theirs:
            left = await anyio.to_thread.run_sync(killed_gateway, codex, state, workspace)
            assert is_running(left)
            async with stage(codex, state, workspace, always(say("Fine."))) as play:
                after = await play.ask("osprey", number="2")
                assert (await play.harness.ready()).pid != left
                while began(left):
                    await anyio.lowlevel.checkpoint()
            assert is_running(theirs)
    assert after.outcome is Outcome.ANSWERED


async def test_a_server_that_hangs_is_killed_with_the_commands_that_it_would_have_ended(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.transports.child.GRACE", 0.2)
    serve = "setsid sleep 61 & echo $! > SERVICE; sleep 62 & echo $! > HELPER; wait"

    def script(request: RecordedRequest) -> Action:
        run = Reply((CallTool("exec_command", {"cmd": serve, "yield_time_ms": 300}),))
        return run if request.parts()[-1].text == "heron" else say("Fine.")

    async with stage(codex, state, workspace, script, settings=FREE) as play:
        await play.ask("heron", number="1")
        server = await play.harness.ready()
        while not (workspace / "HELPER").exists() or not (workspace / "HELPER").read_text("utf-8"):
            await anyio.lowlevel.checkpoint()
        helper, service = (int((workspace / name).read_text("utf-8")) for name in ("HELPER", "SERVICE"))
        assert len(sessions_of(server.pid)) == 1
        os.kill(server.pid, signal.SIGSTOP)
        await server.client.transport.aclose()
        try:
            while began(helper):
                await anyio.lowlevel.checkpoint()
            # What a command has put into a session of its own is meant to stay.
            assert is_running(service)
        finally:
            os.kill(service, signal.SIGKILL)
