"""Which tools reach the model of the real binary, and in what form."""

from pathlib import Path
from typing import Any

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import CallTool, Reply, always, in_turn, say
from codex_bridge.params import ThreadSettings
from codex_bridge.tool_schemas import projected
from codex_bridge.wire.requests import ThreadStartParams
from harness.turns import Outcome
from tests.codex_bridge.test_tool_schemas import ROOTS, VALUES
from tests.support.odd_tools import KEPT, LEFT_OUT, OFFERED, Box, groups, tool
from tests.support.real import notices_of, stage


async def test_bad_tools_cost_neither_the_thread_nor_the_others(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """T11."""
    script = in_turn([Reply((CallTool("read_all", {"text": "a"}, namespace="chat"),)), say("Read."), say("Again.")])
    async with stage(codex, state, workspace, script, toolbox=Box(*OFFERED)) as play:
        turn = await play.begin("hi", number="1")
        result = await turn.result()
        second = await play.begin("again", number="2")
        again = await second.result()
    (started,) = (sent.params for sent in turn.sent if isinstance(sent.params, ThreadStartParams))
    assert groups(started.dynamic_tools or []) == KEPT
    assert (result.text, result.evidence.tools, again.text) == ("Read.", ("chat.read_all",), "Again.")
    assert ([*await notices_of(turn)][-len(LEFT_OUT) :], await notices_of(second)) == (LEFT_OUT, [])


async def test_without_a_sound_tool_a_thread_is_started_without_the_key(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """T11."""
    async with stage(codex, state, workspace, always(say("Yes.")), toolbox=Box(tool("a b"))) as play:
        turn = await play.begin("hi")
        assert (await turn.result()).outcome is Outcome.ANSWERED
    assert "dynamicTools" not in turn.sent[0].to_wire()


async def test_codex_leaves_what_we_make_of_schemas_as_it_is(codex: CodexBinary, state: Path, workspace: Path) -> None:
    """With two hundred tools beside them."""
    originals: dict[str, Any] = {f"root_{number}": original for number, (original, _) in enumerate(ROOTS)}
    for number, (original, _) in enumerate(VALUES):
        originals[f"value_{number}"] = {"type": "object", "properties": {"p": original}}
    long = {f"p{number}": {"type": "integer", "description": "x" * 600} for number in range(10)}
    originals["long"] = {"type": "object", "properties": long}
    shown = [tool(name, schema=original) for name, original in originals.items()]
    other = [tool(f"other_{number}") for number in range(200)]
    settings = ThreadSettings(direct_tools=True)
    async with stage(
        codex, state, workspace, always(say("Yes.")), toolbox=Box(*shown, *other), settings=settings
    ) as play:
        await play.ask("hi")
    offered: dict[str, Any] = {each["name"]: each for each in play.model.requests[0].body["tools"] if "name" in each}  # type: ignore[union-attr, index, misc, operator]
    seen = {name: offered[name]["parameters"] for name in originals}
    assert seen == {name: projected(original) for name, original in originals.items()}
    assert sum(name.startswith("other_") for name in offered) == 200
