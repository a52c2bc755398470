"""Case T08: what the end of a turn means, and what of it reaches the chat. On a fake server, as the case scripts it."""

from pathlib import Path

import pytest

from codex_bridge.rpc import Json, JsonObject, encode
from harness.replies.gate import Say, decide
from harness.turns import Failure, Finished, Outcome, Silence, Trigger, TurnEvent, TurnResult, Usage, UsageCounted
from tests.support.turns import first_delta, harness_on_fake, words


def message(item: str, text: str, phase: str | None = "final_answer") -> Json:
    return ["item/completed", {"item": {"type": "agentMessage", "id": item, "text": text, "phase": phase}}]


USED: JsonObject = {"totalTokens": 110, "inputTokens": 100, "cachedInputTokens": 0, "outputTokens": 10}
COUNT: Json = ["thread/tokenUsage/updated", {"tokenUsage": {"last": USED, "total": USED, "modelContextWindow": 1_000}}]
COMPLETED: Json = ["completed", {}]


async def played(folder: Path, *told: Json) -> tuple[TurnResult, list[TurnEvent]]:
    """Run a turn of which the server tells this."""
    async with harness_on_fake(folder) as harness:
        turn = harness.start(words(f"play {encode(list(told)).decode()}"))
        events = [event async for event in turn.events()]
        return await turn.result(), events


def outbox(result: TurnResult, trigger: Trigger = Trigger.CHAT) -> tuple[str, ...]:
    """What a chat gets of it."""
    reply = decide(result, trigger)
    return reply.texts if isinstance(reply, Say) else ()


async def test_t08_a_a_final_item_is_the_answer_though_the_end_lists_no_items(tmp_path: Path) -> None:
    """A11."""
    result, _ = await played(tmp_path, message("i1", "Done."), COMPLETED)
    assert (result.outcome, outbox(result)) == (Outcome.ANSWERED, ("Done.",))


async def test_t08_b_an_end_that_comes_twice_ends_once_and_counts_once(tmp_path: Path) -> None:
    """A9."""
    result, events = await played(tmp_path, message("i1", "Done."), COUNT, COUNT, COMPLETED, COMPLETED)
    assert (result.outcome, result.usage, outbox(result)) == (
        Outcome.ANSWERED, Usage(input=100, output=10), ("Done.",)
    )  # fmt: skip
    assert [event for event in events if isinstance(event, UsageCounted | Finished)] == [
        UsageCounted(Usage(input=100, output=10), 1_000, 110),
        Finished(result),
    ]


async def test_t08_c_an_error_that_codex_tries_again_is_no_end(tmp_path: Path) -> None:
    error: Json = ["error", {"error": {"message": '{"type":"error","code":"server_error"}'}, "willRetry": True}]
    result, _ = await played(tmp_path, error, message("i1", "Ok"), COMPLETED)
    assert (result.outcome, result.error, outbox(result)) == (Outcome.ANSWERED, "", ("Ok",))


async def test_t08_d_a_failure_is_one_short_sentence_without_json_path_or_request_id(tmp_path: Path) -> None:
    """A12, G7."""
    raw = '{"detail":"model x not supported"}'
    result, _ = await played(tmp_path, ["failed", {"error": {"message": raw}}])
    assert (result.outcome, result.failure, result.detail) == (Outcome.FAILED, Failure.MODEL, raw)
    (said,) = outbox(result)
    assert said == "The model provider does not know this model, or not for this account."


@pytest.mark.parametrize("trigger", Trigger)
async def test_t08_e_an_end_with_nothing_in_it_is_reported_and_not_swallowed(tmp_path: Path, trigger: Trigger) -> None:
    """A13."""
    result, _ = await played(tmp_path, COMPLETED)
    assert (result.outcome, result.silence) == (Outcome.EMPTY, Silence.NOTHING)
    (said,) = outbox(result, trigger)
    assert said.startswith("No response was produced: the ")


async def test_t08_f_a_turn_that_a_person_stops_says_nothing_of_a_failure(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("stall"))
        assert await first_delta(turn) == "Let me"
        await turn.interrupt()
        result = await turn.result()
    assert (result.outcome, result.text, result.error, result.partial) == (Outcome.INTERRUPTED, "Let me", "", True)
    assert set(outbox(result)) <= {"Let me"}


async def test_t08_g_a_command_that_failed_is_no_word_of_the_answer(tmp_path: Path) -> None:
    """G6."""
    command: JsonObject = {"type": "commandExecution", "id": "c1", "command": "grep x f", "cwd": "/w"}
    ended: Json = ["item/completed", {"item": {**command, "status": "failed", "exitCode": 1}}]
    result, _ = await played(tmp_path, ended, message("i1", "No matches."), COMPLETED)
    assert (result.outcome, outbox(result)) == (Outcome.ANSWERED, ("No matches.",))


async def test_t08_h_idle_and_a_final_item_are_no_end_and_the_last_text_is_the_answer(tmp_path: Path) -> None:
    """A9."""
    idle: Json = ["thread/status/changed", {"status": {"type": "idle"}}]
    result, events = await played(
        tmp_path, message("i1", "A"), idle, message("i2", "and B"), message("i3", "hm", "commentary"), COMPLETED
    )
    assert (result.outcome, result.text, outbox(result)) == (Outcome.ANSWERED, "and B", ("and B",))
    assert [event for event in events if isinstance(event, Finished)] == [Finished(result)]
