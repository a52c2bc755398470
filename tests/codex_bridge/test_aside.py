"""A turn that runs aside, on a thread that ends with it: whatever becomes of that one, the chat keeps its own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.restarts import Patience
from codex_bridge.turn import CodexTurn
from harness.json_value import Json
from harness.tools import Tool, ToolResult
from harness.turns import Outcome
from tests.support.turns import first_delta, harness_on_fake, words


async def _ring(_: Mapping[str, Json]) -> ToolResult:
    raise NotImplementedError


BELL = Tool("ring", "Ring the bell.", {"type": "object", "properties": {}}, _ring)


def of_chat(harness: CodexHarness, text: str = "echo") -> CodexTurn:
    """A turn on the chat's thread, which has tools."""
    return harness.start(replace(words(text), tools=(BELL,)))


def aside(harness: CodexHarness, text: str) -> CodexTurn:
    """A turn without tools, which the chat's thread is kept from."""
    return harness.start(words(text))


async def is_kept(harness: CodexHarness) -> bool:
    """Whether the chat goes on in its thread, which is loaded still."""
    turn = of_chat(harness)
    result = await turn.result()
    return (result.conversation, [sent.method for sent in turn.sent]) == ("thr_1", ["turn/start"])


async def test_a_thread_that_is_gone_costs_the_chat_nothing(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        await of_chat(harness).result()
        turn = aside(harness, "once gone")
        result = await turn.result()
        assert (result.outcome, [sent.method for sent in turn.sent]) == (
            Outcome.ANSWERED,
            ["thread/start", "turn/start", "thread/start", "turn/start"],
        )
        assert await is_kept(harness)


async def test_a_turn_that_does_not_stop_costs_the_chat_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.stopping.INTERRUPT_DEADLINE", 0.3)
    monkeypatch.setattr("codex_bridge.hosts.PING_DEADLINE", 0.3)
    async with harness_on_fake(tmp_path) as harness:
        await of_chat(harness).result()
        turn = aside(harness, "stubborn")
        await first_delta(turn)
        await turn.interrupt()
        assert (await turn.result()).outcome is Outcome.INTERRUPTED
        assert await is_kept(harness)


async def test_a_death_of_its_server_speaks_not_against_the_thread_of_the_chat(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, patience=Patience(first_wait=0.0)) as harness:
        await of_chat(harness).result()
        for turn in (aside, of_chat):
            assert (await turn(harness, "die").result()).outcome is Outcome.LOST
        turn = of_chat(harness)
        await turn.result()
    assert [sent.method for sent in turn.sent] == ["thread/resume", "turn/start"]
