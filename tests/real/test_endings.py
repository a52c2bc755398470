"""How turns end badly on the real binary, and what is told of it; case T08 as far as it can be provoked there."""

import time
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import (
    Action,
    BeginSaying,
    BreakOff,
    CallTool,
    FailResponse,
    HttpError,
    Incomplete,
    Reply,
    Say,
    Think,
    Wait,
    always,
    in_turn,
    say,
)
from codex_bridge.params import ThreadSettings
from codex_bridge.rpc import JsonObject
from harness.replies.gate import Say as SayIt
from harness.replies.gate import decide
from harness.turns import (
    CommandFinished,
    Commentary,
    Failure,
    Finished,
    Outcome,
    Silence,
    TextDelta,
    TextRetracted,
    TurnEvent,
    TurnResult,
    UsageCounted,
)
from tests.support.real import events_of, stage

YOLO = ThreadSettings(sandbox="danger-full-access", approval_policy="never")


def refused(status: int, error: "JsonObject | None" = None, headers: tuple[tuple[str, str], ...] = ()) -> HttpError:
    return HttpError(status, {"error": {"message": "the provider's own words /v1 req_7", **(error or {})}}, headers)


def outbox(result: TurnResult) -> tuple[str, ...]:
    reply = decide(result)
    return reply.texts if isinstance(reply, SayIt) else ()


LIMIT: JsonObject = {"type": "usage_limit_reached"}


@pytest.mark.parametrize(
    ("action", "failure", "sentence"),
    [
        (refused(500), Failure.PROVIDER, "The model provider had an internal error; please try again shortly."),
        (refused(502), Failure.OUTAGE, "The model provider could not be reached."),
        (refused(401), Failure.LOGIN, "The model provider did not accept the login."),
        (refused(404, {"code": "model_not_found"}), Failure.MODEL, "The model provider does not know this model"),
        (refused(422), Failure.REQUEST, "The model provider did not accept the request."),
        (refused(400), Failure.REQUEST, "The model provider did not accept the request."),
        (HttpError(400, {"detail": "The 'x' model is not supported."}), Failure.MODEL, "The model provider does not"),
        (refused(400, {"code": "context_length_exceeded"}), Failure.CONTEXT, "The conversation no longer fits"),
        (refused(429, {"type": "insufficient_quota"}), Failure.USAGE_LIMIT, "The account's quota is used up"),
        (
            refused(429, {"type": "usage_not_included"}),
            Failure.USAGE_LIMIT,
            "The account's plan does not include Codex.",
        ),
        (Reply((BreakOff(),)), Failure.OUTAGE, "The connection to the model provider broke off."),
        (Reply((FailResponse("server_error", "Sorry, req_7."),)), Failure.PROVIDER, "The model provider had an"),
        (Reply((FailResponse("cyber_policy", "No."),)), Failure.POLICY, "The model provider refuses this request"),
        (Reply((Incomplete("content_filter"),)), Failure.POLICY, "The model provider cut the answer off"),
    ],
)
async def test_t08_d_each_failure_has_its_class_and_one_sentence(
    codex: CodexBinary, state: Path, workspace: Path, action: Action, failure: Failure, sentence: str
) -> None:
    async with stage(codex, state, workspace, always(action)) as play:
        result = await play.ask("hi")
        asked = len(play.model.requests)
    assert (result.outcome, result.text, result.failure) == (Outcome.FAILED, "", failure)
    (said,) = outbox(result)
    assert said.startswith(sentence)
    assert not any(sign in said for sign in ("{", "/v1", "req_7", "://"))
    assert asked == 1


async def test_a_provider_that_cannot_be_reached_is_told_as_that(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    nowhere = [("model_providers.loopback.base_url", '"http://127.0.0.1:9/v1"')]
    async with stage(codex, state, workspace, always(say("never")), overrides=nowhere) as play:
        result = await play.ask("hi")
    assert (result.failure, result.error) == (Failure.OUTAGE, "The model provider could not be reached.")


@pytest.mark.parametrize("how", ["text", "headers", "far"])
async def test_a_usage_limit_says_when_it_is_lifted_and_is_not_tried_again(
    codex: CodexBinary, state: Path, workspace: Path, how: str
) -> None:
    lifted = int(time.time()) + (3_700 if how != "far" else 3 * 86_400)
    stated = (
        ("x-codex-primary-used-percent", "100.0"),
        ("x-codex-primary-window-minutes", "300"),
        ("x-codex-primary-reset-at", str(lifted)),
    )
    action = refused(429, LIMIT, stated) if how == "headers" else refused(429, LIMIT | {"resets_at": lifted})
    async with stage(codex, state, workspace, always(action)) as play:
        result = await play.ask("hi")
        asked = len(play.model.requests)
    assert (result.outcome, result.failure, asked) == (Outcome.FAILED, Failure.USAGE_LIMIT, 1)
    assert result.retry_at is not None
    # Codex says it in words, cut to the minute, unless the provider states it to the second.
    assert 0 <= result.retry_at - lifted <= (0 if how == "headers" else 60)
    assert result.error.startswith("The account's usage limit is reached. It is lifted in ")
    assert result.error.endswith(" (UTC).")


async def test_a_usage_limit_of_which_nobody_knows_the_end_is_told_without_one(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, always(refused(429, LIMIT))) as play:
        result = await play.ask("hi")
    assert (result.error, result.retry_at) == ("The account's usage limit is reached.", None)


async def test_t08_a_and_b_a_plain_answer_counts_once(codex: CodexBinary, state: Path, workspace: Path) -> None:
    async with stage(codex, state, workspace, always(say("Done."))) as play:
        events = await events_of(await play.begin("hi"))
    (finished,) = (event for event in events if isinstance(event, Finished))
    counts = [event for event in events if isinstance(event, UsageCounted)]
    assert outbox(finished.result) == ("Done.",)
    assert [count.usage for count in counts] == [finished.result.usage]


async def test_t08_c_a_stream_that_codex_tries_again_is_no_failure(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = in_turn([Reply((FailResponse("server_error", "Sorry."),)), say("Ok")])
    retries = [("model_providers.loopback.stream_max_retries", "2")]
    async with stage(codex, state, workspace, script, overrides=retries) as play:
        result = await play.ask("hi")
    assert (result.outcome, result.error, outbox(result)) == (Outcome.ANSWERED, "", ("Ok",))


@pytest.mark.parametrize(
    ("steps", "silence"),
    [
        ((), Silence.NOTHING),
        ((Think("Hm."),), Silence.REASONING),
        ((Say("Looking.", phase="commentary"),), Silence.COMMENTARY),
    ],
)
async def test_t08_e_an_end_without_an_answer_is_reported(
    codex: CodexBinary, state: Path, workspace: Path, steps: tuple[Think | Say, ...], silence: Silence
) -> None:
    async with stage(codex, state, workspace, always(Reply(steps))) as play:
        result = await play.ask("hi")
    assert (result.outcome, result.text, result.silence) == (Outcome.EMPTY, "", silence)
    (said,) = outbox(result)
    assert said.startswith("No response was produced: the turn ended ")


async def test_t08_e_a_turn_that_worked_and_said_nothing_is_reported(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = in_turn([Reply((CallTool("exec_command", {"cmd": "true"}),)), Reply(())])
    async with stage(codex, state, workspace, script, settings=YOLO) as play:
        result = await play.ask("hi")
    assert (result.outcome, result.silence) == (Outcome.EMPTY, Silence.TOOLS)


async def test_t08_f_a_turn_that_is_stopped_says_nothing_of_a_failure(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = always(Reply((BeginSaying("Let me"), Wait(anyio.Event()))))
    async with stage(codex, state, workspace, script) as play:
        turn = await play.begin("hi")
        async for event in turn.events():
            if isinstance(event, TextDelta):
                await turn.interrupt()
        result = await turn.result()
    assert (result.outcome, result.text, result.error, result.failure) == (Outcome.INTERRUPTED, "Let me", "", None)
    assert result.partial


async def test_t08_g_a_command_that_fails_is_no_word_of_the_answer(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = in_turn([Reply((CallTool("exec_command", {"cmd": "grep x /dev/null"}),)), say("No matches.")])
    async with stage(codex, state, workspace, script, settings=YOLO) as play:
        events = await events_of(await play.begin("look"))
    assert [event.exit_code for event in events if isinstance(event, CommandFinished)] == [1]
    assert isinstance(last := events[-1], Finished)
    assert outbox(last.result) == ("No matches.",)


async def test_t08_h_of_several_messages_the_last_one_is_the_answer(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    steps = (Say("A"), Say("and B"), Say("Checking.", phase="commentary"))
    async with stage(codex, state, workspace, always(Reply(steps))) as play:
        result = await play.ask("hi")
    assert outbox(result) == ("and B",)


async def test_an_answer_that_reaches_the_models_limit_is_kept_and_called_incomplete(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """Codex fails the turn although the message is complete."""
    async with stage(codex, state, workspace, always(Reply((Say("Half of it"), Incomplete())))) as play:
        result = await play.ask("hi")
    assert (result.outcome, result.failure, result.text, result.partial) == (
        Outcome.FAILED, Failure.LENGTH, "Half of it", True
    )  # fmt: skip
    assert result.error == "The answer was cut off: it is longer than the model says at once."


async def test_what_was_said_before_a_stream_broke_is_kept_and_called_incomplete(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with stage(codex, state, workspace, always(Reply((BeginSaying("Half of"), BreakOff())))) as play:
        result = await play.ask("hi")
    assert (result.outcome, result.failure, result.text, result.partial) == (
        Outcome.FAILED, Failure.OUTAGE, "Half of", True
    )  # fmt: skip


async def test_text_that_turns_out_to_be_commentary_is_taken_back(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    steps = (Say("Need to look.", phase="commentary", late=True), Say("Two files.", phase="final_answer"))
    async with stage(codex, state, workspace, always(Reply(steps))) as play:
        events: list[TurnEvent] = await events_of(await play.begin("how many?"))
    spoken = [event for event in events if isinstance(event, TextDelta | TextRetracted | Commentary)]
    assert spoken == [
        TextDelta("msg_1_0", "Need to look."),
        TextRetracted("msg_1_0"),
        Commentary("msg_1_0", "Need to look."),
        TextDelta("msg_1_1", "Two files."),
    ]
