"""Deadlines of turns on the real binary: what is alive is left alone, and what is not ends with a clear word."""

import socket
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge import hearing, probe
from codex_bridge.binary import CodexBinary
from codex_bridge.client import Client
from codex_bridge.deadlines import State
from codex_bridge.loopback.script import BeginSaying, CallTool, Reply, Say, Wait, always, in_turn, say
from codex_bridge.params import ThreadSettings
from codex_bridge.providers import Provider
from codex_bridge.rpc import Notified
from codex_bridge.wire.notifications import Unread, Wire, read
from codex_bridge.wire.requests import ThreadStatus
from harness.compaction import Summary, compaction_of
from harness.json_value import Json
from harness.toolbox import ToolTurn
from harness.tools import Tool, ToolResult
from harness.turns import CommandStarted, EndedBy, Evidence, Failure, Outcome, TurnResult
from tests.support.real import beat_of, notices_of, stage
from tests.support.time import HandClock

YOLO = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
AWAY = "The model provider could not be reached"


class Probes:
    """What Codex said of threads each time it was asked."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._news = anyio.Event()

    def hear(self, status: ThreadStatus | None) -> None:
        self.told.append("nothing" if status is None else status.type)
        self._news.set()

    async def number(self, count: int) -> None:
        while len(self.told) < count:
            self._news = anyio.Event()
            await self._news.wait()


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> Probes:
    heard, status_of = Probes(), probe.status_of

    async def asked(client: Client, thread_id: str, *, deadline: float) -> ThreadStatus | None:
        status = await status_of(client, thread_id, deadline=deadline)
        heard.hear(status)
        return status

    monkeypatch.setattr(probe, "status_of", asked)
    return heard


class Lost:
    """Notifications that do not reach the bridge."""

    def __init__(self) -> None:
        self._methods: list[str] = []
        self.all = anyio.Event()
        """Set when all of them have been lost."""

    def lose(self, *methods: str) -> None:
        """Lose the next one of each of these methods."""
        self._methods += methods

    def read(self, notification: Notified) -> Wire:
        """As `codex_bridge.wire.notifications.read`."""
        if notification.method not in self._methods:
            return read(notification)
        self._methods.remove(notification.method)
        if not self._methods:
            self.all.set()
        return Unread(notification.method, {})


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Lost:
    losing = Lost()
    monkeypatch.setattr(hearing, "read", losing.read)
    return losing


class Hanging:
    """A toolbox with one tool that never comes back."""

    def __init__(self) -> None:
        self.called = anyio.Event()
        self.gone = anyio.Event()

    @property
    def names(self) -> frozenset[str]:
        return frozenset({"message"})

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        del turn
        return (Tool("message", "Say something.", {"type": "object", "properties": {}}, self._hang),)

    async def _hang(self, arguments: Mapping[str, Json]) -> ToolResult:
        del arguments
        self.called.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.gone.set()
        raise NotImplementedError


def nobody(*, stream_retries: int | None) -> Provider:
    """A provider on a port of this machine on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    return Provider("away", "Away", f"http://127.0.0.1:{port}/v1", "AWAY_TOKEN", "none", 0, stream_retries)


async def test_a_provider_that_cannot_be_reached_ends_the_turn_after_a_few_tries_on_a_home_of_ours(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """Spec 5: such homes set `features.unbounded_connection_retries=false`, so Codex itself gives up."""
    async with stage(codex, state, workspace, always(say("never")), provider=nobody(stream_retries=1)) as play:
        result = await play.ask("hi")
    assert (result.outcome, result.error, result.failure, result.ended_by) == (
        Outcome.FAILED,
        f"{AWAY}.",
        Failure.OUTAGE,
        EndedBy.ITSELF,
    )


async def test_an_outage_in_which_codex_would_try_for_ever_ends_by_our_deadline(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes
) -> None:
    """Spec 5: on a server that is not ours, say; it is active all the while, so nobody asks."""
    for_ever = [("features.unbounded_connection_retries", "true")]
    away, clock = nobody(stream_retries=None), HandClock()
    results = list[TurnResult]()
    async with stage(
        codex, state, workspace, always(say("never")), provider=away, overrides=for_ever, clock=clock
    ) as play:
        for number in ("1", "2"):
            turn = await play.begin("hi", number=number)
            while turn.watch is None or turn.watch.state is not State.RECONNECTING:
                await anyio.lowlevel.checkpoint()
            clock.advance(180)
            results.append(await turn.result())
    ended = (
        Outcome.FAILED,
        f"{AWAY} for 180 s, so the turn ended (appServer.deadlines.reconnectingMs).",
        Failure.OUTAGE,
        EndedBy.DEADLINE,
    )
    assert [(each.outcome, each.error, each.failure, each.ended_by) for each in results] == [ended, ended]
    assert results[0].conversation == results[1].conversation
    assert probes.told == []


@pytest.mark.parametrize("begins", [True, False])
async def test_a_model_that_thinks_for_longer_than_any_window_is_not_interrupted(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes, begins: bool
) -> None:
    go, clock = anyio.Event(), HandClock()
    first = (BeginSaying("Let me "),) if begins else ()
    script = in_turn([Reply((*first, Wait(go), Say("Two boats.")))])
    async with stage(codex, state, workspace, script, clock=clock) as play:
        turn = await play.begin("hi")
        await play.model.next_request()
        for number in range(1, 4):
            clock.advance(60)
            await probes.number(number)
        go.set()
        result = await turn.result()
    assert (result.outcome, result.text, result.ended_by) == (Outcome.ANSWERED, "Two boats.", EndedBy.ITSELF)
    assert probes.told == ["active"] * 3


async def test_a_command_that_is_silent_for_longer_than_any_window_is_not_interrupted(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes, tmp_path: Path
) -> None:
    """A3."""
    clock, gate = HandClock(), tmp_path / "gate"
    run = CallTool("exec_command", {"cmd": f"until [ -e {gate} ]; do sleep 0.02; done", "yield_time_ms": 20_000})
    script = in_turn([Reply((run,)), say("Two boats.")])
    async with stage(codex, state, workspace, script, clock=clock, settings=YOLO) as play:
        turn = await play.begin("count")
        async for event in turn.events():
            if isinstance(event, CommandStarted):
                break
        for number in range(1, 4):
            clock.advance(300)
            await probes.number(number)
        gate.touch()
        result = await turn.result()
    assert (result.outcome, result.text, result.ended_by) == (Outcome.ANSWERED, "Two boats.", EndedBy.ITSELF)
    assert probes.told == ["active"] * 3


async def test_a_turn_that_is_alive_and_silent_ends_with_the_time_of_the_whole_turn(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes
) -> None:
    clock = HandClock()
    script = in_turn([Reply((Wait(anyio.Event()),)), say("Fine.")])
    async with stage(codex, state, workspace, script, clock=clock, turn_deadline=100) as play:
        turn = await play.begin("one", number="1")
        await play.model.next_request()
        clock.advance(60)
        await probes.number(1)
        clock.advance(40)
        result, after = await turn.result(), await play.ask("two", number="2")
    assert (result.outcome, result.error, result.ended_by) == (
        Outcome.FAILED,
        "The turn was stopped after 100 s (agents.defaults.timeoutSeconds).",
        EndedBy.DEADLINE,
    )
    assert probes.told == ["active"]
    assert (after.text, after.conversation) == ("Fine.", result.conversation)


async def test_a_tool_that_hangs_is_answered_for_and_the_turn_goes_on(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A6: the call has a deadline of its own."""
    monkeypatch.setattr("codex_bridge.tool_calls.TOOL_SECONDS", 0.3)
    tools = Hanging()
    script = in_turn([Reply((CallTool("message", {}),)), say("It did not work.")])
    async with stage(codex, state, workspace, script, toolbox=tools) as play:
        result = await play.ask("say it")
    assert (result.outcome, result.text, result.ended_by) == (Outcome.ANSWERED, "It did not work.", EndedBy.ITSELF)
    assert "message did not answer within 0.3 s" in play.model.requests[1].parts()[-1].text
    assert tools.gone.is_set()
    assert probes.told == []


async def test_a_tool_that_hangs_does_not_keep_its_turn_from_its_deadline(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes
) -> None:
    """A6, A4: the turn ends by its own time, which its message names, and the tool ends with it."""
    tools, clock = Hanging(), HandClock()
    script = in_turn([Reply((CallTool("message", {}),)), say("Fine.")])
    async with stage(codex, state, workspace, script, clock=clock, turn_deadline=400, toolbox=tools) as play:
        turn = await play.begin("say it", number="1")
        await tools.called.wait()
        clock.advance(300)
        await probes.number(1)
        clock.advance(100)
        await tools.gone.wait()
        result, after = await turn.result(), await play.ask("two", number="2")
    assert (result.outcome, result.error, result.evidence) == (
        Outcome.FAILED,
        "The turn was stopped after 400 s (agents.defaults.timeoutSeconds).",
        Evidence(tools=("message",), messages=1),
    )
    assert probes.told == ["active"]
    assert (after.text, after.conversation) == ("Fine.", result.conversation)


@pytest.mark.parametrize("also", [[], ["item/completed", "item/agentMessage/delta"]])
async def test_an_end_that_got_lost_is_taken_from_what_codex_has_written_down(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes, lost: Lost, also: list[str]
) -> None:
    """A1, A2: also the answer itself, if that is lost, and nothing runs twice."""
    clock = HandClock()
    async with stage(codex, state, workspace, always(say("Two boats.")), clock=clock) as play:
        first = await play.ask("warm up", number="0")
        lost.lose("turn/completed", *also)
        turn = await play.begin("count", number="1")
        await lost.all.wait()
        clock.advance(60 if also else 10)
        result = await turn.result()
        after = await play.ask("and now", number="2")
    assert (result.outcome, result.text, result.ended_by) == (Outcome.ANSWERED, "Two boats.", EndedBy.ITSELF)
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, first.conversation)
    assert probes.told == ["idle"]
    assert len(play.model.requests) == 3


async def test_an_answer_counts_where_codex_writes_nothing_down(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes, lost: Lost
) -> None:
    """A heartbeat beside the chat runs on a thread of which only the status can be asked for."""
    clock = HandClock()
    async with stage(codex, state, workspace, always(say("All is well.")), clock=clock) as play:
        turn = await play.begin("warm up", number="0")
        await turn.result()
        lost.lose("turn/completed")
        beat = (await play.agent.heartbeat(beat_of("Check.", turn, isolated=True), key="b:1")).turn
        await lost.all.wait()
        clock.advance(10)
        told, result = await notices_of(beat), await beat.result()
    assert (result.outcome, result.text, result.ended_by) == (Outcome.ANSWERED, "All is well.", EndedBy.DEADLINE)
    assert told == [
        "Codex did not say within 10 s that the turn was over; its answer counts (appServer.deadlines.answerMs)."
    ]
    assert probes.told == ["idle"]


async def test_a_summary_whose_end_got_lost_is_done(
    codex: CodexBinary, state: Path, workspace: Path, probes: Probes, lost: Lost
) -> None:
    """A7."""
    clock = HandClock()
    async with stage(codex, state, workspace, always(say("Fine.")), clock=clock) as play:
        turn = await play.begin("one", number="1")
        await turn.result()
        lost.lose("turn/completed")
        summary = await play.agent.compact(turn.request.session_key)
        await lost.all.wait()
        clock.advance(60)
        done = compaction_of(await summary.result())
        after = await play.ask("two", number="2")
    assert (done.summary, after.outcome) == (Summary.DONE, Outcome.ANSWERED)
    assert probes.told == ["idle"]


async def test_a_stop_of_a_turn_whose_end_got_lost_is_quick_and_keeps_the_conversation(
    codex: CodexBinary, state: Path, workspace: Path, lost: Lost
) -> None:
    """B1: Codex says that there is no active turn."""
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        first = await play.ask("warm up", number="0")
        lost.lose("turn/completed")
        turn = await play.begin("one", number="1")
        await lost.all.wait()
        told = notices_of(turn)
        await turn.interrupt()
        result, after = await turn.result(), await play.ask("two", number="2")
        notices = await told
    assert (result.outcome, result.ended_by, notices) == (Outcome.INTERRUPTED, EndedBy.PERSON, [])
    assert (after.text, after.conversation) == ("Fine.", first.conversation)
