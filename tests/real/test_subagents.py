"""Subagents of Codex on the real binary: known by their events, accounted for, never taken for their parent."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, CallTool, Reply, Say, Usage, Wait, always, say
from codex_bridge.params import ThreadSettings
from harness.turns import (
    EndedBy,
    Finished,
    Outcome,
    SubagentFinished,
    SubagentStarted,
    TextDelta,
    TurnEvent,
    TurnRequest,
    TurnResult,
    UsageCounted,
)
from harness.turns import Usage as Tokens
from tests.support.real import MODEL, events_of, stage
from tests.support.time import HandClock

GPT6 = "gpt-6-sol"
MODELS = pytest.mark.parametrize("model", [MODEL, GPT6])


def spawn(model: str) -> Reply:
    """Start a subagent without a copy of the conversation."""
    if model == MODEL:
        return Reply((CallTool("spawn_agent", {"message": "count the boats"}, namespace="multi_agent_v1"),))
    arguments: dict[str, Any] = {"task_name": "count", "message": "count the boats", "fork_turns": "none"}
    return Reply((CallTool("spawn_agent", arguments, namespace="collaboration"),))


def is_child(request: RecordedRequest) -> bool:
    return "x-openai-subagent" in request.headers


def has_spawned(request: RecordedRequest) -> bool:
    return any(part.kind == "function_call_output" for part in request.parts())


@MODELS
async def test_a_subagent_is_accounted_for_and_says_nothing_in_the_chat(
    codex: CodexBinary, state: Path, workspace: Path, model: str
) -> None:
    done = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return Reply((Say("Four boats."),), usage=Usage(input=77, cached=7, output=5))
        return Reply((Wait(done), Say("Done."))) if has_spawned(request) else spawn(model)

    async with stage(codex, state, workspace, script, model=model) as play:
        turn = await play.begin("go")
        events: list[TurnEvent] = []
        async for event in turn.events():
            events.append(event)
            if isinstance(event, SubagentFinished):
                done.set()
    (started,) = (event for event in events if isinstance(event, SubagentStarted))
    (finished,) = (event for event in events if isinstance(event, SubagentFinished))
    result = events[-1].result if isinstance(events[-1], Finished) else None
    assert result is not None
    tokens = Tokens(input=77, cached=7, output=5)
    assert (started.agent, finished.agent == result.conversation) == (finished.agent, False)
    assert (finished.result.outcome, finished.result.text, finished.result.usage) == (
        Outcome.ANSWERED,
        "Four boats.",
        tokens,
    )
    assert (result.text, result.usage_of_subagents, result.evidence.children > 0) == ("Done.", tokens, True)
    asked = sum(not is_child(request) for request in play.model.requests)
    assert result.usage == Tokens(input=100 * asked, output=10 * asked)
    assert {event.text for event in events if isinstance(event, TextDelta)} == {"Done."}
    assert [event.usage.input for event in events if isinstance(event, UsageCounted)] == [
        100 * (number + 1) for number in range(asked)
    ]


@MODELS
async def test_a_subagent_that_ends_after_its_turn_is_told_by_the_callback(
    codex: CodexBinary, state: Path, workspace: Path, model: str
) -> None:
    over, told = anyio.Event(), anyio.Event()
    late: list[tuple[str, TurnResult]] = []

    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return Reply((Wait(over), Say("Four boats.")))
        return say("Done.") if has_spawned(request) else spawn(model)

    def hear(request: TurnRequest, event: SubagentFinished) -> None:
        late.append((request.message_key, event.result))
        told.set()

    async with stage(codex, state, workspace, script, model=model, on_late_subagent=hear) as play:
        result = await play.ask("go")
        over.set()
        await told.wait()
        after = await play.ask("and now", number="2")
    assert (result.text, result.usage_of_subagents) == ("Done.", Tokens())
    assert [(key, ended.text, ended.usage) for key, ended in late] == [
        ("telegram:7:1", "Four boats.", Tokens(input=100, output=10))
    ]
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, result.conversation)


@MODELS
@pytest.mark.parametrize(("by", "outcome"), [(EndedBy.PERSON, Outcome.INTERRUPTED), (EndedBy.DEADLINE, Outcome.FAILED)])
async def test_a_turn_that_is_stopped_stops_its_subagents(
    codex: CodexBinary, state: Path, workspace: Path, model: str, by: EndedBy, outcome: Outcome
) -> None:
    told, clock = anyio.Event(), HandClock()
    late: list[tuple[Outcome, EndedBy]] = []

    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return Reply((BeginSaying("One boat, "), Wait(anyio.Event())))
        return Reply((Wait(anyio.Event()),)) if has_spawned(request) else spawn(model)

    def hear(request: TurnRequest, event: SubagentFinished) -> None:
        late.append((event.result.outcome, event.result.ended_by))
        told.set()

    async with stage(
        codex, state, workspace, script, model=model, on_late_subagent=hear, turn_deadline=5, clock=clock
    ) as play:
        turn = await play.begin("go")
        while sum(map(is_child, play.model.requests)) == 0:
            await play.model.next_request()
        if by is EndedBy.PERSON:
            await turn.interrupt()
        else:
            clock.advance(5)
        await told.wait()
        result = await turn.result()
    assert (result.outcome, result.ended_by) == (outcome, by)
    assert late == [(Outcome.INTERRUPTED, by)]


@pytest.mark.parametrize("model", [MODEL, GPT6, "house-model"])
@pytest.mark.parametrize("allowed", [True, False])
async def test_subagents_can_be_switched_off_on_every_model(
    codex: CodexBinary, state: Path, workspace: Path, model: str, allowed: bool
) -> None:
    """Also for a conversation that began with them, once the gateway was started anew."""

    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return say("Four boats.")
        return say("Done.") if request.parts()[-1].kind == "function_call_output" else spawn(GPT6 if v2 else MODEL)

    v2 = model == GPT6
    async with stage(codex, state, workspace, always(say("Hi.")), model=model) as play:
        await play.ask("hi", number="0")
    settings = ThreadSettings(subagents=allowed)
    async with stage(codex, state, workspace, script, model=model, settings=settings) as play:
        events = await events_of(await play.begin("go"))
    assert any(isinstance(event, SubagentStarted) for event in events) is allowed
