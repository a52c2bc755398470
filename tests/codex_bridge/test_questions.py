"""Where nobody can be asked, the answer is no in the form that each method wants, and nothing is granted.

With case T12, as far as it needs no outbox.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.errors import RefusalError
from codex_bridge.questions import Reply, reply, tool_call, tool_refusal
from codex_bridge.rpc import METHOD_NOT_FOUND, Json, JsonObject, Requested
from codex_bridge.wire.server_requests import ANSWERS, REQUESTS, refusals

PLACE: JsonObject = {"threadId": "thr_1", "turnId": "turn_1", "itemId": "i9"}
WAS_NO = ", and nobody could be asked, so the answer was no."


def ask(method: str, **params: Json) -> Reply:
    """The answer, without what was read of the request: `test_asks` looks at that."""
    return replace(reply(Requested("r1", method, params), lambda: 1_893_456_000.9), params=None)


DENIED: JsonObject = {"decision": {"denied": {"rejection": "Nobody could be asked."}}}


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        (
            "item/commandExecution/requestApproval",
            PLACE | {"command": "rm -r build", "cwd": "/w"},
            Reply({"decision": "decline"}, "thr_1", "turn_1", notice=f"Codex asked to run `rm -r build`{WAS_NO}"),
        ),
        (
            "item/commandExecution/requestApproval",
            PLACE | {"command": None},
            Reply({"decision": "decline"}, "thr_1", "turn_1", notice=f"Codex asked for an approval{WAS_NO}"),
        ),
        (
            "item/fileChange/requestApproval",
            PLACE,
            Reply({"decision": "decline"}, "thr_1", "turn_1", notice=f"Codex asked to change files{WAS_NO}"),
        ),
        (
            "item/permissions/requestApproval",
            PLACE | {"permissions": {"fileSystem": {"write": ["/"]}}},
            Reply(
                {"permissions": {}, "scope": "turn"},
                "thr_1",
                "turn_1",
                notice=f"Codex asked for more permissions{WAS_NO}",
            ),
        ),
        (
            "mcpServer/elicitation/request",
            {"threadId": "thr_1", "turnId": None, "serverName": "crm", "mode": "form", "message": "Proceed?"},
            Reply(
                {"action": "decline", "content": None}, "thr_1", notice=f"The MCP server crm asked for input{WAS_NO}"
            ),
        ),
        (
            "item/tool/requestUserInput",
            PLACE | {"questions": [{"id": "q1", "question": "Which?"}]},
            Reply({"answers": {}}, "thr_1", "turn_1", notice=f"The agent had questions{WAS_NO}"),
        ),
        ("execCommandApproval", {}, Reply(DENIED, notice=f"Codex asked for an approval{WAS_NO}")),
        ("applyPatchApproval", {}, Reply(DENIED, notice=f"Codex asked for an approval{WAS_NO}")),
        ("currentTime/read", {}, Reply({"currentTimeAt": 1_893_456_000})),
    ],
)
def test_each_method_is_answered_in_its_own_form(method: str, params: JsonObject, expected: Reply) -> None:
    """Case T12, r1 to r7."""
    assert ask(method, **params) == expected


@pytest.mark.parametrize("method", ["new/thing", "account/chatgptAuthTokens/refresh", "attestation/generate", ""])
def test_what_is_not_known_is_refused_by_name(method: str) -> None:
    with pytest.raises(RefusalError) as caught:
        ask(method)
    assert (caught.value.code, caught.value.message) == (METHOD_NOT_FOUND, f"{method} is not supported by this client")


@pytest.mark.parametrize("method", sorted(refusals()))
def test_a_request_that_a_newer_server_words_otherwise_is_still_declined(method: str) -> None:
    assert ask(method, threadId=7, serverName=None).result == refusals()[method].to_wire()


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


def test_a_tool_call_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(RefusalError):
        ask("item/tool/call", tool="message")


def test_every_request_that_is_read_has_an_answer_of_its_model() -> None:
    assert ANSWERS.keys() == refusals().keys() | {"item/tool/call", "currentTime/read"}
    assert REQUESTS.keys() <= ANSWERS.keys()
    assert {method: type(no) for method, no in refusals().items()} == {method: ANSWERS[method] for method in refusals()}


MEMBERS = st.sampled_from(["threadId", "turnId", "itemId", "callId", "tool", "namespace", "serverName", "command", "x"])
VALUES: st.SearchStrategy[Json] = st.none() | st.booleans() | st.integers() | st.text(max_size=8)


@given(method=st.sampled_from([*ANSWERS, "new/thing"]), params=st.dictionaries(MEMBERS, VALUES, max_size=6))
def test_no_request_is_granted_or_breaks_whatever_it_holds(method: str, params: JsonObject) -> None:
    try:
        result = ask(method, **params).result
    except RefusalError:
        return
    assert isinstance(result, dict)
    decision = result.get("decision")
    assert not isinstance(decision, str) or decision == "decline"
    assert result.get("action") != "accept"
    assert not result.get("permissions")
    assert result.get("success") is not True
