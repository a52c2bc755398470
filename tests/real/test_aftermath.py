"""What the model hears of a turn that was ended before its time, beside Codex's own note that the user did it."""

import os
import signal
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, CallTool, Reply, Wait, say
from codex_bridge.threads import Threads
from codex_bridge.turn import CodexTurn
from codex_bridge.wording import ANSWER_IN_DOUBT, BROKE_OFF, ENDED, OVER
from harness.json_value import Json
from harness.toolbox import ToolTurn
from harness.tools import Tool, ToolResult
from harness.turns import EndedBy, Outcome
from tests.support.real import Stage, beat_of, count, places, stage
from tests.support.time import HandClock

NOW, WHEN = 1935817689.0, "2031-05-06 07:08:09 UTC"
BLAME = "The user interrupted the previous turn on purpose."
"""What Codex notes of every turn that is interrupted, word for word on both versions."""
NOTE = "the turn before this one"
BROKEN = f"{BROKE_OFF.format(when=WHEN)} {ANSWER_IN_DOUBT}"


def ended(how: str) -> str:
    return f"{ENDED.format(when=WHEN, how=how)} {ANSWER_IN_DOUBT}"


def script(request: RecordedRequest) -> Action:
    """A model that comes to no end when it is asked to wait, and has nothing to tell when it is asked to check."""
    if last_words(request) == "Check.":
        return say("HEARTBEAT_OK")
    return Reply((BeginSaying("Let me "), Wait(anyio.Event()))) if last_words(request) == "wait" else say("Here.")


def last_words(request: RecordedRequest) -> str:
    return [part.text for part in request.parts() if part.role == "user"][-1]


class Play:
    """A conversation of which turns are ended."""

    def __init__(self, codex: CodexBinary, state: Path, workspace: Path) -> None:
        self._made = codex, state, workspace
        self.clock = HandClock()

    def stage(self) -> AbstractAsyncContextManager[Stage]:
        """A process of the gateway."""
        return stage(*self._made, script, clock=self.clock, turn_deadline=50, now=lambda: NOW, heartbeat_grace=0.05)

    async def end(self, here: Stage, by: EndedBy, *, number: str = "1") -> CodexTurn:
        """Have a turn ended by somebody."""
        turn = await here.begin("wait", number=number)
        await here.model.next_request()
        if by is EndedBy.DEADLINE:
            self.clock.advance(50)
        elif by is EndedBy.LOSS:
            server = here.harness.server
            assert server is not None
            os.kill(server.pid, signal.SIGKILL)
        else:
            await turn.interrupt(by)
        result = await turn.result()
        assert result.ended_by is by
        return turn


@pytest.fixture
def play(codex: CodexBinary, state: Path, workspace: Path) -> Play:
    return Play(codex, state, workspace)


TOLD = [
    (EndedBy.DEADLINE, ended("by the gateway's deadline for the whole turn, 50 s"), 1),
    (EndedBy.GIVEN_WAY, ended("by the gateway, to make way for a message of the person"), 1),
    (EndedBy.SHUTDOWN, ended("because the gateway was shut down"), 1),
    (EndedBy.LOSS, ended("because its Codex stopped running"), 0),
]


@pytest.mark.parametrize(("by", "told", "blamed"), TOLD)
async def test_the_next_turn_hears_once_how_the_one_before_was_really_ended(
    play: Play, by: EndedBy, told: str, blamed: int
) -> None:
    """A5."""
    async with play.stage() as here:
        await play.end(here, by)
        texts = [await here.ask(text, number=text) for text in ("two", "three", "four")]
    two, three, four = (request for request in here.model.requests if last_words(request) != "wait")
    assert [result.text for result in texts] == ["Here."] * 3
    assert [count(request, BLAME) for request in (two, three, four)] == [blamed] * 3
    assert [count(request, told) for request in (two, three, four)] == [1, 1, 1]
    assert places(two, told) == ["developer"]
    # It is over with the turn that says it, and nothing more is said of it.
    assert [count(request, OVER) for request in (two, three, four)] == [0, 2, 2]


async def test_a_summary_in_between_leaves_the_word_to_the_next_turn(play: Play) -> None:
    async with play.stage() as here:
        turn = await play.end(here, EndedBy.DEADLINE)
        done = await (await here.agent.compact(turn.request.session_key)).result()
        await here.ask("two", number="2")
    _, told, _ = TOLD[0]
    assert done.compacted
    assert count(here.model.requests[-1], told) == 1


async def test_a_person_who_stops_a_turn_needs_no_word_of_ours(play: Play) -> None:
    async with play.stage() as here:
        await play.end(here, EndedBy.PERSON)
        await here.ask("two", number="2")
    assert (count(here.model.requests[-1], BLAME), count(here.model.requests[-1], NOTE)) == (1, 0)


async def test_each_of_two_turns_that_were_ended_is_told_of(play: Play) -> None:
    async with play.stage() as here:
        await play.end(here, EndedBy.DEADLINE, number="1")
        await play.end(here, EndedBy.GIVEN_WAY, number="2")
        await here.ask("three", number="3")
    last = here.model.requests[-1]
    assert [count(last, told) for _, told, _ in TOLD] == [1, 1, 0, 0]


@pytest.mark.parametrize(("by", "told"), [*((by, told) for by, told, _ in TOLD[:3]), (EndedBy.LOSS, BROKEN)])
async def test_it_is_told_after_a_restart_too(play: Play, by: EndedBy, told: str) -> None:
    """Of a turn that was lost with its server nothing is kept, and Codex has written down that it broke off."""
    async with play.stage() as here:
        await play.end(here, by)
    async with play.stage() as later:
        await later.ask("two", number="2")
        await later.ask("three", number="3")
    two, three = later.model.requests
    assert [(count(request, told), count(request, NOTE)) for request in (two, three)] == [(1, 1), (1, 1)]


async def test_a_person_who_stops_a_turn_needs_no_word_of_ours_after_a_restart_either(play: Play) -> None:
    async with play.stage() as here:
        await play.end(here, EndedBy.PERSON)
    async with play.stage() as later:
        await later.ask("two", number="2")
    assert count(later.model.requests[-1], NOTE) == 0


async def test_a_turn_that_ended_with_its_gateway_is_told_of(play: Play) -> None:
    """It is stopped as the gateway goes down, which Codex notes as an interruption by the user."""
    async with play.stage() as here:
        await here.begin("wait")
        await here.model.next_request()
    async with play.stage() as later:
        await later.ask("two", number="2")
    last = later.model.requests[-1]
    assert (count(last, BLAME), count(last, ended("because the gateway was shut down")), count(last, NOTE)) == (1, 1, 1)


async def test_a_turn_of_a_gateway_that_died_is_told_of(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could keep how it ended; Codex has written down that it did not come to its end."""

    async def die(*_: object) -> None:
        """Whatever the gateway would keep of a turn at its end."""

    with monkeypatch.context() as dying:
        dying.setattr(Threads, "finish", die)
        async with play.stage() as here:
            await here.ask("one", number="1")
            await here.begin("wait", number="2")
            for _ in range(2):
                await here.model.next_request()
    async with play.stage() as later:
        await later.ask("three", number="3")
        await later.ask("four", number="4")
    three, four = later.model.requests
    assert [(count(request, BROKEN), count(request, NOTE)) for request in (three, four)] == [(1, 1), (1, 1)]


async def test_a_turn_that_came_to_its_end_is_not_told_of_after_a_restart(play: Play) -> None:
    async with play.stage() as here:
        await here.ask("one", number="1")
    async with play.stage() as later:
        await later.ask("two", number="2")
    assert count(later.model.requests[-1], NOTE) == 0


async def test_a_quiet_heartbeat_that_is_taken_back_leaves_the_word_to_the_next_turn(play: Play) -> None:
    async with play.stage() as here:
        turn = await play.end(here, EndedBy.DEADLINE)
        beat = (await here.agent.heartbeat(beat_of("Check.", turn), key="b:1")).turn
        await beat.result()
        await here.ask("two", number="2")
    _, told, _ = TOLD[0]
    quiet, two = here.model.requests[1:]
    assert (beat.vanished, [count(request, told) for request in (quiet, two)]) == (True, [1, 1])


class Ending:
    """A toolbox whose tool ends the turn."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset({"message"})

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        del turn
        return (Tool("message", "Say something.", {"type": "object", "properties": {}}, self._end),)

    async def _end(self, arguments: Mapping[str, Json]) -> ToolResult:
        del arguments
        return ToolResult(True, "That is all.", ends_turn=True)


async def test_a_turn_that_one_of_its_tools_ended_was_interrupted_by_nobody(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def use(request: RecordedRequest) -> Action:
        return say("Here.") if last_words(request) == "two" else Reply((CallTool("message", {}),))

    async with stage(codex, state, workspace, use, toolbox=Ending(), now=lambda: NOW) as here:
        first = await here.ask("one", number="1")
        await here.ask("two", number="2")
    assert (first.outcome, first.ended_by) == (Outcome.INTERRUPTED, EndedBy.ITSELF)
    last = here.model.requests[-1]
    assert (count(last, BLAME), count(last, ended("by one of its own tools, which had nothing left to do"))) == (1, 1)
