"""What comes of calls of the agent's tools on the real binary: many at once, late, long, and of Codex's own names."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import CallTool, Item, Reply, in_turn, say
from codex_bridge.params import ThreadSettings
from harness.json_value import Json
from harness.tools import Tool, ToolResult
from harness.turns import Outcome, ToolFinished
from tests.support.odd_tools import Box, tool
from tests.support.real import count, events_of, stage

MANY = 200
TOGETHER = {"0.163.0": 1, "0.171.0": 3}
"""How many of three calls that a model makes at once run at the same time."""
ALONE = 0.1
"""Seconds for which a call that runs by itself looks whether another one comes."""


def serving(name: str, call: Callable[[Mapping[str, Json]], Awaitable[ToolResult]]) -> Tool:
    return replace(tool(name), call=call)


def outputs(request: RecordedRequest) -> list[Json]:
    """What came of the calls of a turn, in the model's own order."""
    items = cast("list[dict[str, Json]]", request.input)
    return [item["output"] for item in items if str(item.get("type")).endswith("call_output")]


async def test_what_a_tool_says_after_its_turn_was_stopped_is_heard_by_nobody(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    called, let_go, over = anyio.Event(), anyio.Event(), anyio.Event()

    async def stubborn(_: Mapping[str, Json]) -> ToolResult:
        called.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            await let_go.wait()
        over.set()
        return ToolResult(True, "LATE_WORD", media=("/w/late.png",))

    script = in_turn([Reply((CallTool("message", {"text": "a"}),)), say("Fine."), say("Still fine.")])
    async with stage(codex, state, workspace, script, toolbox=Box(serving("message", stubborn))) as play:
        stopped = await play.begin("first", number="1")
        await called.wait()
        await stopped.interrupt()
        result = await stopped.result()
        second = await play.ask("second", number="2")
        let_go.set()
        await over.wait()
        third = await play.ask("third", number="3")
    assert (result.outcome, result.media, second.text, third.text) == (
        Outcome.INTERRUPTED,
        (),
        "Fine.",
        "Still fine.",
    )
    assert [count(request, "LATE_WORD") for request in play.model.requests] == [0, 0, 0]
    assert [len(outputs(request)) for request in play.model.requests] == [0, 1, 1]
    assert second.conversation == third.conversation == result.conversation


async def test_three_megabytes_of_a_result_are_cut_between_characters_and_the_turn_goes_on(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """H5."""
    whole = "é🧭" * 500_000

    async def logs(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(True, whole)

    script = in_turn([Reply((CallTool("message", {}),)), say("Read.")])
    async with stage(codex, state, workspace, script, toolbox=Box(serving("message", logs))) as play:
        turn = await play.begin("what does the log say?")
        events, result = await events_of(turn), await turn.result()
    (output,) = outputs(play.model.requests[1])
    shown, _, told = str(output).rpartition("\n")
    assert told == "[cut: the whole has 1,500,000 UTF-16 units; ask for less at a time]"
    assert shown == whole[: len(shown)]
    assert 47_000 < len(str(output).encode()) <= 48_000
    assert (result.text, [event for event in events if isinstance(event, ToolFinished)]) == (
        "Read.",
        [ToolFinished("call_1", "message", True)],
    )


def many() -> list[Tool]:
    return [tool(f"lever_{number}", f"Pulls lever number {number}.") for number in range(MANY)]


async def test_of_two_hundred_tools_a_model_that_searches_finds_the_one_it_wants_and_calls_it(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    search: Json = {"query": "lever number 117", "limit": 1}
    script = in_turn(
        [
            Reply((Item({"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": search}),)),
            Reply((CallTool("lever_117", {"text": "up"}, namespace="openclaw"),)),
            say("It is up."),
        ]
    )
    async with stage(codex, state, workspace, script, toolbox=Box(*many())) as play:
        result = await play.ask("pull it")
    first, second, last = play.model.requests
    assert "lever_" not in repr(first.body["tools"])
    (found,) = (item for item in cast("list[dict[str, Json]]", second.input) if item["type"] == "tool_search_output")
    (group,) = cast("list[dict[str, Json]]", found["tools"])
    assert (group["name"], [each["name"] for each in cast("list[dict[str, Json]]", group["tools"])]) == (
        "openclaw",
        ["lever_117"],
    )
    assert outputs(last) == ["got {'text': 'up'}"]
    assert (result.text, result.evidence.tools) == ("It is up.", ("openclaw.lever_117",))


CODE = """
const levers = ALL_TOOLS.map((each) => each.name).filter((name) => name.startsWith("openclaw__lever_"));
const said = await Promise.all(levers.filter((name) => name.endsWith("7")).map((name) => tools[name]({text: name})));
text(levers.length + " " + said.join());
"""


async def test_of_two_hundred_tools_a_model_that_writes_code_knows_and_calls_all(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    run = Item({"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": CODE})
    script = in_turn([Reply((run,)), say("They are up.")])
    async with stage(codex, state, workspace, script, toolbox=Box(*many()), model="gpt-6-sol") as play:
        result = await play.ask("pull them")
    (output,) = cast("list[list[dict[str, str]]]", outputs(play.model.requests[1]))
    number, _, said = output[-1]["text"].partition(" ")
    pulled = [f"lever_{each}" for each in range(7, MANY, 10)]
    assert (number, sorted(said.split(","))) == (
        str(MANY),
        sorted(f"got {{'text': 'openclaw__{name}'}}" for name in pulled),
    )
    assert sorted(result.evidence.tools) == sorted(f"openclaw.{name}" for name in pulled)
    assert result.text == "They are up."


async def test_each_of_two_hundred_tools_that_are_all_shown_is_called_as_itself(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    wanted = range(0, MANY, 20)
    use = Reply(tuple(CallTool(f"lever_{each}", {"text": str(each)}, call_id=f"c{each}") for each in wanted))
    settings = ThreadSettings(direct_tools=True)
    script = in_turn([use, say("They are up.")])
    async with stage(codex, state, workspace, script, toolbox=Box(*many()), settings=settings) as play:
        result = await play.ask("pull them")
    first, last = play.model.requests
    shown = {str(each.get("name")) for each in cast("list[dict[str, Json]]", first.body["tools"])}
    assert {each.name for each in many()} <= shown
    assert outputs(last) == [f"got {{'text': '{each}'}}" for each in wanted]
    assert result.text == "They are up."


@pytest.mark.parametrize("direct", [False, True])
async def test_a_tool_of_the_name_of_codexs_own_is_called_in_its_group_and_takes_nothing_from_that_one(
    codex: CodexBinary, state: Path, workspace: Path, direct: bool
) -> None:
    ours = CallTool("exec_command", {"text": "ours"}, namespace="openclaw", call_id="a")
    theirs = CallTool("exec_command", {"cmd": "echo of-codex"}, call_id="b")
    script = in_turn([Reply((ours, theirs)), say("Both.")])
    box, settings = Box(tool("exec_command"), tool("message")), ThreadSettings(direct_tools=direct)
    async with stage(codex, state, workspace, script, toolbox=box, settings=settings) as play:
        result = await play.ask("run it")
    mine, own = outputs(play.model.requests[1])
    assert (mine, "of-codex" in str(own)) == ("got {'text': 'ours'}", True)
    assert (result.text, result.evidence.tools) == ("Both.", ("openclaw.exec_command",))
    assert len(result.evidence.commands) == 1


async def test_calls_that_a_model_makes_together_are_all_answered_at_once_or_one_by_one_as_the_version_has_it(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    running, most, all_of_them = 0, 0, anyio.Event()

    async def turns(arguments: Mapping[str, Json]) -> ToolResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            all_of_them.set()
        with anyio.move_on_after(ALONE if together == 1 else None):
            await all_of_them.wait()
        running -= 1
        return ToolResult(True, f"{arguments['text']} is done")

    use = Reply(tuple(CallTool("message", {"text": each}, call_id=each) for each in "abc"))
    script = in_turn([use, say("All.")])
    async with stage(codex, state, workspace, script, toolbox=Box(serving("message", turns))) as play:
        together = TOGETHER[(await play.harness.ready()).version.text]
        result = await play.ask("do all three")
    assert most == together
    assert outputs(play.model.requests[1]) == ["a is done", "b is done", "c is done"]
    assert (result.text, result.evidence.tools) == ("All.", ("message", "message", "message"))
