"""Conversations that are summarised: on request, by Codex itself, and those where that cannot be done."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.deadlines import Limits
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import (
    Action,
    FailResponse,
    HttpError,
    Reply,
    Say,
    Script,
    Usage,
    Wait,
    always,
    say,
)
from codex_bridge.params import ThreadSettings
from codex_bridge.strain import CIRCLING, STUCK
from codex_bridge.threads import MOVES_ON
from codex_bridge.wire.besides import THREAD_COMPACT, ThreadCompactParams
from harness.compaction import Compaction, Summary, compaction_of
from harness.turns import Compacted, EndedBy, Failure, Notice, Outcome, TurnResult
from tests.support.overflows import OVERFLOWS
from tests.support.real import Stage, count, events_of, stage

GPT6 = "gpt-6.1-sol"
KEY = "agent:main:telegram:direct:7"
FULL = Usage(input=900_000, output=1)
"""More than any model holds, so that the next turn begins with a summary."""


def is_summary(request: RecordedRequest) -> bool:
    """Whether Codex asks the model to summarise a conversation."""
    return any("CONTEXT CHECKPOINT" in part.text for part in request.parts()[-1:])


def summarising(action: Action, otherwise: Action) -> Script:
    """Do the one for a summary, and the other for all else."""
    return lambda request: action if is_summary(request) else otherwise


def kinds(play: Stage) -> str:
    """The model's requests so far: t for a turn's, s for a summary."""
    return "".join("s" if is_summary(request) else "t" for request in play.model.requests)


async def compact(play: Stage) -> Compaction:
    """Summarise the conversation to its end."""
    return compaction_of(await (await play.agent.compact(KEY)).result())


async def test_a_conversation_is_summarised_on_request_and_goes_on(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, summarising(say("SUMMARY_M99"), say("Fine."))) as play:
        before = await play.ask("zebra one", number="1")
        turn = await play.agent.compact(KEY)
        events = await events_of(turn)
        result = await turn.result()
        after = await play.ask("two", number="2")
    done = compaction_of(result)
    # Codex itself estimates what is left: its own instructions alone are some thousand tokens.
    assert done.tokens is not None
    assert 1_000 < done.tokens < 20_000
    assert done.sentence == f"The conversation is summarised. It holds about {done.tokens:,} tokens now."
    assert [type(event) for event in events].count(Compacted) == 1
    assert (result.outcome, result.compacted, result.usage.input) == (Outcome.EMPTY, True, 100)
    assert (after.text, after.conversation) == ("Fine.", before.conversation)
    # The memory went with the summary and is quoted anew.
    seen = play.model.requests[-1]
    assert {marker: count(seen, marker) >= 1 for marker in ("SUMMARY_M99", "TOOLS_M55", "SOUL_M22", "MEM_M77")} == {
        "SUMMARY_M99": True,
        "TOOLS_M55": True,
        "SOUL_M22": True,
        "MEM_M77": True,
    }
    assert "Fine." not in [part.text for part in seen.parts()]


async def test_there_is_nothing_to_summarise_before_the_first_message_and_right_after_a_summary(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        empty = await compact(play)
        await play.ask("one", number="1")
        first, second = await compact(play), await compact(play)
        await play.ask("two", number="2")
        third = await compact(play)
    nothing = "There is nothing to summarise."
    assert empty == Compaction(Summary.NOTHING, f"{nothing} Nothing was said in this conversation yet.")
    assert [first.summary, third.summary] == [Summary.DONE, Summary.DONE]
    assert second == Compaction(
        Summary.NOTHING, f"{nothing} Nothing was said in this conversation since it was summarised last."
    )
    assert kinds(play) == "tsts"


async def test_a_conversation_of_an_earlier_process_is_loaded_for_its_summary_with_all_that_it_was_told(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        before = await play.ask("zebra one", number="1")
    async with stage(codex, state, workspace, always(say("Fine."))) as later:
        done = await compact(later)
        after = await later.ask("two", number="2")
    assert done.summary is Summary.DONE
    assert after.conversation == before.conversation
    # Without the developer text in the resume it would be gone with the summary (protocol reference, 3.2).
    assert count(later.model.requests[-1], "TOOLS_M55") == 1


async def test_a_conversation_whose_thread_is_gone_begins_a_new_one_and_that_is_no_error(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, always(say("Fine."))) as play:
        before = await play.ask("zebra one", number="1")
    for file in state.rglob("rollout-*.jsonl"):
        file.unlink()
    async with stage(codex, state, workspace, always(say("Fine."))) as later:
        gone = await compact(later)
        turn = await later.begin("two", number="2")
        told = [event.text for event in await events_of(turn) if isinstance(event, Notice)]
        after = await turn.result()
    gone_for_good = "Codex no longer has this conversation."
    assert gone == Compaction(Summary.NOTHING, f"There is nothing to summarise. {gone_for_good} {MOVES_ON}")
    assert f"{gone_for_good} It goes on in a new thread." in told
    assert after.conversation != before.conversation
    assert count(later.model.requests[-1], "zebra one") == 1


async def test_a_message_that_comes_during_a_summary_waits_and_is_answered_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    held = anyio.Event()
    script = summarising(Reply((Say("In short."), Wait(held))), say("Fine."))
    async with stage(codex, state, workspace, script) as play:
        await play.ask("one", number="1")
        await play.model.next_request()
        compacting = await play.agent.compact(KEY)
        await play.model.next_request()
        waiting = await play.begin("two", number="2")
        await anyio.wait_all_tasks_blocked()
        asked = kinds(play)
        held.set()
        done, answered = await compacting.result(), await waiting.result()
    assert asked == "ts"
    assert compaction_of(done).summary is Summary.DONE
    assert (answered.outcome, answered.text) == (Outcome.ANSWERED, "Fine.")
    assert kinds(play) == "tst"
    assert [part.text for part in play.model.requests[-1].parts()].count("two") == 1


async def test_a_summary_that_a_person_stops_leaves_the_conversation_as_it_was(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = summarising(Reply((Wait(anyio.Event()),)), say("Fine."))
    async with stage(codex, state, workspace, script) as play:
        await play.ask("zebra one", number="1")
        await play.model.next_request()
        compacting = await play.agent.compact(KEY)
        await play.model.next_request()
        await compacting.interrupt()
        stopped = await compacting.result()
        early = await play.agent.compact(KEY)
        await early.interrupt()
        after = await play.ask("two", number="2")
    assert (stopped.outcome, stopped.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)
    assert compaction_of(stopped).summary is Summary.STOPPED
    assert compaction_of(await early.result()).summary is Summary.STOPPED
    assert after.text == "Fine."
    assert [part.text for part in play.model.requests[-1].parts()].count("Fine.") == 1


async def test_a_summary_that_takes_too_long_is_stopped_and_says_so(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = summarising(Reply((Wait(anyio.Event()),)), say("Fine."))
    async with stage(codex, state, workspace, script, compaction_deadline=0.5) as play:
        await play.ask("one", number="1")
        late = await (await play.agent.compact(KEY)).result()
        after = await play.ask("two", number="2")
    assert (late.outcome, late.failure, late.ended_by) == (Outcome.FAILED, Failure.DEADLINE, EndedBy.DEADLINE)
    assert compaction_of(late).sentence == (
        "The conversation could not be summarised. It was not done within 0.5 s (appServer.compactionTimeoutMs)."
    )
    assert after.text == "Fine."


async def test_a_server_that_is_killed_during_a_summary_leaves_the_conversation_as_it_was(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = summarising(Reply((Wait(anyio.Event()),)), say("Fine."))
    async with stage(codex, state, workspace, script) as play:
        before = await play.ask("zebra one", number="1")
        await play.model.next_request()
        compacting = await play.agent.compact(KEY)
        await play.model.next_request()
        server = play.harness.server
        assert server is not None
        os.kill(server.pid, signal.SIGKILL)
        lost = await compacting.result()
        after = await play.ask("two", number="2")
    assert (lost.outcome, lost.failure, lost.ended_by) == (Outcome.FAILED, Failure.SERVER, EndedBy.LOSS)
    assert lost.error == (
        "Codex stopped while it summarised this conversation: it was killed by SIGKILL. "
        "The conversation is as it was before."
    )
    assert (after.text, after.conversation) == ("Fine.", before.conversation)
    assert count(play.model.requests[-1], "zebra one") == 1


async def test_a_summary_that_the_model_refuses_fails_with_its_reason(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    limit = HttpError(429, {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached"}})
    async with stage(codex, state, workspace, summarising(limit, say("Fine."))) as play:
        before = await play.ask("one", number="1")
        refused = [await (await play.agent.compact(KEY)).result() for _ in range(3)]
        after = await play.ask("two", number="2")
    assert [each.failure for each in refused] == [Failure.USAGE_LIMIT] * 3
    assert compaction_of(refused[0]).sentence == (f"The conversation could not be summarised. {refused[0].error}")
    assert after.conversation == before.conversation


async def test_a_conversation_too_long_even_to_be_summarised_goes_on_in_a_fresh_thread(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    full = Reply((FailResponse("context_length_exceeded", "Your input exceeds the context window of this model."),))
    async with stage(codex, state, workspace, summarising(full, say("Fine."))) as play:
        before = await play.ask("zebra one", number="1")
        failed = await compact(play)
        turn = await play.begin("two", number="2")
        told = [event.text for event in await events_of(turn) if isinstance(event, Notice)]
        after = await turn.result()
    too_long = "The conversation no longer fits into the model's window."
    assert failed == Compaction(Summary.FAILED, f"The conversation could not be summarised. {too_long} {MOVES_ON}")
    assert told == [f"{too_long} It goes on in a new thread."]
    assert after.conversation != before.conversation
    assert count(play.model.requests[-1], "zebra one") == 1


@pytest.mark.parametrize("catalogue", ["auto", "untouched"])
async def test_the_persona_of_a_gpt6_model_outlives_a_summary_on_request(
    codex: CodexBinary, state: Path, workspace: Path, catalogue: CatalogueMode
) -> None:
    async with stage(codex, state, workspace, always(say("Fine.")), model=GPT6, catalogue=catalogue) as play:
        await play.ask("one", number="1")
        done = await compact(play)
        for number in ("2", "3"):
            await play.ask("on", number=number)
    assert done.summary is Summary.DONE
    assert [count(request, "SOUL_M22") for request in play.model.requests[-2:]] == [1, 1]


# what Codex does by itself


async def test_a_summary_that_codex_makes_by_itself_is_seen_and_the_turn_goes_on(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    held = anyio.Event()
    script = summarising(Reply((Say("In short."), Wait(held))), Reply((Say("Fine."),), usage=FULL))
    async with stage(codex, state, workspace, script) as play:
        await play.ask("one", number="1")
        await play.model.next_request()
        turn = await play.begin("two", number="2")
        await play.model.next_request()
        waiting = await play.begin("three", number="3")
        await anyio.wait_all_tasks_blocked()
        held.set()
        events = await events_of(turn)
        results = [await turn.result(), await waiting.result()]
    assert [isinstance(event, Compacted) for event in events].count(True) == 1
    assert [(each.outcome, each.text, each.compacted) for each in results] == [(Outcome.ANSWERED, "Fine.", True)] * 2
    assert [each.conversation for each in results] == [results[0].conversation] * 2
    assert kinds(play) == "tstst"


async def test_a_conversation_that_is_to_leave_room_is_summarised_in_time(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """A window of 272,000 tokens, of which 172,000 are to stay free; the rest of a thread keeps to that as well."""
    script = summarising(say("In short."), Reply((Say("Fine."),), usage=Usage(input=101_000, output=1)))
    settings = ThreadSettings(reserve_tokens=172_000)
    asked: list[str] = []
    for number in ("1", "2"):
        async with stage(codex, state, workspace, script, settings=settings) as play:
            await play.ask("hi", number=number)
            await play.ask("on", number=f"{number}0")
            asked.append(kinds(play))
    async with stage(codex, state, workspace, script) as play:
        await play.ask("hi", number="3")
        asked.append(kinds(play))
    assert asked == ["tst", "stst", "t"]


async def test_a_summary_that_takes_longer_than_any_silence_may_is_no_hang(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """Codex says nothing while the model summarises, by itself as on request; asked, it says that it is at work."""
    released = [anyio.Event(), anyio.Event()]
    summaries = iter([Reply((Say("In short."), Wait(each))) for each in released])
    full = Reply((Say("Fine."),), usage=FULL)
    limits = Limits(silence=0.3, after_tool=0.3, answer=0.3)
    results: list[TurnResult] = []
    async with stage(
        codex, state, workspace, lambda request: next(summaries) if is_summary(request) else full, limits=limits
    ) as play:
        await play.ask("one", number="1")
        for release in released:
            turn = await (play.begin("two", number="2") if not results else play.agent.compact(KEY))
            with anyio.move_on_after(1.2):
                await turn.result()
            assert turn.buffer.result is None
            release.set()
            results.append(await turn.result())
    assert [(each.outcome, each.text, each.compacted) for each in results] == [
        (Outcome.ANSWERED, "Fine.", True),
        (Outcome.EMPTY, "", True),
    ]


@pytest.mark.parametrize(
    ("failing", "tries"),
    [
        (HttpError(400, {"error": {"message": "no such thing", "type": "invalid_request_error"}}), 2),
        (HttpError(500, {"error": {"message": "oops"}}), 3),
    ],
    ids=["refused", "provider"],
)
async def test_a_thread_that_codex_can_never_summarise_is_left_once_and_that_is_said(
    codex: CodexBinary, state: Path, workspace: Path, failing: Action, tries: int
) -> None:
    """K5: every turn would fail for ever."""

    def script(request: RecordedRequest) -> Action:
        if is_summary(request):
            return failing
        return Reply((Say("Fine."),), usage=FULL if count(request, "zebra one") == 1 else Usage())

    async with stage(codex, state, workspace, script) as play:
        before = await play.ask("zebra one", number="1")
        failed = [await play.ask("again", number=str(number)) for number in range(2, tries + 1)]
        turn = await play.begin("at last", number="9")
        told = [event.text for event in await events_of(turn) if isinstance(event, Notice)]
        after = await turn.result()
        on = await play.ask("on", number="10")
    assert [each.outcome for each in failed] == [Outcome.FAILED] * (tries - 1)
    assert [each.conversation for each in failed] == [before.conversation] * (tries - 1)
    assert told == [f"{STUCK} It goes on in a new thread."]
    assert (after.outcome, after.text) == (Outcome.ANSWERED, "Fine.")
    assert after.conversation != before.conversation == failed[0].conversation
    assert on.conversation == after.conversation
    assert count(play.model.requests[-1], "zebra one") == 1


async def test_every_word_for_a_full_window_moves_the_conversation_on(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """K6: what providers and local servers say comes through Codex, and the message is answered all the same."""
    full = iter([HttpError(400, {"error": {"message": words, "type": "invalid_request_error"}}) for words in OVERFLOWS])
    turns: list[int] = []

    def script(request: RecordedRequest) -> Action:
        turns.append(request.number)
        # Every second request is that of a fresh thread, or the first of one that has a history.
        return next(full) if len(turns) > 1 and len(turns) % 2 == 0 else say("Fine.")

    async with stage(codex, state, workspace, script) as play:
        results = [await play.ask("hi", number="0")]
        results += [await play.ask("hi", number=str(number)) for number in range(1, len(OVERFLOWS) + 1)]
    assert [(each.outcome, each.text) for each in results] == [(Outcome.ANSWERED, "Fine.")] * (len(OVERFLOWS) + 1)
    assert len({each.conversation for each in results}) == len(OVERFLOWS) + 1


async def test_a_message_waits_for_a_summary_that_another_client_asked_for(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    held = anyio.Event()
    script = summarising(Reply((Say("In short."), Wait(held))), say("Fine."))
    async with stage(codex, state, workspace, script) as play:
        before = await play.ask("one", number="1")
        await play.model.next_request()
        server = play.harness.server
        assert server is not None
        await server.client.call(THREAD_COMPACT, ThreadCompactParams(thread_id=before.conversation))
        await play.model.next_request()
        turn = await play.begin("two", number="2")
        while len(turn.sent) == 0:
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        held.set()
        result = await turn.result()
    assert (result.outcome, result.text, result.conversation) == (Outcome.ANSWERED, "Fine.", before.conversation)
    assert kinds(play) == "tst"


async def test_a_limit_of_the_account_costs_no_conversation(codex: CodexBinary, state: Path, workspace: Path) -> None:
    limit = HttpError(429, {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached"}})
    script = summarising(limit, Reply((Say("Fine."),), usage=FULL))
    async with stage(codex, state, workspace, script) as play:
        before = await play.ask("one", number="1")
        failed = [await play.ask("again", number=str(number)) for number in range(2, 6)]
    assert {(each.failure, each.conversation) for each in failed} == {(Failure.USAGE_LIMIT, before.conversation)}


async def test_a_thread_that_is_summarised_with_every_message_is_left_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """K5, the loop. The fresh thread fares no better here, so it is kept."""
    script = summarising(say("In short."), Reply((Say("Fine."),), usage=FULL))
    async with stage(codex, state, workspace, script) as play:
        threads: list[str] = []
        told: list[str] = []
        for number in range(12):
            turn = await play.begin("go on", number=str(number))
            told += [event.text for event in await events_of(turn) if isinstance(event, Notice)]
            threads.append((await turn.result()).conversation)
    assert [text for text in told if "Heads up" not in text] == [f"{CIRCLING} It goes on in a new thread."]
    # The first turn finds nothing to summarise, the next three do.
    assert threads == [threads[0]] * 4 + [threads[4]] * 8
