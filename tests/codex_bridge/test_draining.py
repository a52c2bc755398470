"""A gateway that shuts down: running turns get a little time, waiting ones are not begun, none is taken any more."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.turn import CodexTurn
from harness.json_value import Json
from harness.store.bindings import bindings_at
from harness.tasks import beside
from harness.tools import ToolResult
from harness.turn_limit import TurnLimit
from harness.turns import EndedBy, Failure, Outcome, TurnResult
from tests.support.odd_tools import tool
from tests.support.turns import first_delta, harness_on_fake, words

CUT = (Outcome.FAILED, Failure.SHUTDOWN, EndedBy.SHUTDOWN, "The gateway is shutting down.")


async def stalled(harness: CodexHarness, chat: str = "a") -> CodexTurn:
    turn = harness.start(words("stall", chat=chat))
    await first_delta(turn)
    return turn


def how(result: TurnResult) -> tuple[Outcome, Failure | None, EndedBy, str]:
    return result.outcome, result.failure, result.ended_by, result.error


async def test_a_running_turn_may_come_to_its_end_and_no_other_one_is_taken(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        async with beside() as group:
            group.start_soon(harness.drain, 20.0)
            await anyio.wait_all_tasks_blocked()
            refused = harness.start(words("echo", chat="b"))
            await turn.interrupt()
            result, late = await turn.result(), await refused.result()
    assert (result.outcome, result.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)
    assert how(late) == CUT


async def test_a_turn_that_does_not_end_in_time_is_interrupted_and_keeps_what_was_said(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        await harness.drain(0.05)
        result = await turn.result()
        server = harness.server
        assert server is not None
        assert server.client.lost is None
    assert (how(result), result.text, result.turn) == (CUT, "Let me", "turn_1")


async def test_turns_that_wait_end_at_once_and_were_never_begun(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, limit=TurnLimit(1)) as harness:
        running = await stalled(harness)
        behind_it = harness.start(words("echo", chat="a"))
        in_the_line = harness.start(words("echo", chat="b"))
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as group:
            group.start_soon(harness.drain, 20.0)
            for turn in (behind_it, in_the_line):
                await turn.result()
            assert running.buffer.result is None
            await running.interrupt()
        ended = [await turn.result() for turn in (behind_it, in_the_line)]
    assert [(how(each), each.turn, each.conversation) for each in ended] == [(CUT, "", "")] * 2
    assert [turn.sent for turn in (behind_it, in_the_line)] == [[], []]


async def test_what_the_last_turns_said_is_in_the_store_when_the_gateway_is_drained(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "bindings.sqlite") as store, harness_on_fake(tmp_path, store) as harness:
        turn = await stalled(harness)
        await harness.drain(0)
        (kept,) = await store.unheard("a", "", 0)
    assert (kept.said, kept.answered, kept.turn) == ("stall", "Let me", (await turn.result()).turn)


async def test_the_end_of_the_block_drains(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, drain=20.0) as harness:
        turn = await stalled(harness)

        async def stop() -> None:
            while harness.start(words("echo", chat="b")).buffer.result is None:
                await anyio.lowlevel.checkpoint()
            await turn.interrupt()

        harness._group.start_soon(stop)  # pyright: ignore[reportPrivateUsage]
    assert (await turn.result()).ended_by is EndedBy.PERSON


async def test_a_block_that_fails_waits_for_nobody(tmp_path: Path) -> None:
    turns: list[CodexTurn] = []
    with anyio.fail_after(5), pytest.raises(RuntimeError, match="the outbox is gone"):
        async with harness_on_fake(tmp_path, drain=1000.0) as harness:
            turns.append(await stalled(harness))
            raise RuntimeError("the outbox is gone")
    assert how(await turns[0].result()) == CUT


@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_that_is_open_is_answered_with_a_failure_before_the_server_goes(
    tmp_path: Path, fails: bool
) -> None:
    """H4."""
    told, called = tmp_path / "told", anyio.Event()

    async def endless(_: Mapping[str, Json]) -> ToolResult:
        called.set()
        await anyio.sleep_forever()
        raise NotImplementedError

    box = (replace(tool("message"), call=endless),)
    with anyio.fail_after(5), pytest.raises(OSError, match="gone") if fails else nullcontext():
        async with harness_on_fake(tmp_path) as harness:
            turn = harness.start(replace(words(f"call {told}"), tools=box))
            await called.wait()
            if fails:
                raise OSError("gone")
    assert how(await turn.result()) == CUT
    answer = json.loads(told.read_text("utf-8"))
    assert answer == {"success": False, "contentItems": [{"type": "inputText", "text": "The turn is over."}]}


async def test_a_turn_that_is_just_being_handed_over_is_cut_short_as_well(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("unanswered stall"))
        while not turn.sent:
            await anyio.lowlevel.checkpoint()
        await harness.drain(0)
        assert how(await turn.result()) == CUT


async def test_a_summary_is_cut_short_as_well(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        await stalled(harness)
        waiting = harness.compact(replace(words("echo"), seconds=1000.0))
        await anyio.wait_all_tasks_blocked()
        await harness.drain(0)
        assert how(await waiting.result()) == CUT
