"""What a gateway is told of the approvals and questions of a turn; the requests are those of both pinned binaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codex_bridge.asks import asked_by, declined
from codex_bridge.rpc import JsonObject
from codex_bridge.wire.server_requests import REQUESTS, ServerRequestParams
from harness.asks import ApprovalAsked, ApprovalKind, AskSettled, Choice, Question, QuestionAsked, Settlement
from harness.turns import Notice
from tests.support.values import json_values

PLACE: JsonObject = {"threadId": "thr_1", "turnId": "turn_1", "itemId": "call_1"}
FORM: JsonObject = {
    "type": "object",
    "properties": {
        "day": {"type": "string", "title": "Day", "description": "Which day?", "enum": ["Mon", "Tue"]},
        "sure": {"type": "boolean", "title": "Sure?"},
        "name": {"type": "string"},
        "broken": 7,
    },
}


def params_of(method: str, params: JsonObject) -> ServerRequestParams:
    return REQUESTS[method].model_validate(params)


@pytest.mark.parametrize(
    ("method", "params", "asked"),
    [
        (
            "item/commandExecution/requestApproval",
            PLACE | {"kind": "command", "command": "/bin/bash -lc 'touch x'", "cwd": "/w", "reason": "to try"},
            ApprovalAsked("0", "call_1", ApprovalKind.COMMAND, "/bin/bash -lc 'touch x'", "to try", "/w"),
        ),
        (
            "item/fileChange/requestApproval",
            PLACE | {"reason": None, "grantRoot": "/w/out"},
            ApprovalAsked("0", "call_1", ApprovalKind.FILES, "/w/out"),
        ),
        (
            "item/permissions/requestApproval",
            PLACE | {"cwd": "/w", "permissions": {}, "reason": "to write"},
            ApprovalAsked("0", "call_1", ApprovalKind.PERMISSIONS, "", "to write", "/w"),
        ),
        (
            "item/tool/requestUserInput",
            PLACE
            | {
                "questions": [
                    {
                        "id": "q1",
                        "header": "Colour",
                        "question": "Which?",
                        "isOther": True,
                        "isSecret": False,
                        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
                    },
                    {"id": "q2", "header": "", "question": "Word?", "isSecret": True, "options": None},
                ],
                "isBlocking": False,
            },
            QuestionAsked(
                "0",
                "call_1",
                (
                    Question("q1", "Which?", "Colour", (Choice("Red", "warm"), Choice("Blue", "cold"))),
                    Question("q2", "Word?", secret=True),
                ),
            ),
        ),
        (
            "mcpServer/elicitation/request",
            {"threadId": "thr_1", "turnId": None, "serverName": "crm", "mode": "form", "message": "When?"}
            | {"requestedSchema": FORM},
            QuestionAsked(
                "0",
                "",
                (
                    Question("day", "Which day?", "Day", (Choice("Mon"), Choice("Tue")), in_words=False),
                    Question("sure", "Sure?", "Sure?", (Choice("true"), Choice("false")), in_words=False),
                    Question("name", "name"),
                ),
                "When?",
                "crm",
            ),
        ),
        (
            "mcpServer/elicitation/request",
            {"threadId": "thr_1", "serverName": "crm", "mode": "url", "message": "Sign in", "url": "https://crm.example"},
            QuestionAsked("0", "", (), "Sign in", "crm", "https://crm.example"),
        ),
    ],
)  # fmt: skip
def test_it_is_told_what_was_asked_and_for_which_item(
    method: str, params: JsonObject, asked: ApprovalAsked | QuestionAsked
) -> None:
    assert asked_by(params_of(method, params), "0") == asked


def test_an_ask_that_nobody_can_answer_is_told_as_asked_and_as_settled() -> None:
    params = params_of("item/commandExecution/requestApproval", PLACE | {"command": "ls"})
    assert declined(params, "7", "Nobody could be asked.", "thr_child") == [
        ApprovalAsked("7", "call_1", ApprovalKind.COMMAND, "ls", agent="thr_child"),
        AskSettled("7", Settlement.DECLINED, "Nobody could be asked."),
        Notice("Nobody could be asked."),
    ]
    assert declined(None, "7", "Nobody could be asked.") == [Notice("Nobody could be asked.")]


NAMES = st.sampled_from(["properties", "enum", "title", "type", "boolean", "questions", "options", "label", "id", "x"])


@given(
    method=st.sampled_from(sorted(REQUESTS)),
    params=st.dictionaries(
        st.sampled_from(["questions", "requestedSchema", "message", "url", "command", "cwd", "reason", "grantRoot"]),
        json_values(st.none() | st.booleans() | st.integers() | st.text(max_size=4), NAMES, most=4),
    ),
)
def test_whatever_a_request_holds_it_can_be_told(method: str, params: JsonObject) -> None:
    whole: JsonObject = {**params, **PLACE, "serverName": "crm", "callId": "c", "tool": "t"}
    try:
        read = params_of(method, whole)
    except ValidationError:
        return
    asked = asked_by(read, "0")
    assert (asked is None) is (method == "item/tool/call")
