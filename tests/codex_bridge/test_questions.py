"""What the server is answered: in the form that each method wants, and never more than was allowed."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.errors import RefusalError
from codex_bridge.questions import (
    Reply,
    asks_a_person,
    plain,
    read,
    refusal,
    reply,
    tool_call,
    tool_refusal,
    wanted,
)
from codex_bridge.rpc import METHOD_NOT_FOUND, Json, JsonObject, Requested
from codex_bridge.wire.server_requests import ANSWERS, REQUESTS, refusals
from harness.asks import Answer, Settlement, Verdict

PLACE: Final[JsonObject] = {"threadId": "thr_1", "turnId": "turn_1", "itemId": "i9"}
COMMAND = Requested(0, "item/commandExecution/requestApproval", PLACE | {"command": "rm -r build", "cwd": "/w"})
FILES = Requested(0, "item/fileChange/requestApproval", PLACE)
ASKED: Final[JsonObject] = {"fileSystem": {"write": ["/"], "new": {"thing": 1}}, "network": {"enabled": True}}
PERMISSIONS = Requested(0, "item/permissions/requestApproval", PLACE | {"permissions": ASKED})
TWO: Json = [{"id": "a", "question": "?"}, {"id": "b", "question": "?"}]
QUESTIONS = Requested(0, "item/tool/requestUserInput", PLACE | {"questions": TWO})
CRM: Final[JsonObject] = {"threadId": "thr_1", "turnId": None, "serverName": "crm", "mode": "form", "message": "Hm?"}
NUMBER: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NOTHING: Json = {"type": "object", "properties": {}}
FORM = Requested(0, "mcpServer/elicitation/request", CRM | {"requestedSchema": NUMBER})
YES_OR_NO = Requested(0, "mcpServer/elicitation/request", CRM | {"requestedSchema": NOTHING})
URL = Requested(0, "mcpServer/elicitation/request", CRM | {"mode": "url", "url": "https://crm.example"})
NO: Final[JsonObject] = {"action": "decline", "content": None}
MISFIT = "crm was told no, as what was said does not fit: n must be a whole number."


def answered(request: Requested, answer: Answer, *, always: bool = True) -> Reply:
    params = read(request)
    assert params is not None
    return reply(request, params, answer, always=always)


@pytest.mark.parametrize(
    ("request_", "verdict", "expected"),
    [
        (COMMAND, Verdict.ALLOW, Reply({"decision": "accept"}, Settlement.ALLOWED)),
        (COMMAND, Verdict.ALLOW_ALWAYS, Reply({"decision": "acceptForSession"}, Settlement.ALLOWED)),
        (COMMAND, Verdict.DECLINE, Reply({"decision": "decline"}, Settlement.DECLINED)),
        (COMMAND, Verdict.CANCEL, Reply({"decision": "cancel"}, Settlement.DECLINED)),
        (FILES, Verdict.ALLOW, Reply({"decision": "accept"}, Settlement.ALLOWED)),
        (FILES, Verdict.ALLOW_ALWAYS, Reply({"decision": "acceptForSession"}, Settlement.ALLOWED)),
        (FILES, Verdict.DECLINE, Reply({"decision": "decline"}, Settlement.DECLINED)),
        (FILES, Verdict.CANCEL, Reply({"decision": "cancel"}, Settlement.DECLINED)),
        (PERMISSIONS, Verdict.ALLOW, Reply({"permissions": ASKED, "scope": "turn"}, Settlement.ALLOWED)),
        (PERMISSIONS, Verdict.ALLOW_ALWAYS, Reply({"permissions": ASKED, "scope": "session"}, Settlement.ALLOWED)),
        (PERMISSIONS, Verdict.DECLINE, Reply({"permissions": {}, "scope": "turn"}, Settlement.DECLINED)),
        (
            PERMISSIONS,
            Verdict.CANCEL,
            Reply({"permissions": {}, "scope": "turn"}, Settlement.DECLINED, ends_turn=True),
        ),
        (URL, Verdict.ALLOW, Reply({"action": "accept", "content": None}, Settlement.ANSWERED)),
        (YES_OR_NO, Verdict.ALLOW, Reply({"action": "accept", "content": {}}, Settlement.ANSWERED)),
        (YES_OR_NO, Verdict.DECLINE, Reply(NO, Settlement.DECLINED)),
        (
            YES_OR_NO,
            Verdict.CANCEL,
            Reply({"action": "cancel", "content": None}, Settlement.DECLINED, ends_turn=True),
        ),
    ],
)
def test_what_a_person_says_is_said_to_codex(request_: Requested, verdict: Verdict, expected: Reply) -> None:
    assert answered(request_, Answer(verdict)) == expected


def test_what_may_be_allowed_once_alone_is_allowed_once() -> None:
    allowed = Reply({"decision": "accept"}, Settlement.ALLOWED)
    assert answered(COMMAND, Answer(Verdict.ALLOW_ALWAYS), always=False) == allowed


def test_permissions_that_cannot_be_read_are_not_granted() -> None:
    request = Requested(0, PERMISSIONS.method, PLACE | {"permissions": "everything"})
    why = "It cannot be said what would be allowed, so the answer was no."
    assert answered(request, Answer(Verdict.ALLOW)) == Reply(
        {"permissions": {}, "scope": "turn"}, Settlement.DECLINED, why
    )


@pytest.mark.parametrize(
    ("request_", "words", "expected"),
    [
        (
            QUESTIONS,
            {"a": ("Red",), "b": ("x", "y"), "other": ("z",)},
            Reply({"answers": {"a": {"answers": ["Red"]}, "b": {"answers": ["x", "y"]}}}, Settlement.ANSWERED),
        ),
        (QUESTIONS, {"a": ("Red",)}, Reply({"answers": {"a": {"answers": ["Red"]}}}, Settlement.ANSWERED)),
        (FORM, {"n": ("12",)}, Reply({"action": "accept", "content": {"n": 12}}, Settlement.ANSWERED)),
        (FORM, {"n": ("twelve",)}, Reply(NO, Settlement.DECLINED, MISFIT)),
        (FORM, {}, Reply(NO, Settlement.DECLINED, MISFIT.replace("must be a whole number", "was not answered"))),
    ],
)
def test_words_go_to_the_question_that_they_answer(
    request_: Requested, words: dict[str, tuple[str, ...]], expected: Reply
) -> None:
    assert answered(request_, Answer(Verdict.ALLOW, words)) == expected


def test_a_question_that_is_declined_tells_the_model_why() -> None:
    no: JsonObject = {"answers": ["No answer: Nobody answered within 10 minutes, so it was declined."]}
    why = "Nobody answered within 10 minutes, so it was declined."
    declined = Reply({"answers": {"a": no, "b": no}}, Settlement.DECLINED, why)
    assert answered(QUESTIONS, Answer(Verdict.DECLINE, why=why)) == declined


DENIED: JsonObject = {"decision": {"denied": {"rejection": "Nobody could be asked."}}}
REFUSALS: dict[str, JsonObject] = {
    "item/commandExecution/requestApproval": {"decision": "decline"},
    "item/fileChange/requestApproval": {"decision": "decline"},
    "item/permissions/requestApproval": {"permissions": {}, "scope": "turn"},
    "mcpServer/elicitation/request": NO,
    "item/tool/requestUserInput": {"answers": {}},
    "execCommandApproval": DENIED,
    "applyPatchApproval": DENIED,
}


@pytest.mark.parametrize("method", sorted(refusals()))
def test_a_request_that_a_newer_server_words_otherwise_is_still_declined(method: str) -> None:
    request = Requested(0, method, {"threadId": 7, "serverName": None})
    assert read(request) is None
    assert refusal(request, None, "nobody could be asked.") == REFUSALS[method]


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("new/thing", "it is not supported by this client"),
        ("", "it is not supported by this client"),
        (
            "account/chatgptAuthTokens/refresh",
            "this client gave no ChatGPT tokens and has no newer ones; sign in with codex login",
        ),
        ("attestation/generate", "this client makes no attestations"),
    ],
)
def test_what_is_not_served_is_refused_by_name(method: str, why: str) -> None:
    request = Requested(0, method, {})
    assert not asks_a_person(request)
    with pytest.raises(RefusalError) as caught:
        plain(request, lambda: 0.0)
    assert (caught.value.code, caught.value.message) == (METHOD_NOT_FOUND, f"{method}: {why}")


def test_the_time_is_told() -> None:
    assert plain(Requested(0, "currentTime/read", {}), lambda: 1_893_456_000.9) == {"currentTimeAt": 1_893_456_000}


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (COMMAND, "Codex asked to run `rm -r build`"),
        (FILES, "Codex asked to change files"),
        (PERMISSIONS, "Codex asked for more permissions"),
        (FORM, "The MCP server crm asked for input"),
        (QUESTIONS, "The agent had questions"),
        (Requested(0, "execCommandApproval", {}), "Codex asked for an approval"),
    ],
)
def test_the_operator_is_told_what_was_wanted(request_: Requested, told: str) -> None:
    assert wanted(read(request_)) == told


def test_a_call_of_a_tool_is_told_from_other_requests() -> None:
    about: JsonObject = {"threadId": "thr_1", "turnId": "turn_1", "callId": "c1"}
    params: JsonObject = {**about, "tool": "send", "arguments": {"a": 1}}
    call = tool_call(Requested(0, "item/tool/call", params))
    assert call is not None
    assert (call.thread_id, call.turn_id, call.tool, call.namespace, call.arguments) == (
        "thr_1", "turn_1", "send", None, {"a": 1}
    )  # fmt: skip
    assert tool_call(Requested(0, "item/tool/call", {})) is None
    assert tool_call(Requested(0, "currentTime/read", params)) is None
    assert tool_refusal("No.").to_wire() == {
        "success": False, "contentItems": [{"type": "inputText", "text": "No."}]
    }  # fmt: skip


def test_every_request_that_is_read_has_an_answer_of_its_model() -> None:
    assert ANSWERS.keys() == refusals().keys() | {"item/tool/call", "currentTime/read"}
    assert REQUESTS.keys() <= ANSWERS.keys()
    assert {method: type(no) for method, no in refusals().items()} == {method: ANSWERS[method] for method in refusals()}


MEMBERS = st.sampled_from(
    ["threadId", "turnId", "itemId", "serverName", "command", "permissions", "questions", "mode", "requestedSchema"]
)
VALUES: st.SearchStrategy[Json] = st.none() | st.booleans() | st.integers() | st.text(max_size=8)


@given(
    method=st.sampled_from(sorted(refusals())),
    params=st.dictionaries(MEMBERS, VALUES, max_size=6),
    verdict=st.sampled_from([Verdict.DECLINE, Verdict.CANCEL]),
)
def test_a_no_grants_nothing_and_breaks_nothing_whatever_a_request_holds(
    method: str, params: JsonObject, verdict: Verdict
) -> None:
    request = Requested(0, method, params)
    asked = read(request)
    said = [refusal(request, asked, "nobody could be asked.")]
    if asked is not None:
        said.append(reply(request, asked, Answer(verdict)).result)
    for result in said:
        assert isinstance(result, dict)
        assert result.get("decision") in (None, "decline", "cancel", DENIED["decision"])
        assert result.get("action") != "accept"
        assert not result.get("permissions")
