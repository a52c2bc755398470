"""Every name that we send or read, compared with the schema that the installed binary generates.

Codex ignores parameters that it does not know, so nothing else would notice a misspelt one.
"""

import subprocess

import pytest
from pydantic import BaseModel

from codex_bridge.binary import CodexBinary
from codex_bridge.errors import RefusalError
from codex_bridge.process import UNHEARD
from codex_bridge.questions import reply
from codex_bridge.rpc import Requested
from codex_bridge.wire import besides, requests
from codex_bridge.wire.notifications import DELTA_FIELDS, DELTAS, NOTIFICATIONS
from codex_bridge.wire.requests import INITIALIZE
from codex_bridge.wire.server_requests import ANSWERS, CURRENT_TIME, REQUESTS
from tests.support.schema import Schema, missing

METHODS = (*requests.METHODS, *besides.METHODS)
RESULTS = {
    "thread/start": "ThreadStartResponse",
    "thread/resume": "ThreadResumeResponse",
    "thread/read": "ThreadReadResponse",
    "thread/revert": "ThreadRevertResponse",
    "thread/fork": "ThreadForkResponse",
    "thread/unsubscribe": "ThreadUnsubscribeResponse",
    "turn/start": "TurnStartResponse",
    "turn/steer": "TurnSteerResponse",
    "turn/interrupt": "TurnInterruptResponse",
    "account/read": "GetAccountResponse",
    "account/login/start": "LoginAccountResponse",
    "account/login/cancel": "CancelLoginAccountResponse",
    "model/list": "ModelListResponse",
}
ANSWER_NAMES = {
    "item/commandExecution/requestApproval": "CommandExecutionRequestApprovalResponse",
    "item/fileChange/requestApproval": "FileChangeRequestApprovalResponse",
    "item/permissions/requestApproval": "PermissionsRequestApprovalResponse",
    "mcpServer/elicitation/request": "McpServerElicitationRequestResponse",
    "item/tool/requestUserInput": "ToolRequestUserInputResponse",
    "item/tool/call": "DynamicToolCallResponse",
    "currentTime/read": "CurrentTimeReadResponse",
    "execCommandApproval": "ExecCommandApprovalResponse",
    "applyPatchApproval": "ApplyPatchApprovalResponse",
}
GONE = {"currentTime/read"}
"""Asked by 0.163 only; 0.171 has dropped it (protocol reference, section 9)."""


@pytest.fixture(scope="module")
def schema(codex: CodexBinary, tmp_path_factory: pytest.TempPathFactory) -> Schema:
    folder = tmp_path_factory.mktemp("schema")
    command = [codex.path, "app-server", "generate-json-schema", "--experimental", "--out", folder]
    subprocess.run(command, check=True, timeout=60, env={"CODEX_HOME": str(folder), "PATH": "/usr/bin:/bin"})
    return Schema(folder)


def test_every_method_and_parameter_that_we_send_exists(schema: Schema) -> None:
    known = schema.methods("ClientRequest")
    assert {method.name for method in METHODS} <= set(known)
    problems = {
        method.name: found for method in METHODS if (found := missing(schema, method.params, known[method.name]))
    }
    assert problems == {}


def test_every_result_field_that_we_read_exists(schema: Schema) -> None:
    assert set(RESULTS) == {method.name for method in METHODS} - {INITIALIZE.name}  # initialize has no published result
    problems = {
        method.name: found
        for method in METHODS
        if method.name in RESULTS and (found := missing(schema, method.result, schema.file(RESULTS[method.name])))
    }
    assert problems == {}


def test_every_notification_that_we_do_without_exists(schema: Schema) -> None:
    assert set(UNHEARD) <= set(schema.methods("ServerNotification"))


def test_every_notification_field_and_enum_value_that_we_read_exists(schema: Schema) -> None:
    known = schema.methods("ServerNotification")
    assert set(NOTIFICATIONS) <= set(known)
    problems = {name: found for name, model in NOTIFICATIONS.items() if (found := missing(schema, model, known[name]))}
    assert problems == {}


def test_every_delta_has_the_members_that_the_cheap_path_copies(schema: Schema) -> None:
    known = schema.methods("ServerNotification")
    lacking = {method: set(DELTA_FIELDS) - schema.members(known[method]) for method in DELTAS}
    assert lacking == {method: set[str]() for method in DELTAS}


def test_every_request_of_the_server_and_our_answer_to_it_exist(schema: Schema) -> None:
    known = schema.methods("ServerRequest")
    assert set(ANSWERS) - set(known) <= GONE
    problems: dict[str, list[str]] = {}
    models: dict[str, type[BaseModel]] = {**REQUESTS}
    for name, model in models.items():
        problems[name] = missing(schema, model, known[name])
    for name, answer in ANSWERS.items():
        if name in known:
            problems[f"{name} (answer)"] = missing(schema, answer, schema.file(ANSWER_NAMES[name]))
    assert {name: found for name, found in problems.items() if found} == {}


def test_every_request_the_server_can_make_gets_an_answer(schema: Schema) -> None:
    refused: set[str] = set()
    for method in sorted(schema.methods("ServerRequest")):
        try:
            reply(Requested(0, method, {}), lambda: 0.0)
        except RefusalError:
            refused.add(method)
    # These ask for credentials that only the vendor's own clients have.
    assert refused <= {"account/chatgptAuthTokens/refresh", "attestation/generate", "item/tool/call", CURRENT_TIME}
