"""What we send is checked to the letter; what we receive is taken as far as it is understood, and never raises."""

from typing import Literal, cast, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codex_bridge import account, ledger, messages, work
from codex_bridge.cli import login
from codex_bridge.rpc import Json, JsonObject, Notified
from codex_bridge.wire import besides
from codex_bridge.wire.base import Known, Received, Sent, Variant
from codex_bridge.wire.besides import LoginParams
from codex_bridge.wire.items import (
    ITEMS,
    AgentMessageItem,
    CommandAction,
    CommandItem,
    DynamicToolItem,
    FileChangeItem,
    FileUpdate,
    McpToolItem,
    PatchKind,
    UnknownItem,
    read_item,
)
from codex_bridge.wire.notifications import (
    DELTAS,
    NOTIFICATIONS,
    Delta,
    ItemCompleted,
    ItemStarted,
    ModelRerouted,
    PlanUpdated,
    RequestResolved,
    Stream,
    TokenUsageUpdated,
    TurnEnded,
    TurnFailing,
    Unread,
    Warned,
    Wire,
    read,
)
from codex_bridge.wire.requests import (
    METHODS,
    Account,
    Capabilities,
    ClientInfo,
    CollaborationMode,
    CollaborationSettings,
    ContextEntry,
    ImageInput,
    InitializeParams,
    TextInput,
    ThreadResumeParams,
    ThreadStartParams,
    Turn,
    TurnStartParams,
    TurnSteerParams,
)
from tests.support.values import json_values
from tests.support.words import words_compared

THREAD: JsonObject = {"threadId": "thr_1"}
TURN: JsonObject = {"threadId": "thr_1", "turnId": "turn_1"}


def content_of(value: object) -> object:
    """What a received value holds besides its defaults."""
    if isinstance(value, tuple):
        return tuple(map(content_of, cast("tuple[object, ...]", value)))
    if not isinstance(value, Received):
        return value
    fields = type(value).model_fields
    return {name: content_of(each) for name, each in value if each != fields[name].default}


def told(method: str, params: JsonObject) -> Wire:
    return read(Notified(method, params))


# what we send


def test_a_turn_start_says_what_was_given_and_nothing_else() -> None:
    params = TurnStartParams(
        thread_id="thr_1",
        input=[TextInput(text="hi"), ImageInput(url="data:image/png;base64,AA==")],
        client_user_message_id="telegram:7:1",
        additional_context={"sender": ContextEntry(kind="untrusted", value="Orrin")},
        collaboration_mode=CollaborationMode(
            mode="default", settings=CollaborationSettings(model="gpt-5.5", developer_instructions="Be dry.")
        ),
        personality="none",
    )
    assert params.to_wire() == {
        "threadId": "thr_1",
        "input": [{"type": "text", "text": "hi"}, {"type": "image", "url": "data:image/png;base64,AA=="}],
        "clientUserMessageId": "telegram:7:1",
        "additionalContext": {"sender": {"kind": "untrusted", "value": "Orrin"}},
        "collaborationMode": {
            "mode": "default",
            "settings": {"model": "gpt-5.5", "developer_instructions": "Be dry."},
        },
        "personality": "none",
    }


def test_an_instruction_of_none_that_was_given_is_sent_as_null() -> None:
    """Null makes Codex send its own text of the mode; leaving the member out would keep the last one."""
    settings = CollaborationSettings(model="m", reasoning_effort=None, developer_instructions=None)
    assert settings.to_wire() == {"model": "m", "reasoning_effort": None, "developer_instructions": None}
    assert CollaborationSettings(model="m").to_wire() == {"model": "m"}


def test_what_always_holds_is_sent_without_being_named() -> None:
    assert ThreadResumeParams(thread_id="thr_1").to_wire() == {"threadId": "thr_1", "excludeTurns": True}
    assert TurnSteerParams(thread_id="t", input=[TextInput(text="x")], expected_turn_id="u").to_wire() == {
        "threadId": "t",
        "input": [{"type": "text", "text": "x"}],
        "expectedTurnId": "u",
    }


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (ThreadStartParams, {"developer_instruction": "misspelt"}),
        (ThreadStartParams, {"sandbox": "workspaceWrite"}),
        (ThreadStartParams, {"approval_policy": "on-failure"}),
        (ThreadStartParams, {"cwd": 5}),
        (ThreadResumeParams, {"thread_id": "t", "exclude_turns": False}),
        (TurnStartParams, {"thread_id": "t"}),
        (TurnStartParams, {"thread_id": "t", "input": [{"type": "text", "text": 5}]}),
        (ContextEntry, {"kind": "trusted", "value": ""}),
        (ClientInfo, {"name": "x"}),
    ],
)
def test_a_request_of_ours_with_a_mistake_is_refused_before_it_is_sent(
    model: type[ThreadStartParams], fields: dict[str, object]
) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(fields)


def test_an_api_key_does_not_show() -> None:
    params = LoginParams(type="apiKey", api_key="sk-proj-4f9Q2mZr71XcVbNa")
    assert params.to_wire() == {"type": "apiKey", "apiKey": "sk-proj-4f9Q2mZr71XcVbNa"}
    assert "sk-" not in repr(params)


def test_each_method_is_listed_once() -> None:
    names = [method.name for method in (*METHODS, *besides.METHODS)]
    assert len(set(names)) == len(names)
    params = InitializeParams(
        client_info=ClientInfo(name="n", version="1"), capabilities=Capabilities(experimental_api=True)
    )
    assert params.to_wire() == {
        "clientInfo": {"name": "n", "version": "1"},
        "capabilities": {"experimentalApi": True},
    }


# notifications


@pytest.mark.parametrize(("method", "stream"), DELTAS.items())
def test_a_delta_is_four_strings(method: str, stream: Stream) -> None:
    delta = told(method, TURN | {"itemId": "msg", "delta": "Let ", "summaryIndex": 0})
    assert delta == Delta("thr_1", "turn_1", "msg", stream, "Let ")


@pytest.mark.parametrize("missing", ["threadId", "turnId", "itemId", "delta"])
@pytest.mark.parametrize("instead", [None, 5, {}, ["x"]])
def test_a_delta_without_one_of_them_is_unread(missing: str, instead: Json) -> None:
    params: JsonObject = TURN | {"itemId": "msg", "delta": "Let "} | {missing: instead}
    assert told("item/agentMessage/delta", params) == Unread("item/agentMessage/delta", params)
    del params[missing]
    assert told("item/agentMessage/delta", params) == Unread("item/agentMessage/delta", params)


COUNT: JsonObject = {"totalTokens": 12, "inputTokens": 10, "cachedInputTokens": 4, "outputTokens": 2}
COUNTED = {"total_tokens": 12, "input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}
FAILED: JsonObject = {"id": "turn_1", "status": "failed", "items": [], "error": {"message": "m"}, "new": 1}
SAID: JsonObject = {"type": "agentMessage", "id": "msg", "text": "hi", "phase": None, "moderation": {}}
RETRYING: JsonObject = {"message": "Reconnecting... 1/5", "codexErrorInfo": {"new": 5}}
PLAN: JsonObject = {"explanation": None, "plan": [{"step": "look", "status": "dreamt"}]}
OURS = {"thread_id": "thr_1", "turn_id": "turn_1"}


@pytest.mark.parametrize(
    ("method", "params", "kind", "content"),
    [
        (
            "turn/completed",
            THREAD | {"turn": FAILED},
            TurnEnded,
            {"thread_id": "thr_1", "turn": {"id": "turn_1", "status": "failed", "error": {"message": "m"}}},
        ),
        (
            "item/completed",
            TURN | {"completedAtMs": 5, "item": SAID},
            ItemCompleted,
            OURS | {"item": {"id": "msg", "text": "hi"}},
        ),
        (
            "item/started",
            TURN | {"item": {"type": "hologram", "id": "h1", "beams": 7}},
            ItemStarted,
            OURS | {"item": {"id": "h1", "type": "hologram"}},
        ),
        (
            "error",
            TURN | {"error": RETRYING, "willRetry": True},
            TurnFailing,
            OURS | {"error": {"message": "Reconnecting... 1/5", "codex_error_info": {"new": 5}}, "will_retry": True},
        ),
        (
            "thread/tokenUsage/updated",
            TURN | {"tokenUsage": {"last": COUNT, "total": COUNT, "modelContextWindow": None}},
            TokenUsageUpdated,
            OURS | {"token_usage": {"last": COUNTED, "total": COUNTED}},
        ),
        ("turn/plan/updated", TURN | PLAN, PlanUpdated, OURS | {"plan": ({"step": "look", "status": "dreamt"},)}),
        ("warning", {"message": "m", "threadId": None}, Warned, {"message": "m"}),
        (
            "model/rerouted",
            TURN | {"fromModel": "a", "toModel": "b", "reason": "new"},
            ModelRerouted,
            OURS | {"from_model": "a", "to_model": "b"},
        ),
        (
            "serverRequest/resolved",
            THREAD | {"requestId": 0},
            RequestResolved,
            {"thread_id": "thr_1", "request_id": 0},
        ),
        (
            "serverRequest/resolved",
            THREAD | {"requestId": "0"},
            RequestResolved,
            {"thread_id": "thr_1", "request_id": "0"},
        ),
    ],
)
def test_a_notification_is_read_as_far_as_we_know_it(
    method: str, params: JsonObject, kind: type[Received], content: object
) -> None:
    wire = told(method, params)
    assert isinstance(wire, kind)
    assert content_of(wire) == content


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("thread/dreamt", {"a": 1}),
        ("", {}),
        ("turn/completed", {}),
        ("turn/completed", {"threadId": "thr_1", "turn": None}),
        ("item/completed", {"threadId": "thr_1", "item": {"type": "agentMessage", "id": "m", "text": "t"}}),
        ("thread/tokenUsage/updated", {"threadId": "thr_1", "turnId": "turn_1", "tokenUsage": {"last": 5}}),
        ("warning", {"message": None}),
    ],
)
def test_what_is_not_understood_is_kept_as_it_came(method: str, params: JsonObject) -> None:
    assert told(method, params) == Unread(method, params)


def test_a_delta_method_has_no_model_and_the_other_way_round() -> None:
    assert not DELTAS.keys() & NOTIFICATIONS.keys()


# items


COMMAND: JsonObject = {
    "type": "commandExecution",
    "id": "c",
    "command": "ls",
    "cwd": "/w",
    "status": "completed",
    "commandActions": [{"type": "listFiles", "path": None}, {"type": "new"}],
    "exitCode": 0,
    "durationMs": 3,
    "aggregatedOutput": "x",
    "source": "agent",
}
ADDED: JsonObject = {"path": "a", "kind": {"type": "add", "new": 1}, "diff": "+"}


@pytest.mark.parametrize(
    ("raw", "kind", "content"),
    [
        (
            COMMAND,
            CommandItem,
            {
                "id": "c",
                "command": "ls",
                "cwd": "/w",
                "status": "completed",
                "command_actions": ({"type": "listFiles"}, {"type": "new"}),
                "exit_code": 0,
                "duration_ms": 3,
                "aggregated_output": "x",
            },
        ),
        (
            {"type": "fileChange", "id": "f", "changes": [ADDED], "status": "paused"},
            FileChangeItem,
            {"id": "f", "changes": ({"path": "a", "kind": {"type": "add"}, "diff": "+"},), "status": "paused"},
        ),
        (
            {"type": "mcpToolCall", "id": "m", "server": "crm", "tool": "find", "arguments": [1, None]},
            McpToolItem,
            {"id": "m", "server": "crm", "tool": "find", "arguments": [1, None]},
        ),
        (
            {"type": "dynamicToolCall", "id": "d", "tool": "send", "namespace": "chat", "success": None},
            DynamicToolItem,
            {"id": "d", "tool": "send", "namespace": "chat"},
        ),
        ({"type": "agentMessage", "id": "m", "text": ""}, AgentMessageItem, {"id": "m", "text": ""}),
        ({"type": "hologram", "id": "h"}, UnknownItem, {"type": "hologram", "id": "h"}),
        ({"type": "agentMessage", "id": "m", "text": None}, UnknownItem, {"type": "agentMessage", "id": "m"}),
        ({"type": ["x"], "id": 5}, UnknownItem, {}),
        (["x"], UnknownItem, {}),
        ("text", UnknownItem, {}),
        (None, UnknownItem, {}),
    ],
)
def test_an_item_is_read_as_far_as_we_know_it(raw: object, kind: type[Received], content: object) -> None:
    item = read_item(raw)
    assert isinstance(item, kind)
    assert content_of(item) == content


# words that we act on


def known_words(annotation: object) -> set[str]:
    """The values that a field of ours names; those are compared with the binary's schema."""
    return {value for note in get_args(annotation) if isinstance(note, Known) for value in note.values}


def test_every_word_that_the_ledger_looks_for_is_one_that_the_models_name() -> None:
    models = [*ITEMS.values(), FileUpdate, PatchKind, Turn]
    hints = [hint for model in models for hint in get_type_hints(model, include_extras=True).values()]
    named = {word for hint in hints for word in known_words(hint)}
    words = {word for module in (ledger, account, messages, work) for word in words_compared(module)}
    assert words == {"commentary", "final_answer", "declined", "completed", "interrupted", "failed"}
    assert words - named == set()


def test_every_kind_that_has_a_word_of_ours_is_one_that_the_models_name() -> None:
    actions, accounts = (get_type_hints(model, include_extras=True)["type"] for model in (CommandAction, Account))
    assert set(work.ACTIONS) - known_words(actions) == set()
    assert set(login.KINDS) == known_words(accounts)


# anything at all

MEMBERS = st.sampled_from(
    [
        *("threadId", "turnId", "itemId", "delta", "turn", "item", "items", "id", "type", "text", "status", "error"),
        *("message", "tokenUsage", "last", "total", "plan", "step", "requestId", "thread", "changes", "kind", "new"),
    ]
)
WORDS = st.sampled_from([*ITEMS, "completed", "idle", "x", ""]) | st.text(max_size=4)
VALUES = json_values(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS, MEMBERS, most=4)


@given(
    method=st.sampled_from([*DELTAS, *NOTIFICATIONS, "thread/dreamt"]) | st.text(max_size=12),
    params=st.dictionaries(MEMBERS, VALUES, max_size=6),
)
def test_no_notification_raises_whatever_it_holds(method: str, params: JsonObject) -> None:
    wire = told(method, params)
    if isinstance(wire, Unread):
        assert wire == Unread(method, params)
    else:
        assert method in DELTAS or isinstance(wire, NOTIFICATIONS[method])


@given(VALUES | st.dictionaries(MEMBERS, VALUES, max_size=6))
def test_no_item_raises_whatever_it_holds(raw: Json) -> None:
    item = read_item(raw)
    if isinstance(raw, dict) and isinstance(item, UnknownItem):
        assert (item.id, item.type) == (text_or_nothing(raw.get("id")), text_or_nothing(raw.get("type")))


def text_or_nothing(value: Json) -> str:
    return value if isinstance(value, str) else ""


def test_a_field_that_always_holds_the_same_cannot_be_left_unsent_by_mistake() -> None:
    with pytest.raises(TypeError, match="Picture would not send type; derive it from Variant"):

        class Picture(Sent):  # pyright: ignore[reportUnusedClass] - defining it is the mistake
            type: Literal["picture"] = "picture"

    class Drawing(Variant):
        type: Literal["drawing"] = "drawing"

    assert Drawing().to_wire() == {"type": "drawing"}
