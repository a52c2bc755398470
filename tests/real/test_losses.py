"""A server that is lost just when a message is handed over: the message is answered once, or said to be lost."""

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.client import Client
from codex_bridge.errors import ConnectionLostError
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, Reply, Wait, always, say
from codex_bridge.wire.base import Method
from codex_bridge.wire.requests import TURN_START
from harness.turns import Outcome
from tests.support.real import Stage, count, stage


def pid_of(play: Stage) -> int:
    server = play.harness.server
    assert server is not None
    return server.pid


@pytest.mark.parametrize("first", [True, False], ids=["the first message", "a later one"])
async def test_a_message_to_a_server_that_is_dead_already_is_answered_by_the_next_one(
    codex: CodexBinary, state: Path, workspace: Path, first: bool
) -> None:
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        earlier = None if first else (await play.ask("zebra", number="0")).conversation
        await play.harness.ready()
        os.kill(pid_of(play), signal.SIGKILL)
        turn = await play.begin("heron")
        result = await turn.result()
    assert (result.outcome, result.text, result.error) == (Outcome.ANSWERED, "Yes.", "")
    assert [count(request, "heron") for request in play.model.requests][-1] == 1
    assert earlier in (None, result.conversation)


async def test_a_message_that_a_stopped_server_never_read_is_answered_by_the_next_one(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        before = await play.ask("zebra", number="0")
        pid = pid_of(play)
        os.kill(pid, signal.SIGSTOP)
        turn = await play.begin("Are you there?")
        while not turn.sent:
            await anyio.lowlevel.checkpoint()
        os.kill(pid, signal.SIGKILL)
        result = await turn.result()
    assert (result.outcome, result.conversation) == (Outcome.ANSWERED, before.conversation)
    assert [request.method for request in turn.sent] == ["turn/start", "thread/resume", "turn/start"]
    assert [count(request, "Are you there?") for request in play.model.requests] == [0, 1]


async def test_a_message_that_was_taken_before_the_loss_is_not_sent_again(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to turn/start is lost with the server, and the message stands in what Codex has written down."""

    def script(request: RecordedRequest) -> Action:
        return Reply((Wait(anyio.Event()),)) if request.parts()[-1].text == "heron" else say("Fine.")

    real = Client.call

    async def call(self: Client, method: Method[Any, Any], params: Any, **how: Any) -> Any:
        answer = await real(self, method, params, **how)
        if method is TURN_START and params.client_user_message_id.endswith(":1"):
            await play.model.next_request()
            os.kill(pid_of(play), signal.SIGKILL)
            await self.closed.wait()
            raise ConnectionLostError("it was killed by SIGKILL", doing=method.name)
        return answer

    async with stage(codex, state, workspace, script) as play:
        monkeypatch.setattr(Client, "call", call)
        turn = await play.begin("heron")
        lost = await turn.result()
        after = await play.ask("and now", number="2")
    assert (lost.outcome, lost.error) == (
        Outcome.LOST,
        "Codex stopped in the middle of this turn: it was killed by SIGKILL.",
    )
    assert [request.method for request in turn.sent] == ["thread/start", "turn/start"]
    assert after.outcome is Outcome.ANSWERED
    assert [count(request, "heron") for request in play.model.requests] == [1, 1]
