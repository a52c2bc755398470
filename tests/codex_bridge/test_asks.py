"""What a gateway is told of the approvals and questions of a turn; the requests are those of both pinned binaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codex_bridge.asks import asked_by, declined, identity_of
from codex_bridge.rpc import Json, JsonObject, Requested
from codex_bridge.wire.server_requests import REQUESTS, ServerRequestParams
from harness.asks import ApprovalAsked, ApprovalKind, AskSettled, Choice, Question, QuestionAsked, Settlement
from harness.turns import FileChange, Notice
from tests.support.values import json_values

PLACE: JsonObject = {"threadId": "thr_1", "turnId": "turn_1", "itemId": "call_1"}
CHANGED = """\
add /w/made.txt
    hello
    delete /w/old.txt
update /w/a\\nb, moved to /w/.profile
    -one
    +two"""
FORM: JsonObject = {
    "type": "object",
    "properties": {
        "day": {"type": "string", "title": "Day", "description": "Which day?", "enum": ["Mon", "Tue"]},
        "sure": {"type": "boolean", "title": "Sure?"},
        "name": {"type": "string"},
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
            ApprovalAsked(
                "0", "call_1", ApprovalKind.COMMAND, "/bin/bash -lc 'touch x'", "to try", "/w", script="touch x"
            ),
        ),
        (
            "item/fileChange/requestApproval",
            PLACE | {"reason": None, "grantRoot": "/w/out"},
            ApprovalAsked("0", "call_1", ApprovalKind.FILES, f"anything below /w/out, from now on\n{CHANGED}"),
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
    moved = FileChange("/w/a\nb", "update", "-one\n+two\n", "/w/.profile")
    changes = (FileChange("/w/made.txt", "add", "hello\ndelete /w/old.txt\n"), moved)
    assert asked_by(params_of(method, params), "0", changes=changes) == asked


@pytest.mark.parametrize(
    ("more", "text", "kind"),
    [
        (
            {"additionalPermissions": {"network": {"enabled": True}, "fileSystem": {"write": ["/a", "/b"]}}},
            "ls\nfor it: network access: on\nfor it: write /a\nfor it: write /b",
            ApprovalKind.COMMAND,
        ),
        (
            {"networkApprovalContext": {"host": "b.example", "protocol": "https"}},
            "ls\nnetwork access to https://b.example",
            ApprovalKind.COMMAND,
        ),
        (
            {"command": None, "networkApprovalContext": {"host": "b.example", "protocol": "https"}},
            "network access to https://b.example",
            ApprovalKind.OTHER,
        ),
        ({"kind": "writeStdin"}, "(writeStdin)\nls", ApprovalKind.COMMAND),
        ({"command": None}, "", ApprovalKind.OTHER),
    ],
)
def test_what_is_asked_for_besides_a_command_is_shown_and_then_no_rule_allows_it(
    more: JsonObject, text: str, kind: ApprovalKind
) -> None:
    asked = asked_by(params_of("item/commandExecution/requestApproval", {**PLACE, "command": "ls", **more}), "0")
    assert asked == ApprovalAsked("0", "call_1", kind, text)


def test_a_checkpoint_for_a_person_cannot_be_allowed_for_longer() -> None:
    params = params_of("item/commandExecution/requestApproval", {**PLACE, "command": "ls", "kind": "humanCommand"})
    text = "(humanCommand)\nls"
    assert asked_by(params, "0") == ApprovalAsked("0", "call_1", ApprovalKind.COMMAND, text, always=False)


@pytest.mark.parametrize(
    ("permissions", "text"),
    [
        (None, ""),
        ({}, ""),
        ({"network": {"enabled": False}, "fileSystem": None}, "network access: off"),
        ({"network": {"enabled": True, "new": 1}}, 'network: {"enabled": true, "new": 1}'),
        ({"fileSystem": {"read": ["/a"], "write": None, "globScanMaxDepth": 2}}, "read /a\nglobScanMaxDepth: 2"),
        (
            {
                "fileSystem": {
                    "entries": [
                        {"access": "write", "path": {"type": "path", "path": "/a"}},
                        {"access": "write", "path": {"type": "special", "value": {"kind": "root"}}},
                    ]
                }
            },
            'write /a\n{"access": "write", "path": {"type": "special", "value": {"kind": "root"}}}',
        ),
        (
            {
                "fileSystem": {
                    "write": ["/a"],
                    "entries": [{"access": "write", "path": {"type": "path", "path": "/a"}}],
                }
            },
            "write /a",
        ),
        ({"camera": True}, "camera: true"),
        (["all"], '["all"]'),
    ],
)
def test_of_permissions_nothing_is_left_out(permissions: Json, text: str) -> None:
    params = params_of("item/permissions/requestApproval", {**PLACE, "permissions": permissions})
    assert asked_by(params, "0") == ApprovalAsked("0", "call_1", ApprovalKind.PERMISSIONS, text)


def test_an_ask_is_known_when_it_is_repeated_and_taken_for_no_other() -> None:
    method = "item/commandExecution/requestApproval"
    params: JsonObject = {**PLACE, "command": "ls", "startedAtMs": 1, "availableDecisions": ["accept"]}
    asked = identity_of(Requested(0, method, params))
    assert asked.startswith("codex:thr_1:")
    assert identity_of(Requested(0, method, {**dict(reversed(params.items())), "startedAtMs": 2})) == asked
    others = [
        Requested(1, method, params),
        Requested("0", method, params),
        Requested(0, "item/fileChange/requestApproval", params),
        Requested(0, method, {**params, "command": "ls /"}),
        Requested(0, method, {**params, "turnId": "turn_2"}),
        Requested(0, method, {**params, "threadId": "thr_2"}),
    ]
    assert len({asked, *map(identity_of, others)}) == 1 + len(others)


def test_an_ask_that_nobody_can_answer_is_told_as_asked_and_as_settled() -> None:
    what = ApprovalAsked("7", "call_1", ApprovalKind.COMMAND, "ls", agent="thr_child")
    assert declined(what, "Nobody could be asked.") == [
        what,
        AskSettled("7", Settlement.DECLINED, "Nobody could be asked."),
        Notice("Nobody could be asked."),
    ]
    assert declined(None, "Nobody could be asked.") == [Notice("Nobody could be asked.")]


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
