"""The server is killed at each step of a turn: every message gets one outcome, and the next turn works."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.client import Client
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, CallTool, FailResponse, Reply, Say, Wait, always, say
from codex_bridge.params import ThreadSettings
from codex_bridge.probe import last_turn
from codex_bridge.reconcile import Fate, Trace, trace
from codex_bridge.rpc import JsonObject, Notified
from codex_bridge.transports.stdio import StdioTransport
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.base import Method
from codex_bridge.wire.notifications import Wire, read
from codex_bridge.wire.requests import THREAD_REVERT, THREAD_START, TURN_START
from harness.tasks import beside
from harness.turns import CommandStarted, EndedBy, Outcome, TurnResult
from tests.support.real import Stage, beat_of, count, stage
from tests.support.turns import first_delta

FREE = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
KILLED = "Codex stopped in the middle of this turn: it was killed by SIGKILL."


def kill(play: Stage) -> None:
    server = play.harness.server
    assert server is not None
    with suppress(ProcessLookupError):
        os.kill(server.pid, signal.SIGKILL)


def kill_at(play: Stage, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the server as soon as it says this, once; an item's type stands behind a colon."""
    left = [name]

    def reading(notification: Notified) -> Wire:
        item = notification.params.get("item")
        said = f"{notification.method}:{item['type']}" if isinstance(item, dict) else notification.method
        if said in left:
            left.remove(said)
            kill(play)
        return read(notification)

    monkeypatch.setattr("codex_bridge.hearing.read", reading)


def kill_during(play: Callable[[], Stage], method: Method[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the server when this request is on its way to it, once."""
    real, left = Client.call, [method]

    async def call(self: Client, asked: Method[Any, Any], params: Any, **how: Any) -> Any:
        if asked not in left:
            return await real(self, asked, params, **how)
        left.remove(asked)
        async with beside() as group:  # an error comes out as itself
            group.start_soon(_kill_once_sent, self, play())
            return await real(self, asked, params, **how)

    monkeypatch.setattr(Client, "call", call)


async def _kill_once_sent(client: Client, play: Stage) -> None:
    while not client.in_flight:
        await anyio.lowlevel.checkpoint()
    kill(play)


def losing(monkeypatch: pytest.MonkeyPatch) -> list[Client]:
    """Have all lost that is told, and not answered, to the clients that are put into this list from then on."""
    real, unheard = Client._hear, list[Client]()  # pyright: ignore[reportPrivateUsage]

    def hear(self: Client, messages: list[bytes]) -> None:
        real(self, [each for each in messages if self not in unheard or "method" not in json.loads(each)])

    monkeypatch.setattr(Client, "_hear", hear)
    return unheard


async def goes_on(play: Stage, lost: TurnResult) -> None:
    """The next turn is answered in the same conversation, which has each message just once."""
    after = await play.ask("finch", number="after")
    assert after.outcome is Outcome.ANSWERED
    assert after.conversation == lost.conversation
    last = play.model.requests[-1]
    assert [count(last, words) for words in ("heron", "osprey", "finch")] == [1, 1, 1]


async def is_over(client: Client, turn: CodexTurn) -> None:
    """Wait until Codex has it written down that a turn is over, in the file and beside it."""
    assert turn.ledger is not None
    while (last := await last_turn(client, turn.ledger.thread_id)) is None or last.status == "inProgress":
        pass


async def until(happened: Callable[[], bool]) -> None:
    """Wait for something that nobody tells of, such as the content of a file."""
    while not happened():
        await anyio.lowlevel.checkpoint()


def written(state: Path, words: bytes) -> int:
    """How often Codex has written something down."""
    return sum(each.read_bytes().count(words) for each in state.rglob("rollout-*"))


def asked_for(play: Stage, words: str) -> int:
    """How many requests to the model were made for this message."""
    return sum(request.parts()[-1].text == words for request in play.model.requests)


async def test_before_the_handshake(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from codex_bridge import process

    real, left = process.handshake, [1]

    async def handshake(client: Client) -> Any:
        if left:
            left.pop()
            transport = client.transport
            assert isinstance(transport, StdioTransport)
            os.kill(transport.pid, signal.SIGKILL)
        return await real(client)

    monkeypatch.setattr(process, "handshake", handshake)
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        result = await play.ask("heron", number="1")
    assert (result.outcome, asked_for(play, "heron")) == (Outcome.ANSWERED, 1)


async def test_during_thread_start(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        kill_during(lambda: play, THREAD_START, monkeypatch)
        result = await play.ask("heron", number="1")
        await play.ask("osprey", number="2")
        await goes_on(play, result)
    assert (result.outcome, asked_for(play, "heron")) == (Outcome.ANSWERED, 1)


async def test_while_the_turn_is_handed_over(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        first = await play.ask("heron", number="1")
        kill_during(lambda: play, TURN_START, monkeypatch)
        result = await play.ask("osprey", number="2")
        await goes_on(play, first)
    # Whether Codex got to read it is a matter of luck: it is answered, or was begun and is lost.
    assert result.outcome in (Outcome.ANSWERED, Outcome.LOST)
    assert asked_for(play, "osprey") <= 1 + (result.outcome is Outcome.ANSWERED)


@pytest.mark.parametrize("step", ["turn/started", "item/completed:userMessage", "item/started:agentMessage"])
async def test_before_the_answer_is_whole(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def script(request: RecordedRequest) -> Action:
        slow = Reply((BeginSaying("Let me"), Wait(anyio.Event())))
        return slow if request.parts()[-1].text == "osprey" else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        await play.ask("heron", number="1")
        kill_at(play, step, monkeypatch)
        lost = await play.ask("osprey", number="2")
        await goes_on(play, lost)
    assert (lost.outcome, lost.error, lost.ended_by) == (Outcome.LOST, KILLED, EndedBy.LOSS)
    assert asked_for(play, "osprey") <= 1


async def test_during_a_command(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(request: RecordedRequest) -> Action:
        run = Reply((CallTool("exec_command", {"cmd": "echo once >> RAN; sleep 20", "yield_time_ms": 20_000}),))
        return run if request.parts()[-1].text == "osprey" else say("Yes.")

    async with stage(codex, state, workspace, script, settings=FREE) as play:
        await play.ask("heron", number="1")
        turn = await play.begin("osprey", number="2")
        async for event in turn.events():
            if isinstance(event, CommandStarted):
                break
        await until((workspace / "RAN").exists)
        kill(play)
        lost = await turn.result()
        await goes_on(play, lost)
    assert (lost.outcome, lost.error) == (Outcome.LOST, KILLED)
    assert [each.text.partition(" -lc ")[2] for each in lost.evidence.commands] == ["'echo once >> RAN; sleep 20'"]
    assert (workspace / "RAN").read_text("utf-8") == "once\n"


@pytest.mark.parametrize(
    ("step", "phase"),
    [
        ("item/completed:agentMessage", "final_answer"),
        ("thread/tokenUsage/updated", None),
        ("turn/completed", None),
    ],
)
async def test_when_the_answer_is_whole_it_is_the_answer(
    codex: CodexBinary,
    state: Path,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    phase: str | None,
) -> None:
    async with stage(codex, state, workspace, always(say("Yes.", phase=phase))) as play:
        await play.ask("heron", number="1")
        kill_at(play, step, monkeypatch)
        result = await play.ask("osprey", number="2")
        await goes_on(play, result)
    assert (result.outcome, result.text, result.error) == (Outcome.ANSWERED, "Yes.", "")
    assert asked_for(play, "osprey") == 1


async def ended_unheard(
    play: Stage, turn: CodexTurn, unheard: list[Client], go_on: anyio.Event, state: Path
) -> TurnResult:
    """Let a turn that began end on the server alone, the second one there, and kill that; gives how it counts."""
    while turn.ledger is None or not turn.ledger.began:
        await anyio.lowlevel.checkpoint()
    client = (await play.harness.ready()).client
    unheard.append(client)
    go_on.set()
    await until(lambda: written(state, b"task_complete") == 2)
    await is_over(client, turn)
    kill(play)
    result = await turn.result()
    await goes_on(play, result)
    return result


@pytest.mark.parametrize("phase", ["final_answer", None])
async def test_an_answer_that_was_written_down_and_did_not_reach_us_is_the_answer(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, phase: str | None
) -> None:
    """Everything that the server says after the first piece of the answer is lost on its way."""
    go_on = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        if last.text == "osprey":
            look = CallTool("exec_command", {"cmd": "true", "yield_time_ms": 20_000})
            return Reply((Say("Let me look.", phase="commentary"), Wait(go_on), look))
        return say("It is blue.", phase=phase) if last.kind == "function_call_output" else say("Yes.")

    unheard = losing(monkeypatch)
    async with stage(codex, state, workspace, script, settings=FREE) as play:
        await play.ask("heron", number="1")
        turn = await play.begin("osprey", number="2")
        result = await ended_unheard(play, turn, unheard, go_on, state)
    assert (result.outcome, result.text, result.error) == (Outcome.ANSWERED, "It is blue.", "")
    assert [(each.text.partition(" -lc ")[2], each.over) for each in result.evidence.commands] == [("true", True)]
    assert asked_for(play, "osprey") == 1


async def test_a_failure_that_was_written_down_and_did_not_reach_us_is_judged_as_one_that_did(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversation no longer fits, so the message is answered in a fresh thread."""
    go_on = anyio.Event()
    full = FailResponse("context_length_exceeded", "Your input exceeds the context window of this model.")

    def script(request: RecordedRequest) -> Action:
        return Reply((Wait(go_on), full)) if count(request, "osprey") and not go_on.is_set() else say("Yes.")

    unheard = losing(monkeypatch)
    async with stage(codex, state, workspace, script, settings=FREE) as play:
        before = await play.ask("heron", number="1")
        await play.model.next_request()
        turn = await play.begin("osprey", number="2")
        await play.model.next_request()
        result = await ended_unheard(play, turn, unheard, go_on, state)
    assert (result.outcome, result.text, result.error) == (Outcome.ANSWERED, "Yes.", "")
    assert result.conversation != before.conversation
    assert asked_for(play, "osprey") == 2


async def test_a_turn_whose_fate_is_looked_up_can_be_stopped_at_once(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, never = anyio.Event(), anyio.Event()

    async def slow(*_: Any, **__: Any) -> Trace:
        asked.set()
        await never.wait()
        raise AssertionError

    def script(request: RecordedRequest) -> Action:
        slow = Reply((BeginSaying("Let me"), Wait(anyio.Event())))
        return slow if request.parts()[-1].text == "osprey" else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        await play.ask("heron", number="1")
        turn = await play.begin("osprey", number="2")
        await first_delta(turn)
        monkeypatch.setattr("codex_bridge.reconcile.trace", slow)
        kill(play)
        await asked.wait()
        await turn.interrupt()
        stopped = await turn.result()
        await goes_on(play, stopped)
    assert (stopped.outcome, stopped.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)


async def test_during_a_revert(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(request: RecordedRequest) -> Action:
        return say("HEARTBEAT_OK") if request.parts()[-1].text == "Check." else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("heron", number="1")
        ended = await first.result()
        kill_during(lambda: play, THREAD_REVERT, monkeypatch)
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        quiet = await beat.turn.result()
        await play.ask("osprey", number="2")
        await goes_on(play, ended)
    assert (quiet.outcome, quiet.text) == (Outcome.ANSWERED, "HEARTBEAT_OK")


async def test_what_was_said_into_a_turn_is_found_after_a_loss(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        run = Reply((CallTool("exec_command", {"cmd": "sleep 0.4", "yield_time_ms": 5_000}),))
        return run if request.parts()[-1].text == "osprey" else say("Yes.")

    async with stage(codex, state, workspace, script, settings=FREE) as play:
        await play.ask("heron", number="1")
        turn = await play.begin("osprey", number="2")
        while turn.ledger is None or not turn.ledger.began:
            await anyio.lowlevel.checkpoint()
        steer: JsonObject = {
            "threadId": turn.ledger.thread_id,
            "expectedTurnId": turn.ledger.turn_id,
            "clientUserMessageId": "telegram:7:3 heard=1",
            "input": [{"type": "text", "text": "and the wren"}],
        }
        await (await play.harness.ready()).client.raw_call("turn/steer", steer)
        ended = await turn.result()
        before = await play.harness.ready()
        kill(play)
        await before.client.closed.wait()
        client = (await play.harness.ready()).client
        found = [await trace(client, ended.conversation, f"telegram:7:{number}") for number in (2, 3, 4)]
    assert [(each.fate, each.text) for each in found] == [(Fate.ENDED, "Yes."), (Fate.ENDED, "Yes."), (Fate.ABSENT, "")]
