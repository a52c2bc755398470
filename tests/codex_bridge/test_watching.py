"""Case T07: turns that do not say that they are over, on a fake Codex and a clock that the test moves."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.deadlines import Limits
from codex_bridge.idle import Rest
from codex_bridge.process import Launch
from codex_bridge.turn import CodexTurn
from harness.compaction import Summary, compaction_of
from harness.json_value import Json
from harness.tools import ToolResult
from harness.turns import Command, EndedBy, Evidence, Failure, Notice, Outcome, TurnResult
from tests.support.odd_tools import tool
from tests.support.silent_codex import ALL
from tests.support.time import HandClock
from tests.support.turns import harness_on_fake, has_quoted, launch, quoting, words

ACTED = Evidence(commands=(Command("ls"),))
TAKEN = "Codex did not say within 10 s that the turn was over; its answer counts (appServer.deadlines.answerMs)."
INCOMPLETE = (
    "Codex was silent for 300 s, so the turn was ended (appServer.postToolRawAssistantCompletionIdleTimeoutMs); "
    "what it did may be incomplete, and nothing of it is run again."
)
SILENT = "Codex was silent for 60 s, so the turn was ended (appServer.turnCompletionIdleTimeoutMs)."
AWAY = "The model provider could not be reached for 180 s, so the turn ended (appServer.deadlines.reconnectingMs)."
PATIENT = Limits(probe=0.2)
"""The real limits, but for the time that the test itself would have to wait."""


class Quiet:
    """A turn that has fallen silent, and the harness that it runs on."""

    def __init__(self, harness: CodexHarness, clock: HandClock, turn: CodexTurn) -> None:
        self.harness = harness
        self.clock = clock
        self.turn = turn
        self._events = turn.events()

    async def fallen_silent(self) -> "Quiet":
        """Wait until all that it says has been heard."""
        async for event in self._events:
            if event == Notice(ALL):
                return self
        raise AssertionError("it has ended")

    async def ended(self) -> tuple[TurnResult, list[str]]:
        """Its result, and what the operator is told."""
        return await self.turn.result(), [event.text async for event in self._events if isinstance(event, Notice)]

    async def asked(self, method: str) -> int:
        """How often Codex was asked for something so far."""
        heard = await self.harness.start(words("heard", chat="other")).result()
        return heard.text.split().count(method)

    async def next_message(self) -> TurnResult:
        return await self.harness.start(words("echo And now?")).result()


async def quiet(harness: CodexHarness, clock: HandClock, text: str) -> Quiet:
    return await Quiet(harness, clock, harness.start(words(text))).fallen_silent()


def result(outcome: Outcome, text: str = "", error: str = "", **fields: object) -> TurnResult:
    made = TurnResult(outcome, text, error, conversation="thr_1", turn="turn_1", ended_by=EndedBy.DEADLINE)
    return replace(made, **fields)  # type: ignore[arg-type]


async def test_an_answer_whose_end_is_not_told_is_delivered_once(tmp_path: Path) -> None:
    """T07, and c: the end that comes with the next turn changes nothing."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "idle silent run say")
        clock.advance(9.9)
        before = await play.asked("thread/read")
        clock.advance(0.1)
        ended, told = await play.ended()
        after = await play.next_message()
        asked = [await play.asked(method) for method in ("thread/read", "turn/interrupt", "thread/start")]

    assert (ended, told, before) == (result(Outcome.ANSWERED, "Two files.", evidence=ACTED), [TAKEN], 0)
    assert (after.outcome, after.text, after.conversation, after.turn) == (
        Outcome.ANSWERED,
        "And now?",
        "thr_1",
        "turn_3",
    )
    assert asked == [1, 1, 2]


async def test_a_turn_that_stops_after_a_tool_ends_with_one_honest_sentence(tmp_path: Path) -> None:
    """T07 b, A1."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "idle silent run")
        clock.advance(299.9)
        before = await play.asked("thread/read")
        clock.advance(0.1)
        ended, told = await play.ended()
        after = await play.next_message()
        starts = await play.asked("turn/start")

    assert (ended, told, before) == (
        result(Outcome.FAILED, error=INCOMPLETE, evidence=ACTED, failure=Failure.DEADLINE),
        [],
        0,
    )
    assert (after.text, after.conversation) == ("And now?", "thr_1")
    assert starts == 4  # this turn, the next one, and two that asked the fake


async def test_a_turn_of_which_nothing_is_heard_after_its_begin_ends(tmp_path: Path) -> None:
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "idle silent")
        clock.advance(60)
        ended, told = await play.ended()
        after = await play.next_message()

    assert (ended, told) == (result(Outcome.FAILED, error=SILENT, failure=Failure.DEADLINE), [])
    assert (after.text, after.conversation) == ("And now?", "thr_1")


async def test_a_command_that_says_something_now_and_then_is_not_interrupted(tmp_path: Path) -> None:
    """T07 d, A3: half the budget of silence, four times over, and nobody is even asked."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "idle silent begin")
        for _ in range(8):
            clock.advance(150)
            await harness.start(words("poke thr_1 turn_1", chat="other")).result()
        asked = [await play.asked(method) for method in ("thread/read", "turn/interrupt")]
        clock.advance(300)
        ended, _ = await play.ended()

    assert asked == [0, 0]
    assert (ended.outcome, ended.error) == (Outcome.FAILED, INCOMPLETE)


async def test_a_call_of_a_tool_of_ours_that_is_open_keeps_silence_from_ending_the_turn_and_not_its_own_time(
    tmp_path: Path,
) -> None:
    """A6: whatever Codex says when it is asked, and here it does not say that it is at work."""
    called, gone, clock = anyio.Event(), anyio.Event(), HandClock()

    async def endless(_: Mapping[str, Json]) -> ToolResult:
        called.set()
        try:
            await anyio.sleep_forever()
        finally:
            gone.set()
        raise NotImplementedError

    box = (replace(tool("message"), call=endless),)
    async with harness_on_fake(tmp_path, clock=clock, limits=Limits(after_tool=1000)) as harness:
        turn = harness.start(replace(words(f"call {tmp_path / 'told'}"), tools=box, seconds=400))
        await called.wait()
        clock.advance(399)
        await harness.start(words("echo Hi.", chat="b")).result()  # by now whatever was over has been seen to
        assert (turn.buffer.result, gone.is_set()) == (None, False)
        clock.advance(1)
        ended = await turn.result()
        await gone.wait()
    told = "The turn was stopped after 400 s (agents.defaults.timeoutSeconds)."
    assert (ended.outcome, ended.error, ended.ended_by) == (Outcome.FAILED, told, EndedBy.DEADLINE)


@pytest.mark.parametrize(("does", "seconds"), [("run say", 10), ("run", 300), ("begin", 300), ("", 60)])
async def test_silence_of_a_thread_that_is_active_is_no_end(tmp_path: Path, does: str, seconds: float) -> None:
    """T07 e: no interrupt, and the window anew, up to the deadline of the whole turn."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        turn = harness.start(replace(words(f"active silent {does}"), seconds=3 * seconds + 1, limit_key="the.key"))
        play = await Quiet(harness, clock, turn).fallen_silent()
        asked = [await play.asked("thread/read")]
        for _ in range(3):
            clock.advance(seconds)
            asked.append(await play.asked("thread/read"))
        interrupts = await play.asked("turn/interrupt")
        clock.advance(1)
        ended, told = await play.ended()
        after = await play.next_message()

    assert (asked, interrupts) == ([0, 1, 2, 3], 0)
    assert (ended.outcome, ended.error, ended.failure, ended.ended_by) == (
        Outcome.FAILED,
        f"The turn was stopped after {3 * seconds + 1:g} s (the.key).",
        Failure.DEADLINE,
        EndedBy.DEADLINE,
    )
    assert (ended.text, told) == ("Two files." if "say" in does else "", [])
    assert (after.text, after.conversation) == ("And now?", "thr_1")


@pytest.mark.parametrize(
    ("does", "seconds", "expected"),
    [
        ("run say", 10, result(Outcome.ANSWERED, "Two files.", evidence=ACTED)),
        ("run", 300, result(Outcome.FAILED, error=INCOMPLETE, evidence=ACTED, failure=Failure.DEADLINE)),
        ("", 60, result(Outcome.FAILED, error=SILENT, failure=Failure.DEADLINE)),
    ],
)
async def test_a_question_that_is_not_answered_counts_as_idle(
    tmp_path: Path, does: str, seconds: float, expected: TurnResult
) -> None:
    """T07 f."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock, limits=PATIENT) as harness:
        play = await quiet(harness, clock, f"mute silent {does}")
        clock.advance(seconds)
        ended, _ = await play.ended()
        interrupts = await play.asked("turn/interrupt")
        after = await play.next_message()

    assert (ended, interrupts) == (expected, 1)
    assert (after.text, after.conversation) == ("And now?", "thr_1")


async def test_an_interrupt_that_is_not_answered_holds_no_answer_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T07: it is sent once, and its answer is not waited for without limit."""
    monkeypatch.setattr("codex_bridge.stopping.INTERRUPT_DEADLINE", 0.2)
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "deaf silent run say")
        clock.advance(10)
        ended, told = await play.ended()
        after, interrupts = await play.next_message(), await play.asked("turn/interrupt")

    assert (ended, told) == (result(Outcome.ANSWERED, "Two files.", evidence=ACTED), [TAKEN])
    assert (after.text, after.conversation, interrupts) == ("And now?", "thr_1", 1)


async def test_an_answer_outlives_the_server_that_has_hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.hosts.PING_DEADLINE", 0.2)
    monkeypatch.setattr("codex_bridge.stopping.INTERRUPT_DEADLINE", 0.2)
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock, limits=PATIENT) as harness:
        first = await harness.ready()
        play = await quiet(harness, clock, "hung silent run say")
        clock.advance(10)
        ended, _ = await play.ended()
        after = await play.next_message()
        second = await harness.ready()

    assert ended == result(Outcome.ANSWERED, "Two files.", evidence=ACTED)
    assert (after.outcome, after.text) == (Outcome.ANSWERED, "And now?")
    assert first.pid != second.pid


async def test_an_end_that_was_lost_on_the_way_is_looked_up(tmp_path: Path) -> None:
    """What Codex has written down of the turn counts for more than what was heard of it."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "recorded silent run")
        clock.advance(300)
        ended, told = await play.ended()
        interrupts = await play.asked("turn/interrupt")

    whole = result(Outcome.ANSWERED, "From the record.", evidence=ACTED, ended_by=EndedBy.ITSELF)
    assert (ended, told, interrupts) == (whole, [], 0)


async def test_a_summary_whose_end_was_lost_on_the_way_is_done(tmp_path: Path) -> None:
    """A7: a client that only listens shows for ever that it compacts."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        first = await harness.start(words("echo hi")).result()
        play = await Quiet(harness, clock, harness.compact(words(""))).fallen_silent()
        waiting = harness.start(words("echo And now?"))
        await anyio.wait_all_tasks_blocked()
        clock.advance(9.9)
        before = await play.asked("thread/read")
        clock.advance(0.1)
        ended, told = await play.ended()
        interrupts = await play.asked("turn/interrupt")
        after = await waiting.result()

    assert (before, told, interrupts) == (0, [], 0)
    assert (ended.outcome, ended.compacted, ended.ended_by) == (Outcome.EMPTY, True, EndedBy.ITSELF)
    assert compaction_of(ended).summary is Summary.DONE
    assert (after.outcome, after.text, after.conversation) == (Outcome.ANSWERED, "And now?", first.conversation)


async def test_a_summary_of_which_all_but_its_begin_was_lost_is_done_and_the_files_are_quoted_anew(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        await harness.start(words("echo hi", chat="first")).result()
        quoted = [harness.start(quoting("echo hi")) for _ in range(2)]
        for turn in quoted:
            await turn.result()
        play = await Quiet(harness, clock, harness.compact(words(""))).fallen_silent()
        clock.advance(60)
        ended, _ = await play.ended()
        again = harness.start(quoting("echo hi"))
        await again.result()

    assert compaction_of(ended).summary is Summary.DONE
    assert [has_quoted(turn) for turn in (*quoted, again)] == [True, False, True]


async def test_a_provider_that_is_away_too_long_ends_the_turn_with_a_clear_word(tmp_path: Path) -> None:
    """Spec 5: only `error` with `willRetry` since the last progress, and no question, as the thread is active."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "active silent retry")
        clock.advance(179)
        before = await play.asked("turn/interrupt")
        clock.advance(1)
        ended, told = await play.ended()
        asked = [await play.asked(method) for method in ("thread/read", "turn/interrupt")]
        after = await play.next_message()

    assert (ended, told) == (result(Outcome.FAILED, error=AWAY, failure=Failure.OUTAGE), [])
    assert (before, asked) == (0, [0, 1])
    assert (after.text, after.conversation) == ("And now?", "thr_1")


async def test_a_turn_that_waits_for_its_server_ends_at_its_deadline(tmp_path: Path) -> None:
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="hanging", clock=clock) as harness:
        await harness.ready()
        turn = harness.start(replace(words("echo"), seconds=5))
        while not clock.pending:
            await anyio.lowlevel.checkpoint()
        clock.advance(5)
        ended = await turn.result()

    assert ended == TurnResult(
        Outcome.FAILED,
        "",
        "The turn was stopped after 5 s (agents.defaults.timeoutSeconds).",
        failure=Failure.DEADLINE,
        ended_by=EndedBy.DEADLINE,
    )


async def test_a_server_that_answers_nothing_fails_a_turn_with_a_plain_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.hosts.PING_DEADLINE", 0.2)

    def impatient(folder: Path, script: str) -> Launch:
        return replace(launch(folder, script), call_deadline=0.2)

    monkeypatch.setattr("tests.support.turns.launch", impatient)
    async with harness_on_fake(tmp_path, script="silent", clock=HandClock()) as harness:
        await harness.start(words("echo hi")).result()
        hung = harness.start(words("hung silent begin", chat="b"))
        while hung.ledger is None or not hung.ledger.turn_id:
            await anyio.lowlevel.checkpoint()
        unanswered = await harness.start(words("echo hi", chat="c")).result()
    assert (unanswered.outcome, unanswered.error, unanswered.detail) == (
        Outcome.FAILED,
        "Codex does not answer at the moment; please try again shortly.",
        "thread/start was not answered within 0.2 s",
    )


async def test_a_person_who_stops_a_turn_is_not_overtaken_by_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.stopping.INTERRUPT_DEADLINE", 0.2)
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        turn = harness.start(replace(words("stubborn"), seconds=20))
        async for _ in turn.events():
            break
        async with anyio.create_task_group() as group:
            group.start_soon(turn.interrupt)
            await anyio.lowlevel.checkpoint()
            clock.advance(20)
        ended = await turn.result()

    assert (ended.outcome, ended.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)


async def test_a_stop_of_a_turn_that_is_over_unsaid_is_quick_and_keeps_the_conversation(tmp_path: Path) -> None:
    """B1: Codex says that there is no active turn, so its end has been lost."""
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock) as harness:
        play = await quiet(harness, clock, "idle silent run")
        await play.turn.interrupt()
        ended, told = await play.ended()
        interrupts = await play.asked("turn/interrupt")
        after = await play.next_message()

    assert (ended.outcome, ended.ended_by, told, interrupts) == (Outcome.INTERRUPTED, EndedBy.PERSON, [], 1)
    assert (after.text, after.conversation) == ("And now?", "thr_1")


async def test_turns_share_one_timer_that_rests_when_there_are_none(tmp_path: Path) -> None:
    clock = HandClock()
    async with harness_on_fake(tmp_path, script="silent", clock=clock, rest=Rest(after=0)) as harness:
        for number in range(20):
            await harness.start(words(f"echo {number}")).result()
        while harness.unfinished:
            await anyio.lowlevel.checkpoint()
        while_busy = clock.pending
        clock.advance(1000)
        afterwards = clock.looks, clock.pending

    assert (while_busy, afterwards) == ([10], (1, []))
