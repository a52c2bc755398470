"""A gateway's turns share its places, over all chats and harnesses: people first, and who waits can be stopped."""

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel

from codex_bridge.bridge import CodexHarness
from codex_bridge.turn import CodexTurn
from harness.turn_limit import TurnLimit
from harness.turns import EndedBy, Notice, Outcome, Trigger, TurnRequest, TurnResult
from tests.support.time import HandClock
from tests.support.turns import first_delta, harness_on_fake, words


def beat(chat: str) -> TurnRequest:
    return replace(words("echo", chat=chat), trigger=Trigger.HEARTBEAT)


async def stalled(harness: CodexHarness, chat: str) -> CodexTurn:
    """A turn that runs until it is stopped."""
    turn = harness.start(words("stall", chat=chat))
    await first_delta(turn)
    return turn


def noted(request: TurnRequest, name: str, began: list[str]) -> TurnRequest:
    """A turn that notes its name when it is over."""

    def note(result: TurnResult) -> None:
        assert result.outcome is Outcome.ANSWERED
        began.append(name)

    return replace(request, on_end=note)


async def settle() -> None:
    """Let everybody do what can be done now."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


async def test_no_more_turns_run_than_there_are_places_and_the_first_that_waits_is_next(tmp_path: Path) -> None:
    limit = TurnLimit(2)
    async with harness_on_fake(tmp_path, limit=limit) as harness:
        running = [await stalled(harness, chat) for chat in "ab"]
        waiting = [harness.start(words("echo", chat=chat)) for chat in "cd"]
        await settle()
        assert (limit.running, limit.waiting) == (2, 2)
        assert [turn.sent for turn in waiting] == [[], []]
        await running[0].interrupt()
        for turn in waiting:
            assert (await turn.result()).outcome is Outcome.ANSWERED
        told = [[event.text async for event in turn.events() if isinstance(event, Notice)] for turn in waiting]
    wait = "2 turns run already, so this one waits (agents.defaults.maxConcurrent)."
    assert told == [[wait], [wait]]
    assert (limit.running, limit.waiting) == (0, 0)


async def test_of_a_chat_only_the_first_message_stands_in_the_line(tmp_path: Path) -> None:
    limit, began = TurnLimit(1), list[str]()
    async with harness_on_fake(tmp_path, limit=limit) as harness:
        first = await stalled(harness, "z")
        names = [f"{chat}{number}" for chat in "ab" for number in range(3)]
        turns = [harness.start(noted(words(f"echo {name}", chat=name[0]), name, began)) for name in names]
        await settle()
        assert limit.waiting == 2
        await first.interrupt()
        for turn in turns:
            await turn.result()
    assert began == ["a0", "b0", "a1", "b1", "a2", "b2"]


async def test_several_harnesses_share_the_places_of_their_gateway(tmp_path: Path) -> None:
    limit = TurnLimit(1)
    async with AsyncExitStack() as stack:
        harnesses: list[CodexHarness] = []
        for name in "ab":
            (tmp_path / name).mkdir()
            harnesses.append(await stack.enter_async_context(harness_on_fake(tmp_path / name, limit=limit)))
        running = await stalled(harnesses[0], "a")
        other = harnesses[1].start(words("echo"))
        await settle()
        assert (other.sent, limit.waiting) == ([], 1)
        await running.interrupt()
        assert (await other.result()).outcome is Outcome.ANSWERED


async def test_a_turn_that_waits_for_a_place_is_stopped_at_once_and_never_begins(tmp_path: Path) -> None:
    limit = TurnLimit(1)
    async with harness_on_fake(tmp_path, limit=limit) as harness:
        running = await stalled(harness, "a")
        waiting = harness.start(words("echo", chat="b"))
        await settle()
        with anyio.fail_after(1):
            await waiting.interrupt()
        result = await waiting.result()
        assert (limit.waiting, running.buffer.result) == (0, None)
    assert (result.outcome, result.turn, waiting.sent) == (Outcome.INTERRUPTED, "", [])


async def test_a_person_goes_before_a_heartbeat_of_another_chat(tmp_path: Path) -> None:
    limit, began = TurnLimit(1), list[str]()
    async with harness_on_fake(tmp_path, limit=limit) as harness:
        running = await stalled(harness, "a")
        turns = [
            harness.start(noted(asked, asked.session_key, began)) for asked in (beat("b"), words("echo", chat="c"))
        ]
        await settle()
        await running.interrupt()
        for turn in turns:
            await turn.result()
    assert began == ["c", "b"]


async def test_a_heartbeat_that_only_waits_makes_way_at_once_for_a_message_of_its_chat(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, limit=TurnLimit(2)) as harness:
        others = [await stalled(harness, chat) for chat in "ab"]
        waiting = harness.start(beat("c"))
        await settle()
        with anyio.fail_after(1):
            message = harness.start(words("echo", chat="c"))
            gone = await waiting.result()
        await others[0].interrupt()
        assert (await message.result()).outcome is Outcome.ANSWERED
    assert (gone.outcome, gone.ended_by, waiting.sent) == (Outcome.INTERRUPTED, EndedBy.GIVEN_WAY, [])


async def test_a_scheduled_turn_that_a_person_waits_behind_goes_with_the_people(tmp_path: Path) -> None:
    began = list[str]()
    async with harness_on_fake(tmp_path, limit=TurnLimit(1)) as harness:
        running = await stalled(harness, "a")
        job = replace(words("echo", chat="c"), trigger=Trigger.CRON)
        turns = [harness.start(noted(beat("b"), "beat", began)), harness.start(noted(job, "job", began))]
        await settle()
        turns.append(harness.start(noted(words("echo", chat="c"), "message", began)))
        await running.interrupt()
        for turn in turns:
            await turn.result()
    assert began == ["job", "beat", "message"]


async def test_the_time_of_a_turn_counts_from_when_it_has_its_place(tmp_path: Path) -> None:
    clock = HandClock()
    async with harness_on_fake(tmp_path, limit=TurnLimit(1), clock=clock) as harness:
        running = harness.start(replace(words("stall", chat="a"), seconds=1000.0))
        await first_delta(running)
        waiting = harness.start(replace(words("echo", chat="b"), seconds=10.0))
        await settle()
        clock.advance(50)
        await settle()
        assert waiting.buffer.result is None
        await running.interrupt()
        assert (await waiting.result()).outcome is Outcome.ANSWERED
