"""Case T12: every request of the server gets a typed answer, and nobody at home means no."""

import time
from pathlib import Path

from codex_bridge.rpc import Json
from harness.asks import Answer, ApprovalAsked, AskSettled, QuestionAsked, Settlement, Verdict
from harness.turns import Trigger
from tests.support.asking import AskingCodex, FakeAsker, asking, harness_on
from tests.support.turns import words

COMMAND = "item/commandExecution/requestApproval"
FORM: Json = {"type": "object", "properties": {}}
REQUESTS: list[list[Json]] = [
    ["ask", COMMAND, {"itemId": "i9", "command": "rm -r build", "cwd": "/w"}],
    ["ask", "item/fileChange/requestApproval", {"itemId": "i10"}],
    ["ask", "item/permissions/requestApproval", {"itemId": "i11", "permissions": {"fileSystem": {"write": ["/"]}}}],
    [
        "ask", "mcpServer/elicitation/request",
        {"turnId": None, "serverName": "crm", "mode": "form", "message": "Proceed?", "requestedSchema": FORM},
    ],
    ["ask", "item/tool/requestUserInput", {"itemId": "i12", "questions": [{"id": "q1", "question": "Which?"}]}],
    ["ask", "currentTime/read", {}],
    ["ask", "item/tool/call", {"callId": "c1", "tool": "no_such_tool", "arguments": {}}],
    ["ask", "some/newThing", {}],
]  # fmt: skip
ANSWERS: list[Json] = [
    {"decision": "decline"},
    {"decision": "decline"},
    {"permissions": {}, "scope": "turn"},
    {"action": "decline", "content": None},
    {"answers": {"q1": {"answers": ["No answer: nobody could be asked."]}}},
    {"currentTimeAt": 1_893_456_000},
    {
        "success": False,
        "contentItems": [{"type": "inputText", "text": "There is no tool called no_such_tool on this turn."}],
    },
    [-32601, "some/newThing: it is not supported by this client"],
]


async def test_t12_on_a_heartbeat_each_is_answered_once_with_no_at_once(tmp_path: Path) -> None:
    """H7 to H9."""
    codex = AskingCodex()
    async with harness_on(codex, tmp_path) as harness:
        began = time.monotonic()
        turn = harness.start(asking(*REQUESTS, trigger=Trigger.HEARTBEAT))
        events = [event async for event in turn.events()]
        took = time.monotonic() - began
    assert sorted(map(str, codex.answers)) == sorted(map(str, ANSWERS))
    asked = [event.ask for event in events if isinstance(event, ApprovalAsked | QuestionAsked)]
    settled = [(event.ask, event.how) for event in events if isinstance(event, AskSettled)]
    assert len(asked) == 5
    assert sorted(settled) == sorted((each, Settlement.DECLINED) for each in asked)
    assert took < 10  # with a start of the fake on a busy machine; the deadlines that an ask has are minutes


async def test_t12_with_an_approver_one_is_asked_and_an_answer_after_the_end_is_not_sent(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(REQUESTS[0], ["wait"], ["end"], asker=asker))
        await asker.until_asked()
        await harness.start(words("poke", chat="b")).result()
        events = [event async for event in turn.events()]
        ((identity, why),) = await asker.until_withdrawn()
        (ask,) = asker.asked
        asker.answer(ask, Answer(Verdict.ALLOW))
        after = await harness.start(asking(REQUESTS[7])).result()
    assert (ask.identity, why) == (identity, "the turn is over.")
    assert [event.how for event in events if isinstance(event, AskSettled)] == [Settlement.WITHDRAWN]
    assert after.text == "Done."
    assert codex.answers == [ANSWERS[7]]
