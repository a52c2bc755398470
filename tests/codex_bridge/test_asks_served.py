"""What becomes of an ask, from the request of the server to our answer; on a fake server."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from codex_bridge.rpc import Json, JsonObject
from harness.asks import (
    Answer,
    ApprovalAsked,
    ApprovalKind,
    Ask,
    AskSettled,
    QuestionAsked,
    Settlement,
    Verdict,
)
from harness.turns import EndedBy, Finished, Notice, Outcome, TurnEvent
from tests.support.asking import AskingCodex, FakeAsker, asking, harness_on
from tests.support.turns import harness_on_fake, words

COMMAND = "item/commandExecution/requestApproval"
RUN: list[Json] = ["ask", COMMAND, {"itemId": "i9", "command": "/bin/bash -lc 'rm -r build'", "cwd": "/w"}]
RESOLVED: list[Json] = ["tell", "serverRequest/resolved", {"requestId": 0}]
CLOSED: list[Json] = ["tell", "thread/closed", {}]
OTHER: list[Json] = ["ask", COMMAND, {"itemId": "i10", "command": "ls", "cwd": "/w"}]


def settled(events: list[TurnEvent]) -> list[tuple[Settlement, str]]:
    return [(event.how, event.why) for event in events if isinstance(event, AskSettled)]


async def test_an_ask_is_told_put_to_its_asker_and_answered_as_that_says(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker(Answer(Verdict.ALLOW))
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(RUN, asker=asker))
        events = [event async for event in turn.events()]
    (ask,) = asker.asked
    script = "rm -r build"
    what = ApprovalAsked("0", "i9", ApprovalKind.COMMAND, f"/bin/bash -lc '{script}'", cwd="/w", script=script)
    assert ask == Ask(
        identity=ask.identity,
        session_key="a",
        message_key=turn.request.message_key,
        thread="thr_1",
        what=what,
        outlives=True,
    )
    assert [event for event in events if isinstance(event, ApprovalAsked | AskSettled)] == [
        what,
        AskSettled("0", Settlement.ALLOWED),
    ]
    assert codex.answers == [{"decision": "accept"}]
    assert asker.withdrawn == []


async def test_asks_wait_beside_each_other_and_hold_up_no_other_chat(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(RUN, OTHER, asker=asker))
        first, second = await asker.until_asked(), await asker.until_asked(2)
        other = await harness.start(words("echo meanwhile", chat="b")).result()
        asker.answer(second, Answer(Verdict.ALLOW_ALWAYS))
        asker.answer(first, Answer(Verdict.DECLINE, why="Nobody answered."))
        result = await turn.result()
        events = [event async for event in turn.events()]
    assert other.text == "meanwhile"
    assert result.text == "Done."
    assert len({first.identity, second.identity}) == 2
    assert sorted(map(str, codex.answers)) == ["{'decision': 'acceptForSession'}", "{'decision': 'decline'}"]
    assert sorted(settled(events), key=str) == [
        (Settlement.ALLOWED, ""),
        (Settlement.DECLINED, "Nobody answered."),
    ]


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (["end"], "the turn is over."),
        (RESOLVED, "it was answered elsewhere."),
        (CLOSED, "the conversation was closed."),
    ],
)
async def test_what_nobody_needs_any_more_is_withdrawn_and_not_answered(
    tmp_path: Path, after: list[Json], why: str
) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    ends: list[list[Json]] = [] if after == ["end"] else [["end"]]
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(RUN, ["wait"], after, *ends, asker=asker))
        await asker.until_asked()
        await harness.start(words("poke", chat="b")).result()
        events = [event async for event in turn.events()]
        withdrawn = await asker.until_withdrawn()
        asker.answer(asker.asked[0], Answer(Verdict.ALLOW))
        await harness.start(words("echo", chat="b")).result()
    assert withdrawn == [(asker.asked[0].identity, why)]
    assert settled(events) == [(Settlement.WITHDRAWN, why[0].upper() + why[1:])]
    assert isinstance(events[-1], Finished)
    assert codex.answers == []


async def test_a_turn_that_is_stopped_while_it_asks_ends_at_once_and_its_ask_is_withdrawn(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(RUN, asker=asker))
        ask = await asker.until_asked()
        await turn.interrupt()
        result = await turn.result()
        asker.answer(ask, Answer(Verdict.ALLOW))
        await harness.start(words("echo", chat="b")).result()
    assert (result.outcome, result.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)
    assert await asker.until_withdrawn() == [(ask.identity, "the turn is over.")]
    assert codex.answers == []


async def test_the_death_of_a_child_withdraws_what_it_asked(tmp_path: Path) -> None:
    asker = FakeAsker()
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(replace(words("approval rm -r build"), asker=asker))
        ask = await asker.until_asked()
        server = harness.server
        assert server is not None
        await server.client.transport.aclose()
        result = await turn.result()
        withdrawn = await asker.until_withdrawn()
        events = [event async for event in turn.events()]
    assert (ask.outlives, result.outcome) == (False, Outcome.LOST)
    assert withdrawn == [(ask.identity, "Codex stopped before anybody answered.")]
    assert settled(events) == [(Settlement.WITHDRAWN, "Codex stopped before anybody answered.")]


async def test_what_a_subagent_asks_is_put_to_the_asker_of_its_turn_and_names_it(tmp_path: Path) -> None:
    asker = FakeAsker(Answer(Verdict.ALLOW))
    async with harness_on_fake(tmp_path) as harness:
        result = await harness.start(replace(words("child-asks ls"), asker=asker)).result()
    (ask,) = asker.asked
    assert (ask.what.agent, ask.thread, ask.session_key) == ("thr_child", "thr_child", "a")
    assert result.text == '{"decision":"accept"}'


async def test_an_asker_that_breaks_is_a_no(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FakeAsker):
        async def ask(self, ask: Ask) -> Answer:
            raise RuntimeError(ask.identity)

    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(replace(words("approval ls"), asker=Broken()))
        events = [event async for event in turn.events()]
    why = "The gateway could not ask, so the answer was no."
    assert settled(events) == [(Settlement.DECLINED, why)]
    assert isinstance(events[-1], Finished)
    assert events[-1].result.text == '{"decision":"decline"}'
    assert "an ask of a" in caplog.text


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"mode": "openai/userVerification", "challenge": "x"}, "it asks in a way that no chat has"),
        (
            {"mode": "form", "requestedSchema": {"properties": {"a": {"type": "object"}}}},
            "its form cannot be asked as questions",
        ),
        ({"mode": "url"}, "it names no address"),
    ],
)  # fmt: skip
async def test_what_no_chat_can_ask_is_declined_with_the_reason_and_asks_nobody(
    tmp_path: Path, params: JsonObject, why: str
) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    async with harness_on(codex, tmp_path) as harness:
        step: list[Json] = ["ask", "mcpServer/elicitation/request", {"serverName": "crm", **params}]
        turn = harness.start(asking(step, asker=asker))
        events = [event async for event in turn.events()]
    told = f"The MCP server crm asked for input, and {why}, so the answer was no."
    assert (asker.asked, codex.answers) == ([], [{"action": "decline", "content": None}])
    assert [event.text for event in events if isinstance(event, Notice)][-1:] == [told]
    assert [type(event) for event in events if isinstance(event, QuestionAsked | AskSettled)] == [
        QuestionAsked,
        AskSettled,
    ]


async def test_a_cancel_of_a_question_ends_the_turn(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker(Answer(Verdict.CANCEL))
    questions: Json = {"itemId": "i1", "questions": [{"id": "q", "question": "Which?"}]}
    ask: list[Json] = ["ask", "item/tool/requestUserInput", questions]
    async with harness_on(codex, tmp_path) as harness:
        with anyio.fail_after(5):
            result = await harness.start(asking(ask, asker=asker)).result()
    assert codex.answers == [{"answers": {"q": {"answers": ["No answer: the person declined."]}}}]
    assert result.outcome in (Outcome.INTERRUPTED, Outcome.ANSWERED)
