"""What breaks other clients of the app-server leaves a turn of ours unharmed, or ends it with one clear error.

The probes of peers 3.1, against a fake Codex in a child process.
"""

import gc
import logging
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.client import connected
from codex_bridge.rpc import Answered, Json, Notified, Requested
from codex_bridge.wire.notifications import Wire, read
from codex_bridge.wire.requests import TURN_START, TextInput, TurnStartParams
from harness.asks import ApprovalAsked, AskSettled, Settlement
from harness.turns import EndedBy, Evidence, Failure, Finished, Notice, Outcome, TextDelta, TurnResult, Usage
from tests.support.fake_codex import FakeCodex
from tests.support.fake_server import Script
from tests.support.serving import Told, serving
from tests.support.turns import first_delta, harness_on_fake, words


async def ask(harness: CodexHarness, text: str, *, chat: str = "a") -> TurnResult:
    return await harness.start(words(text, chat=chat)).result()


def answered(text: str, *, turn: str = "turn_1", counted: bool = False) -> TurnResult:
    result = TurnResult(Outcome.ANSWERED, text, conversation="thr_1", turn=turn)
    return replace(result, usage=ONE_REQUEST, context_used=110, context_window=9000) if counted else result


ONE_REQUEST = Usage(input=100, output=10)


async def test_a_turn_streams_its_answer_and_counts_its_tokens(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("echo pong"))
        events = [event async for event in turn.events()]

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "pong"
    assert events[-1] == Finished(answered("pong", counted=True))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.starting.START_DEADLINE", 0.2)
    monkeypatch.setattr("codex_bridge.starting.ADOPTION_DEADLINE", 0.2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["unanswered", "unreadable"])
async def test_a_turn_whose_start_was_not_confirmed_is_followed_to_its_answer(tmp_path: Path, how: str) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words(f"{how} echo pong"))
        events = [event async for event in turn.events()]
        after = await ask(harness, "echo")

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "pong"
    assert events[-1] == Finished(answered("pong", counted=True))
    assert after == answered("pong", turn="turn_2", counted=True)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["unanswered", "unreadable"])
async def test_a_turn_whose_start_was_not_confirmed_can_be_stopped(tmp_path: Path, how: str) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words(f"{how} stall"))
        assert await first_delta(turn) == "Let me"
        await turn.interrupt()
        stopped, after = await turn.result(), await ask(harness, "echo")

    assert (stopped.outcome, stopped.text, stopped.ended_by) == (Outcome.INTERRUPTED, "Let me", EndedBy.PERSON)
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, "thr_1")


@pytest.mark.usefixtures("impatient")
async def test_a_turn_that_never_began_ends_with_a_sentence_and_keeps_its_conversation(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("deaf echo"))
        events = [event async for event in turn.events()]
        result, after = await turn.result(), await ask(harness, "echo")

    assert (result.outcome, result.text) == (Outcome.FAILED, "")
    assert result.error == "Codex did not begin this turn: turn/start was not answered within 0.2 s."
    assert events == [Finished(result)]
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, "thr_1")


async def test_code_of_the_gateway_that_breaks_at_the_end_of_a_turn_ends_no_other_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(result: TurnResult) -> None:
        raise RuntimeError("the outbox is gone")

    async with harness_on_fake(tmp_path) as harness:
        other = harness.start(words("stall", chat="b"))
        assert await first_delta(other) == "Let me"
        with caplog.at_level(logging.ERROR):
            ended = await harness.start(replace(words("echo"), on_end=broken)).result()
        await other.interrupt()
        after = await ask(harness, "echo", chat="b")

    assert (ended.outcome, after.outcome) == (Outcome.ANSWERED, Outcome.ANSWERED)
    assert "the outbox is gone" in caplog.text


async def test_a_notification_that_breaks_something_here_ends_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(notification: Notified) -> Wire:
        if notification.method == "thread/tokenUsage/updated":
            raise RuntimeError("a mistake of ours")
        return read(notification)

    monkeypatch.setattr("codex_bridge.hearing.read", broken)
    async with harness_on_fake(tmp_path) as harness:
        with caplog.at_level(logging.ERROR):
            assert (await ask(harness, "echo")).outcome is Outcome.ANSWERED
        server = harness.server
        await ask(harness, "echo")
        assert harness.server is server

    assert "a mistake of ours" in caplog.text


@pytest.mark.parametrize("size", [100_000, 1_100_000, 4_500_000])
async def test_an_answer_on_one_long_line_arrives_whole(tmp_path: Path, size: int) -> None:
    async with harness_on_fake(tmp_path) as harness:
        assert await ask(harness, f"large {size}") == answered("x" * size)
        assert await ask(harness, "echo") == answered("pong", turn="turn_2", counted=True)


async def test_killing_the_server_in_mid_turn_ends_the_turn_with_an_error_and_the_next_one_works(
    tmp_path: Path,
) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("stall"))
        assert await first_delta(turn) == "Let me"
        first = await harness.ready()

        os.kill(first.pid, signal.SIGKILL)
        with anyio.fail_after(1.5):
            lost = await turn.result()
        again = harness.start(words("echo"))
        result = await again.result()
        second = await harness.ready()

    assert lost == TurnResult(
        Outcome.LOST,
        "Let me",
        error="Codex stopped in the middle of this turn: it was killed by SIGKILL.",
        conversation="thr_1",
        turn="turn_1",
        failure=Failure.SERVER,
        ended_by=EndedBy.LOSS,
    )
    assert result == answered("pong", counted=True)
    assert [sent.method for sent in again.sent] == ["thread/resume", "turn/start"]
    assert second.pid != first.pid


async def test_killing_the_server_ends_the_turns_of_every_chat(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turns = [harness.start(words("stall", chat=f"chat {number}")) for number in range(5)]
        for turn in turns:
            await first_delta(turn)

        os.kill((await harness.ready()).pid, signal.SIGKILL)
        results = [await turn.result() for turn in turns]

    assert [result.outcome for result in results] == [Outcome.LOST] * 5
    assert {result.conversation for result in results} == {f"thr_{number}" for number in range(1, 6)}


@pytest.mark.parametrize("course", ["new-words", "fields-gone", "new-items", "junk", "stray"])
async def test_what_a_newer_server_says_differently_does_not_cost_the_answer(tmp_path: Path, course: str) -> None:
    async with harness_on_fake(tmp_path) as harness:
        found = await ask(harness, course)
        assert replace(found, evidence=Evidence()) == answered("still here")
        assert await ask(harness, "echo") == answered("pong", turn="turn_2", counted=True)


async def test_a_turn_ends_although_details_of_its_end_have_other_types_than_before(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        with anyio.fail_after(1):
            assert await ask(harness, "types-changed still here") == answered("still here")


async def test_a_junk_line_is_logged_by_its_size_and_never_quoted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Case T09 (c)."""
    with caplog.at_level(logging.INFO, "codex_bridge"):
        async with harness_on_fake(tmp_path) as harness:
            await ask(harness, "junk")

    line = "the app-server sent 27 bytes that are no message (not JSON); they were skipped"
    assert caplog.messages[0] == line
    assert "4711" not in caplog.text


async def test_an_approval_that_nobody_can_give_is_declined_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("approval rm -r build"))
        events = [event async for event in turn.events()]

    asked = "Codex asked to run `rm -r build`, and nobody could be asked, so the answer was no."
    assert Notice(asked) in events
    assert events[-1] == Finished(answered('{"decision":"decline"}'))


@pytest.mark.parametrize(("course", "told"), [("approval", [""]), ("child-asks", ["thr_child"]), ("stale-ask", [])])
async def test_an_approval_is_told_to_the_turn_that_it_concerns_and_to_no_other(
    tmp_path: Path, course: str, told: list[str]
) -> None:
    """By thread and by turn; what a subagent asks is told to the turn that it works for. Each is declined."""
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words(f"{course} ls"))
        events = [event async for event in turn.events()]
    asked = [event for event in events if isinstance(event, ApprovalAsked)]
    settled = [event for event in events if isinstance(event, AskSettled)]
    assert [event.agent for event in asked] == told
    assert [(event.ask, event.how) for event in settled] == [(event.ask, Settlement.DECLINED) for event in asked]
    assert isinstance(last := events[-1], Finished)
    assert last.result.text == '{"decision":"decline"}'


async def test_a_request_that_the_server_repeats_is_answered_once_and_breaks_nothing(tmp_path: Path) -> None:
    """A server replays what is still open under the same id when a thread is resumed (protocol reference, 2)."""
    async with harness_on_fake(tmp_path) as harness:
        await ask(harness, "twice ls")
        assert await ask(harness, "echo") == answered("pong", turn="turn_2", counted=True)


async def test_a_slow_approval_holds_up_no_other_thread() -> None:
    """Three seconds of a person's thought are an event here that nobody has set yet."""
    decided, asked = anyio.Event(), anyio.Event()
    told = Told()

    async def approve(request: Requested) -> Json:
        asked.set()
        await decided.wait()
        return {"decision": "accept"}

    async def ended(number: int) -> list[Json]:
        return [params["threadId"] for params in await told.until("turn/completed", number)]

    async with (
        serving(Script(FakeCodex())) as (wire, server),
        connected(wire, on_request=approve, on_notification=told) as client,
    ):

        async def start(thread: str, text: str) -> None:
            await client.call(TURN_START, TurnStartParams(thread_id=thread, input=[TextInput(text=text)]))

        await start("slow", "approval make install")
        await asked.wait()
        for _ in range(20):
            await start("quick", "echo")
        assert await ended(20) == ["quick"] * 20

        decided.set()
        answer = await server.heard_of(Answered)
        assert await ended(21) == [*["quick"] * 20, "slow"]

    assert answer == Answered(0, "item/commandExecution/requestApproval", {"decision": "accept"})


async def test_one_of_seventeen_running_turns_is_interrupted_at_once_and_the_others_run_on(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turns = [harness.start(words("stall", chat=f"chat {number}")) for number in range(17)]
        for turn in turns:
            await first_delta(turn)

        with anyio.fail_after(2):
            await turns[8].interrupt()
            stopped = await turns[8].result()
        assert (stopped.outcome, stopped.text) == (Outcome.INTERRUPTED, "Let me")
        assert await ask(harness, "echo", chat="another") == replace(
            answered("pong", turn="turn_18", counted=True), conversation="thr_18"
        )
        assert [turn.buffer.result for turn in turns if turn is not turns[8]] == [None] * 16

        for turn in turns:
            await turn.interrupt()
        results = [await turn.result() for turn in turns]

    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * 17


async def test_a_control_call_takes_no_more_loop_ticks_with_sixteen_streams_open() -> None:
    async with serving(Script(FakeCodex())) as (wire, _), connected(wire) as client:

        async def start(thread: str, text: str) -> None:
            await client.call(TURN_START, TurnStartParams(thread_id=thread, input=[TextInput(text=text)]))

        async def ticks_of_a_call() -> int:
            ticks = 0
            async with anyio.create_task_group() as group:

                async def count() -> None:
                    nonlocal ticks
                    while True:
                        await anyio.lowlevel.checkpoint()
                        ticks += 1

                group.start_soon(count)
                await start("control", "echo")
                group.cancel_scope.cancel()
            return ticks

        alone = await ticks_of_a_call()
        for number in range(16):
            await start(f"idle {number}", "stall")
        among_many = await ticks_of_a_call()

    assert among_many <= alone + 1


async def test_eight_hundred_turns_leave_nothing_behind_and_do_not_slow_down(tmp_path: Path) -> None:
    async def run(harness: CodexHarness, count: int) -> float:
        """CPU seconds of so many turns, this process alone."""
        before = time.process_time()
        for _ in range(count):
            await ask(harness, "echo")
        return time.process_time() - before

    def kept() -> tuple[int, int]:
        gc.collect()
        return len(gc.get_objects()), sys.getallocatedblocks()

    async with harness_on_fake(tmp_path) as harness:
        await run(harness, 3)
        first = await run(harness, 50)
        objects_before, blocks_before = kept()
        await run(harness, 700)
        objects_after, blocks_after = kept()
        # The best of two, since this machine may have other things to do.
        last = min([await run(harness, 50) for _ in range(2)])
        client = (await harness.ready()).client
        assert client.in_flight == 0

    # Less than one for each of the 700 turns between; the event loop's own tables breathe by some hundred.
    assert objects_after - objects_before < 700
    assert blocks_after - blocks_before < 700
    assert last < 2 * first
