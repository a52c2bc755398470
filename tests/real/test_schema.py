"""Every name that we send or read, compared with the schema that the installed binary generates.

Codex ignores parameters that it does not know, so nothing else would notice a misspelt one.
"""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from codex_bridge import turn_errors
from codex_bridge.binary import CodexBinary
from codex_bridge.errors import RefusalError
from codex_bridge.home import own_home, private_dir
from codex_bridge.lanes import plan
from codex_bridge.params import OWN_PLAN, ThreadSettings, thread_config
from codex_bridge.process import UNHEARD, Launch
from codex_bridge.providers import Provider
from codex_bridge.questions import asks_a_person, plain, refusal
from codex_bridge.rpc import Requested
from codex_bridge.telling import LIMITS_TOLD
from codex_bridge.wire import besides, requests
from codex_bridge.wire.notifications import DELTA_FIELDS, DELTAS, NOTIFICATIONS
from codex_bridge.wire.requests import TurnError
from codex_bridge.wire.server_requests import ANSWERS, CURRENT_TIME, REQUESTS
from codex_bridge.work import CHILDREN
from harness.layers import Composition, Layer, LayerName, Lifetime, Trust
from tests.support.schema import Schema, missing

METHODS = (*requests.METHODS, *besides.METHODS)
RESULTS = {
    "initialize": "InitializeResponse",
    "thread/start": "ThreadStartResponse",
    "thread/resume": "ThreadResumeResponse",
    "thread/read": "ThreadReadResponse",
    "thread/turns/list": "ThreadTurnsListResponse",
    "thread/items/list": "ThreadItemsListResponse",
    "thread/revert": "ThreadRevertResponse",
    "thread/compact/start": "ThreadCompactStartResponse",
    "thread/fork": "ThreadForkResponse",
    "thread/unsubscribe": "ThreadUnsubscribeResponse",
    "turn/start": "TurnStartResponse",
    "turn/steer": "TurnSteerResponse",
    "turn/interrupt": "TurnInterruptResponse",
    "account/read": "GetAccountResponse",
    "account/login/start": "LoginAccountResponse",
    "account/login/cancel": "CancelLoginAccountResponse",
    "model/list": "ModelListResponse",
    "account/rateLimits/read": "GetAccountRateLimitsResponse",
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
    assert set(RESULTS) == {method.name for method in METHODS}
    problems = {
        method.name: found
        for method in METHODS
        if (found := missing(schema, method.result, schema.file(RESULTS[method.name])))
    }
    assert problems == {}


def test_every_notification_that_we_do_without_exists(schema: Schema) -> None:
    assert set(UNHEARD) <= set(schema.methods("ServerNotification"))


def test_every_notification_field_and_enum_value_that_we_read_exists(schema: Schema) -> None:
    known = schema.methods("ServerNotification")
    assert set(NOTIFICATIONS) <= set(known)
    problems = {name: found for name, model in NOTIFICATIONS.items() if (found := missing(schema, model, known[name]))}
    assert problems == {}


def test_every_kind_of_failure_exists_and_has_a_class(schema: Schema) -> None:
    """One that a version brings along and that has no class fails here."""
    kinds = schema.file("CodexErrorInfo")
    known = schema.words(kinds) | schema.members(kinds)
    assert set(turn_errors.KINDS) - known in (set(), turn_errors.LATER)
    assert known - set(turn_errors.KINDS) == set()


def test_the_limits_of_the_account_are_told_as_they_are_asked_for(schema: Schema) -> None:
    told = schema.methods("ServerNotification")[LIMITS_TOLD]
    assert missing(schema, besides.LimitsTold, told) == []


def test_the_status_of_a_failed_connection_is_where_we_look_for_it(schema: Schema) -> None:
    carrying = [
        (kind, name)
        for shape in schema.shapes(schema.file("CodexErrorInfo"))
        for kind in schema.members(shape)
        for name in schema.members(schema.member(shape, kind))
        if "status" in name.lower()
    ]
    assert {kind for kind, _ in carrying} == {
        "httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected",
        "responseTooManyFailedAttempts",
    }  # fmt: skip
    for kind, name in carrying:
        error = TurnError.model_validate({"codexErrorInfo": {kind: {name: 402}}})
        assert turn_errors.kind_of(error).sentence == "The model provider asks for payment.", kind


def test_every_item_that_tells_of_subagents_exists(schema: Schema) -> None:
    assert set(schema.variants(schema.file("ThreadItem"))) >= CHILDREN


def test_every_setting_that_we_give_a_server_or_a_thread_exists(codex: CodexBinary, state: Path) -> None:
    """Codex passes over a setting that it does not know, unless it is told to be strict."""
    provider = Provider("lab", "Lab", "http://127.0.0.1:9/v1", "LAB_TOKEN", "t", request_retries=0, stream_retries=0)
    launch = Launch(codex, own_home(state, "main"), provider)
    rules = Layer(LayerName.AGENTS, "AGENTS.md", Lifetime.THREAD, Trust.OWNER, "the rules")
    for_threads = thread_config(plan(Composition((rules,), ())), ThreadSettings(subagents=False)) | dict(OWN_PLAN)
    of_threads = tuple((name, json.dumps(value)) for name, value in for_threads.items())
    private_dir(launch.home.path)

    def complaint(*overrides: tuple[str, str]) -> str:
        command = [*replace(launch, overrides=(*of_threads, *overrides)).command(), "--strict-config"]
        environment = {"CODEX_HOME": str(launch.home.path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(command, input="", capture_output=True, text=True, timeout=60, env=environment)
        return next((line for line in done.stderr.splitlines() if line.startswith("Error: ")), "")

    assert complaint(("features.pluginz", "false")) == (
        "Error: unknown configuration field `features.pluginz` in -c/--config override"
    )
    assert complaint() == ""


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
        request = Requested(0, method, {})
        try:
            if asks_a_person(request):
                refusal(request, None, "nobody could be asked.")
            else:
                plain(request, lambda: 0.0)
        except RefusalError:
            refused.add(method)
    # These ask for credentials that only the vendor's own clients have.
    assert refused <= {"account/chatgptAuthTokens/refresh", "attestation/generate", "item/tool/call", CURRENT_TIME}
