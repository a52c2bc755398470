"""The end of a turn that somebody wants to end: at once, once, and bounded whatever the server does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.client import Client
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.base import Method
from codex_bridge.wire.requests import TURN_INTERRUPT, TURN_START
from harness.turns import EndedBy, Outcome, Trigger
from tests.support.turns import first_delta, harness_on_fake, words


class Watched:
    """The calls of a kind that were made, and how many are open."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.open = 0
        self.most_open = 0
        self.hold: dict[str, anyio.Event] = {}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    seen, real = Watched(), Client.call

    async def call(self: Client, method: Method[Any, Any], params: Any, **how: Any) -> Any:
        if method is TURN_INTERRUPT:
            seen.made.append(params.turn_id)
            seen.open += 1
            seen.most_open = max(seen.most_open, seen.open)
        try:
            answer = await real(self, method, params, **how)
            if method.name in seen.hold:
                await seen.hold[method.name].wait()
            return answer
        finally:
            if method is TURN_INTERRUPT:
                seen.open -= 1

    monkeypatch.setattr(Client, "call", call)
    return seen


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.stopping.INTERRUPT_DEADLINE", 0.3)
    monkeypatch.setattr("codex_bridge.hosts.PING_DEADLINE", 0.3)


async def stalled(harness: CodexHarness, course: str = "stall") -> CodexTurn:
    turn = harness.start(words(course))
    assert await first_delta(turn) == "Let me"
    return turn


async def test_two_stops_send_one_request(tmp_path: Path, watched: Watched) -> None:
    """B2."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(turn.interrupt)
        result = await turn.result()
    assert (result.outcome, result.ended_by, watched.made) == (Outcome.INTERRUPTED, EndedBy.PERSON, ["turn_1"])


@pytest.mark.usefixtures("impatient")
async def test_a_server_that_ignores_a_stop_holds_up_nobody_for_long(tmp_path: Path, watched: Watched) -> None:
    """B1: the turn counts as over, and the next message is answered in another thread."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness, "stubborn")
        with anyio.fail_after(3):
            async with anyio.create_task_group() as group:
                group.start_soon(turn.interrupt)
                group.start_soon(turn.interrupt)
            result = await turn.result()
        after = await harness.start(words("echo")).result()
    assert (result.outcome, result.text) == (Outcome.INTERRUPTED, "Let me")
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, "thr_2")
    assert watched.most_open == 1


async def test_a_stop_is_heard_at_once_while_the_answer_to_the_start_is_awaited(
    tmp_path: Path, watched: Watched
) -> None:
    """B4: the person is free now; the turn is stopped once its id is known, before another one can begin."""
    watched.hold[TURN_START.name] = anyio.Event()
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("stall"))
        while not any(sent.method == TURN_START.name for sent in turn.sent):
            await anyio.lowlevel.checkpoint()
        with anyio.fail_after(1):
            await turn.interrupt()
            result = await turn.result()
        assert (result.outcome, watched.made) == (Outcome.INTERRUPTED, [])

        following = harness.start(words("echo"))
        await anyio.wait_all_tasks_blocked()
        assert following.sent == []  # it would join the turn that is yet to be stopped
        watched.hold.pop(TURN_START.name).set()
        after = await following.result()
    assert len(watched.made) == 1
    assert (after.outcome, after.conversation, after.turn) == (Outcome.ANSWERED, "thr_1", "turn_2")


async def test_a_stop_of_a_turn_that_waits_for_its_server_sends_nothing(tmp_path: Path, watched: Watched) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("stall"))
        await turn.interrupt()
        result = await turn.result()
        after = await harness.start(words("echo")).result()
    assert (result.outcome, result.turn, watched.made, after.outcome) == (
        Outcome.INTERRUPTED,
        "",
        [],
        Outcome.ANSWERED,
    )


@pytest.mark.usefixtures("impatient")
async def test_a_turn_whose_end_was_never_told_is_over_when_the_server_says_so(
    tmp_path: Path, watched: Watched
) -> None:
    """A1: the conversation keeps its thread."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness, "silent-end")
        with anyio.fail_after(2):
            await turn.interrupt()
        result = await turn.result()
        after = await harness.start(words("echo")).result()
    assert (result.outcome, result.text, after.conversation) == (Outcome.INTERRUPTED, "Let me", "thr_1")
    assert watched.made == ["turn_1"]


@pytest.mark.usefixtures("impatient")
async def test_a_stop_that_names_a_turn_of_before_is_sent_once_more_for_the_one_that_runs(
    tmp_path: Path, watched: Watched
) -> None:
    """B3: "expected active turn id X but found Y", and Y was seen to begin on this thread."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness, "replaced")
        with anyio.fail_after(2):
            await turn.interrupt()
        result = await turn.result()
        after = await harness.start(words("echo")).result()
    assert watched.made == ["turn_1", "turn_1-b"]
    assert (result.outcome, after.conversation) == (Outcome.INTERRUPTED, "thr_1")


@pytest.mark.usefixtures("impatient")
async def test_a_turn_that_nobody_here_has_seen_is_not_stopped_for_another_one(
    tmp_path: Path, watched: Watched
) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness, "usurped")
        with anyio.fail_after(2):
            await turn.interrupt()
        after = await harness.start(words("echo")).result()
    assert set(watched.made) == {"turn_1"}
    assert after.conversation == "thr_2"


async def test_a_stop_of_one_chat_leaves_the_turns_of_others_alone(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn, other = await stalled(harness), harness.start(replace(words("stall", chat="b")))
        await first_delta(other)
        await turn.interrupt()
        assert other.buffer.result is None
        await other.interrupt()


async def test_a_stop_of_a_conversation_ends_all_that_runs_or_waits_in_it(tmp_path: Path) -> None:
    """A heartbeat that nobody holds the turn of, the message that waits for it, and no other chat."""
    async with harness_on_fake(tmp_path) as harness:
        beat = harness.start(replace(words("stall"), trigger=Trigger.HEARTBEAT))
        await first_delta(beat)
        waits, other = harness.start(words("echo")), harness.start(words("stall", chat="b"))
        await first_delta(other)
        assert await harness.stop("a") == 2
        results = [await turn.result() for turn in (beat, waits)]
        assert await harness.stop("a") == 0
        assert other.buffer.result is None
        await other.interrupt()
    assert [(each.outcome, each.ended_by) for each in results] == [(Outcome.INTERRUPTED, EndedBy.PERSON)] * 2
    assert waits.sent == []
