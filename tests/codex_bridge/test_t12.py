"""Case T12: every request of the server gets a typed answer, and nobody at home means no."""

from dataclasses import replace
from pathlib import Path

from codex_bridge.rpc import Json
from harness.approvals.approvals import HOW_TO_ENABLE, NOBODY
from harness.asks import ApprovalAsked, AskSettled, QuestionAsked, Settlement
from harness.settings.approvals import ApprovalSettings
from harness.turns import Trigger
from tests.support.asking import AskingCodex, asking, course, desk_on, harness_on
from tests.support.real import message
from tests.support.time import HandClock

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


NO_ANSWER: Json = {"answers": {"q1": {"answers": [f"No answer: {NOBODY}"]}}}


async def test_t12_on_a_heartbeat_each_is_answered_once_with_no_and_waits_for_nothing(tmp_path: Path) -> None:
    """H7 to H9. The case says within one second: here no clock goes on at all."""
    codex, clock = AskingCodex(), HandClock()
    async with harness_on(codex, tmp_path, clock=clock) as harness:
        turn = harness.start(asking(*REQUESTS, trigger=Trigger.HEARTBEAT))
        events = [event async for event in turn.events()]
    assert sorted(map(str, codex.answers)) == sorted(map(str, ANSWERS))
    asked = [event.ask for event in events if isinstance(event, ApprovalAsked | QuestionAsked)]
    settled = [(event.ask, event.how) for event in events if isinstance(event, AskSettled)]
    assert len(asked) == 5
    assert sorted(settled) == sorted((each, Settlement.DECLINED) for each in asked)
    assert (clock.time(), clock.looks) == (0.0, 0)


async def test_t12_with_an_approver_one_card_is_shown_and_an_answer_after_the_end_has_expired(tmp_path: Path) -> None:
    codex, owner = AskingCodex(), ApprovalSettings(owners=("7",))
    async with desk_on(codex, tmp_path, owner, HandClock()) as played:
        await played.desk.receive(message(course(REQUESTS[0], ["wait"], ["end"]), number="1"))
        card = await played.shows("rm -r build")
        await played.desk.receive(message("poke", chat="8", number="2"))
        await played.desk.settled()
        ended = played.outbox.texts("7")
        pressed = replace(message("", number="3"), pressed=card.buttons[0][0].data)
        await played.desk.receive(pressed)
        await played.desk.settled()
        await played.desk.receive(message(course(REQUESTS[7]), number="4"))
        await played.desk.settled()
    assert [text for text in ended if "May I" in text or "rm -r build" in text] == ended[:1]
    assert "No longer needed: the turn is over." in ended[0]
    assert played.outbox.texts("7") == [*ended, "This has expired. No longer needed: the turn is over.", "Done."]
    assert codex.answers == [ANSWERS[7]]


async def test_t12_without_an_approver_the_chat_is_told_once_how_to_have_one_and_all_is_declined(
    tmp_path: Path,
) -> None:
    codex = AskingCodex()
    async with desk_on(codex, tmp_path, ApprovalSettings(), HandClock()) as played:
        await played.desk.receive(message(course(*REQUESTS[:5]), number="1"))
        await played.desk.settled()
    hint = HOW_TO_ENABLE.format(who='"telegram:7"')
    assert played.outbox.texts("7") == [hint, "Done."]
    assert hint.count("\n") == 0
    assert sorted(map(str, codex.answers)) == sorted(map(str, [*ANSWERS[:4], NO_ANSWER]))
