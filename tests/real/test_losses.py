"""A server that is lost just when a message is handed over: the message is answered once, or said to be lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
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
from harness.store.transcript import Occasion, Spoken
from harness.turns import Outcome
from tests.support.real import LIMIT, Stage, count, message, notices_of, stage


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
        if method is TURN_START and params.client_user_message_id.startswith("telegram:7:1 "):
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


ALERT = Spoken(answered="The vents are stuck.", occasion=Occasion.HEARTBEAT)
KEY = message("").session_key("main")


def after_the_answer_for(number: str, do: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something as soon as Codex has answered that it has the message of that number."""
    real = Client.call

    async def call(self: Client, method: Method[Any, Any], params: Any, **how: Any) -> Any:
        answer = await real(self, method, params, **how)
        if method is TURN_START and params.client_user_message_id.startswith(f"telegram:7:{number} "):
            await do()
        return answer

    monkeypatch.setattr(Client, "call", call)


@pytest.mark.parametrize("late", [False, True], ids=["at once", "when the model is asked"])
async def test_what_a_lost_turn_was_told_is_in_the_conversation_just_once(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    def script(request: RecordedRequest) -> Action:
        return Reply((Wait(anyio.Event()),)) if "osprey" in request.parts()[-1].text else say("Fine.")

    async def kill() -> None:
        if late:
            await play.model.next_request()
        os.kill(pid_of(play), signal.SIGKILL)

    async with stage(codex, state, workspace, script) as play:
        before = await play.ask("heron", number="1")
        await play.model.next_request()
        await play.bindings.mirror(KEY, ALERT)
        after_the_answer_for("2", kill, monkeypatch)
        lost = await play.ask("osprey", number="2")
        turn = await play.begin("finch", number="3")
        told = await notices_of(turn)
        after = await turn.result()
        last = await play.ask("stork", number="4")
    assert (lost.outcome, after.outcome, last.outcome) == (Outcome.LOST, Outcome.ANSWERED, Outcome.ANSWERED)
    assert (told, after.conversation) == ([], before.conversation)
    for request in play.model.requests[-2:]:
        assert [count(request, words) for words in ("heron", "The vents are stuck.", "osprey", "finch")] == [1] * 4


@pytest.mark.parametrize("torn_before", ["response_item", "user.text", "UserMessage"])
async def test_a_turn_that_was_written_down_in_part_is_completed_and_nothing_of_it_said_twice(
    codex: CodexBinary, state: Path, workspace: Path, torn_before: str
) -> None:
    def script(request: RecordedRequest) -> Action:
        return Reply((Wait(anyio.Event()),)) if request.parts()[-1].text == "osprey" else say("Fine.")

    async with stage(codex, state, workspace, script) as play:
        before = await play.ask("heron", number="1")
        await play.model.next_request()
        await play.bindings.mirror(KEY, ALERT)
        turn = await play.begin("osprey", number="2")
        await play.model.next_request()
        os.kill(pid_of(play), signal.SIGKILL)
        lost = await turn.result()
        (rollout,) = state.rglob("rollout-*")
        lines = rollout.read_text("utf-8").splitlines(keepends=True)
        torn = next(at for at, line in enumerate(lines) if lost.turn in line and torn_before in line)
        rollout.write_text("".join(lines[:torn]), "utf-8")
        after = await play.ask("finch", number="3")
        request = play.model.requests[-1]
    assert (lost.outcome, after.outcome, after.conversation) == (Outcome.LOST, Outcome.ANSWERED, before.conversation)
    assert [count(request, words) for words in ("heron", "The vents are stuck.", "osprey", "finch")] == [1] * 4


async def test_what_a_first_turn_was_told_is_in_the_conversation_just_once_when_it_is_lost(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def kill() -> None:
        os.kill(pid_of(play), signal.SIGKILL)

    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        after_the_answer_for("1", kill, monkeypatch)
        lost = await play.ask("heron", number="1")
        after = await play.ask("osprey", number="2")
    assert (lost.outcome, after.outcome) == (Outcome.LOST, Outcome.ANSWERED)
    assert [count(play.model.requests[-1], words) for words in ("heron", "osprey", "SOUL_M22")] == [1] * 3


async def test_the_end_of_a_conversation_that_the_disk_has_lost_is_quoted_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        await play.ask("heron", number="1")
    (rollout,) = state.rglob("rollout-*")
    written = rollout.read_bytes()
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        await play.bindings.mirror(KEY, ALERT)
        await play.ask("osprey", number="2")
        await play.ask("stork", number="3")
    rollout.write_bytes(written)
    tolds: list[list[str]] = []
    for number, words in (("4", "finch"), ("5", "wren")):
        async with stage(codex, state, workspace, always(say("Fine."))) as play:
            tolds.append(await notices_of(await play.begin(words, number=number)))
            (request,) = play.model.requests
        markers = ["heron", "The vents are stuck.", "osprey", "stork", "finch"]
        assert [count(request, marker) for marker in markers] == [1] * 5
    lost = "Codex has lost the end of this conversation; this turn quotes what was said there."
    assert tolds == [[lost], []]


GATEWAY = """
import sys
from pathlib import Path

import anyio

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import Reply, Wait, say
from tests.real.test_losses import ALERT, KEY
from tests.support.real import stage

path, state, workspace, course = sys.argv[1:]


def script(request):
    return Reply((Wait(anyio.Event()),)) if request.parts()[-1].text == "osprey" else say("Fine.")


async def run():
    async with stage(CodexBinary(Path(path), "the test"), Path(state), Path(workspace), script) as play:
        if course == "between":
            await play.ask("heron", number="1")
        else:
            await play.bindings.mirror(KEY, ALERT)
            await play.begin("osprey", number="2")
            await play.model.next_request()
        print("ready", flush=True)
        await anyio.sleep_forever()


anyio.run(run)
"""


def killed_gateway(codex: CodexBinary, state: Path, workspace: Path, course: str) -> None:
    """Run a gateway in a process of its own and kill it, and nothing else, at a moment of its course."""
    arguments = [str(codex.path), str(state), str(workspace), course]
    with subprocess.Popen([sys.executable, "-c", GATEWAY, *arguments], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        finally:
            child.kill()


async def test_a_gateway_that_is_killed_leaves_every_word_in_the_conversation_just_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    for course in ("between", "in the middle"):
        with anyio.fail_after(LIMIT):
            await anyio.to_thread.run_sync(killed_gateway, codex, state, workspace, course)
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        turn = await play.begin("finch", number="3")
        told = await notices_of(turn)
        (request,) = play.model.requests
    assert (told, [sent.method for sent in turn.sent]) == ([], ["thread/resume", "turn/start"])
    words = ["heron", "The vents are stuck.", "osprey", "finch", "SOUL_M22"]
    assert [count(request, each) for each in words] == [1] * 5


@pytest.mark.parametrize("first", [False, True], ids=["a later turn", "the first turn of a thread"])
async def test_what_was_quoted_just_before_gateway_and_server_died_together_is_not_quoted_again(
    codex: CodexBinary, state: Path, workspace: Path, first: bool
) -> None:
    """Codex had written the quotation down and not yet the message; nobody is left who remembers the turn."""
    for course in ("in the middle",) if first else ("between", "in the middle"):
        with anyio.fail_after(LIMIT):
            await anyio.to_thread.run_sync(killed_gateway, codex, state, workspace, course)
    (rollout,) = state.rglob("rollout-*")
    lines = rollout.read_text("utf-8").splitlines(keepends=True)
    torn = next(at for at, line in enumerate(lines) if "osprey" in line)
    assert any("The vents are stuck." in line for line in lines[:torn])
    rollout.write_text("".join(lines[:torn]), "utf-8")
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        for number, words in (("3", "finch"), ("4", "stork")):
            result = await play.ask(words, number=number)
            assert result.outcome is Outcome.ANSWERED
    words = ["The vents are stuck.", "finch", "stork", *([] if first else ["heron"])]
    assert [count(play.model.requests[-1], each) for each in words] == [1] * len(words)
