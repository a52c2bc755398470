"""A turn that is run once more by itself, and one that is not, on the real binary."""

import os
import signal
import time
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import Action, CallTool, FailResponse, HttpError, Reply, Say, Usage, in_turn, say
from codex_bridge.params import ThreadSettings
from harness import turns
from harness.turns import Failure, Finished, Notice, Outcome
from tests.support.real import Stage, beat_of, count, events_of, stage

YOLO = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
OVERLOADED = Reply((FailResponse("server_is_overloaded", "overloaded"),))
SLOWER = HttpError(429, {"error": {"message": "slow"}})
TOO_LONG = Reply((FailResponse("context_length_exceeded", "too long"),))
BUSY = "The model provider is overloaded; please try again shortly."


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.replays.PAUSE", 0.01)


@pytest.mark.parametrize("trouble", [OVERLOADED, SLOWER], ids=["overloaded", "429"])
async def test_a_provider_that_is_too_busy_is_asked_once_more_and_the_message_stands_once(
    codex: CodexBinary, state: Path, workspace: Path, trouble: Action
) -> None:
    """Codex itself does not ask again then."""
    script = in_turn([say("One."), trouble, Reply((Say("Two."),), Usage(200)), say("Three.")])
    async with stage(codex, state, workspace, script) as play:
        first = await play.ask("zebra", number="1")
        turn = await play.begin("heron", number="2")
        events = await events_of(turn)
        third = await play.ask("otter", number="3")
    assert isinstance(last := events[-1], Finished)
    assert (last.result.outcome, last.result.text, last.result.error) == (Outcome.ANSWERED, "Two.", "")
    assert first.conversation == last.result.conversation == third.conversation
    assert last.result.usage == turns.Usage(200, 0, 10)
    assert Notice("The model provider is too busy; the turn is tried once more in 0.01 s.") in events
    assert [each.method for each in turn.sent] == ["turn/start", "turn/start"]
    assert [count(each, "heron") for each in play.model.requests] == [0, 1, 1, 1]
    before, tried, again, after = ([part.text for part in each.parts()] for each in play.model.requests)
    assert again == tried
    assert after[: len(again)] == again
    assert before == again[: len(before)]


async def test_two_troubles_in_a_row_are_not_tried_twice(codex: CodexBinary, state: Path, workspace: Path) -> None:
    for number, troubles in enumerate(([OVERLOADED, OVERLOADED], [OVERLOADED, TOO_LONG], [TOO_LONG, OVERLOADED])):
        folder = state / str(number)
        folder.mkdir()
        async with stage(codex, folder, workspace, in_turn([say("One."), *troubles, say("never")])) as play:
            await play.ask("zebra", number="1")
            result = await play.ask("heron", number="2")
            asked = len(play.model.requests)
        assert (result.outcome, asked) == (Outcome.FAILED, 3)


async def test_a_message_that_a_lost_server_never_had_is_not_tried_a_third_time(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, in_turn([say("One."), OVERLOADED, say("never")])) as play:
        await play.ask("zebra", number="0")
        pid = _pid(play)
        os.kill(pid, signal.SIGSTOP)
        turn = await play.begin("heron")
        while not turn.sent:
            await anyio.lowlevel.checkpoint()
        os.kill(pid, signal.SIGKILL)
        result = await turn.result()
        asked = len(play.model.requests)
    assert (result.outcome, result.error, asked) == (Outcome.FAILED, BUSY, 2)


def _pid(play: Stage) -> int:
    server = play.harness.server
    assert server is not None
    assert server.process is not None
    return server.process


RUN = CallTool("exec_command", {"cmd": "true"})


@pytest.mark.parametrize(
    "said", [Reply((RUN,)), Reply((Say("Looking.", phase="commentary"), RUN))], ids=["ran", "said"]
)
async def test_a_turn_that_ran_or_said_something_is_not_tried_again(
    codex: CodexBinary, state: Path, workspace: Path, said: Reply
) -> None:
    """A15."""
    async with stage(codex, state, workspace, in_turn([said, OVERLOADED, say("never")]), settings=YOLO) as play:
        result = await play.ask("hi")
        asked = len(play.model.requests)
    assert (result.outcome, result.failure, result.error, asked) == (Outcome.FAILED, Failure.OVERLOADED, BUSY, 2)


async def test_what_codex_tried_again_by_itself_is_not_tried_once_more(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    retries = [("model_providers.loopback.stream_max_retries", "1")]
    slower = HttpError(429, {"error": {"message": "slow"}}, (("retry-after", "0"),))
    async with stage(codex, state, workspace, in_turn([slower, slower, say("never")]), overrides=retries) as play:
        result = await play.ask("hi")
        asked = len(play.model.requests)
    assert (result.failure, asked) == (Failure.RATE_LIMIT, 2)


async def test_the_pause_is_the_one_that_the_provider_asks_for(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    slower = Reply((FailResponse("rate_limit_exceeded", "Please try again in 0.4s."),))
    async with stage(codex, state, workspace, in_turn([slower, say("Here.")])) as play:
        began = time.monotonic()
        result = await play.ask("hi")
    assert (result.outcome, result.text) == (Outcome.ANSWERED, "Here.")
    assert time.monotonic() - began >= 0.4


async def test_a_long_pause_is_left_to_the_person(codex: CodexBinary, state: Path, workspace: Path) -> None:
    slower = Reply((FailResponse("rate_limit_exceeded", "Please try again in 20m."),))
    async with stage(codex, state, workspace, in_turn([slower, say("never")])) as play:
        began = time.time()
        result = await play.ask("hi")
        asked = len(play.model.requests)
    assert (result.failure, asked) == (Failure.RATE_LIMIT, 1)
    assert result.retry_at is not None
    assert 1_190 < result.retry_at - began < 1_260
    assert result.error.startswith("The model provider asks for a slower pace; please try again in 20 min, at ")


async def test_a_person_who_stops_the_pause_ends_the_turn_at_once(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.replays.PAUSE", 50.0)
    async with stage(codex, state, workspace, in_turn([OVERLOADED, say("Fine.")])) as play:
        turn = await play.begin("zebra", number="1")
        async for event in turn.events():
            if isinstance(event, Notice) and "once more" in event.text:
                await turn.interrupt()
        stopped = await turn.result()
        after = await play.ask("heron", number="2")
    assert (stopped.outcome, stopped.error) == (Outcome.INTERRUPTED, "")
    assert after.text == "Fine."
    assert [count(each, "zebra") for each in play.model.requests] == [1, 0]


async def test_a_heartbeat_is_not_tried_again_as_it_comes_again(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, in_turn([say("One."), OVERLOADED, say("never")])) as play:
        first = await play.begin("hi", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Look around.", first), key="beat")
        result = await beat.turn.result()
        asked = len(play.model.requests)
    assert (result.failure, asked) == (Failure.OVERLOADED, 2)
