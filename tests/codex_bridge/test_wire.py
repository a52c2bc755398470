"""What we send is checked to the letter; what we receive is taken as far as it is understood, and never raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codex_bridge.rpc import Json, JsonObject, Notified
from codex_bridge.wire.items import (
    ITEMS,
    AgentMessageItem,
    CommandAction,
    CommandItem,
    DynamicToolItem,
    FileChangeItem,
    FileUpdate,
    ItemValue,
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
    PlanStep,
    PlanUpdated,
    RequestResolved,
    Stream,
    ThreadTokenUsage,
    TokenCount,
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
    Capabilities,
    ClientInfo,
    CollaborationMode,
    CollaborationSettings,
    ContextEntry,
    ImageInput,
    InitializeParams,
    LoginParams,
    TextInput,
    ThreadResumeParams,
    ThreadStartParams,
    Turn,
    TurnError,
    TurnStartParams,
    TurnSteerParams,
)

THREAD: JsonObject = {"threadId": "thr_1"}
TURN: JsonObject = {"threadId": "thr_1", "turnId": "turn_1"}


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
    names = [method.name for method in METHODS]
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
    delta = told(method, TURN | {"itemId": "msg", "delta": "Let ", "summaryIndex": 0, "new": [1]})
    assert delta == Delta("thr_1", "turn_1", "msg", stream, "Let ")


@pytest.mark.parametrize("missing", ["threadId", "turnId", "itemId", "delta"])
@pytest.mark.parametrize("instead", [None, 5, {}, ["x"]])
def test_a_delta_without_one_of_them_is_unread(missing: str, instead: Json) -> None:
    params: JsonObject = TURN | {"itemId": "msg", "delta": "Let "} | {missing: instead}
    assert told("item/agentMessage/delta", params) == Unread("item/agentMessage/delta", params)
    del params[missing]
    assert told("item/agentMessage/delta", params) == Unread("item/agentMessage/delta", params)


COUNT: JsonObject = {"totalTokens": 12, "inputTokens": 10, "cachedInputTokens": 4, "outputTokens": 2}


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        (
            "turn/completed",
            THREAD | {"turn": {"id": "turn_1", "status": "failed", "items": [], "error": {"message": "m"}, "new": 1}},
            TurnEnded(threadId="thr_1", turn=Turn(id="turn_1", status="failed", error=TurnError(message="m"))),
        ),
        (
            "item/completed",
            TURN | {"completedAtMs": 5, "item": {"type": "agentMessage", "id": "msg", "text": "hi", "phase": None}},
            ItemCompleted(threadId="thr_1", turnId="turn_1", item=AgentMessageItem(id="msg", text="hi")),
        ),
        (
            "item/started",
            TURN | {"item": {"type": "hologram", "id": "h1", "beams": [1]}},
            ItemStarted(threadId="thr_1", turnId="turn_1", item=UnknownItem(id="h1", type="hologram")),
        ),
        (
            "error",
            TURN | {"error": {"message": "Reconnecting... 1/5", "codexErrorInfo": {"new": {}}}, "willRetry": True},
            TurnFailing(
                threadId="thr_1",
                turnId="turn_1",
                error=TurnError(message="Reconnecting... 1/5", codexErrorInfo={"new": {}}),
                willRetry=True,
            ),
        ),
        (
            "thread/tokenUsage/updated",
            TURN | {"tokenUsage": {"last": COUNT, "total": COUNT, "modelContextWindow": None}},
            TokenUsageUpdated(
                threadId="thr_1",
                turnId="turn_1",
                tokenUsage=ThreadTokenUsage(
                    last=TokenCount.model_validate(COUNT), total=TokenCount.model_validate(COUNT)
                ),
            ),
        ),
        (
            "turn/plan/updated",
            TURN | {"explanation": None, "plan": [{"step": "look", "status": "dreamt"}]},
            PlanUpdated(threadId="thr_1", turnId="turn_1", plan=(PlanStep(step="look", status="dreamt"),)),
        ),
        ("warning", {"message": "m", "threadId": None}, Warned(message="m")),
        (
            "model/rerouted",
            TURN | {"fromModel": "a", "toModel": "b", "reason": {"new": 1}},
            ModelRerouted(threadId="thr_1", turnId="turn_1", fromModel="a", toModel="b"),
        ),
        ("serverRequest/resolved", THREAD | {"requestId": 0}, RequestResolved(threadId="thr_1", requestId=0)),
        ("serverRequest/resolved", THREAD | {"requestId": "0"}, RequestResolved(threadId="thr_1", requestId="0")),
    ],
)
def test_a_notification_is_read_as_far_as_we_know_it(method: str, params: JsonObject, expected: Wire) -> None:
    assert told(method, params) == expected


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


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {
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
            },
            CommandItem(
                id="c",
                command="ls",
                cwd="/w",
                status="completed",
                commandActions=(CommandAction(type="listFiles"), CommandAction(type="new")),
                exitCode=0,
                durationMs=3,
                aggregatedOutput="x",
            ),
        ),
        (
            {"type": "fileChange", "id": "f", "changes": [{"path": "a", "kind": {"type": "add"}, "diff": "+"}]},
            FileChangeItem(id="f", changes=(FileUpdate(path="a", kind=PatchKind(type="add"), diff="+"),)),
        ),
        (
            {"type": "mcpToolCall", "id": "m", "server": "crm", "tool": "find", "arguments": [1, None]},
            McpToolItem(id="m", server="crm", tool="find", arguments=[1, None]),
        ),
        (
            {"type": "dynamicToolCall", "id": "d", "tool": "send", "namespace": "chat", "success": None},
            DynamicToolItem(id="d", tool="send", namespace="chat"),
        ),
        ({"type": "hologram", "id": "h"}, UnknownItem(id="h", type="hologram")),
        ({"type": "agentMessage", "id": "m", "text": None}, UnknownItem(id="m", type="agentMessage")),
        ({"type": ["x"], "id": 5}, UnknownItem()),
        ({}, UnknownItem()),
        ("text", UnknownItem()),
        (None, UnknownItem()),
    ],
)
def test_an_item_is_read_as_far_as_we_know_it(raw: object, expected: ItemValue) -> None:
    assert read_item(raw) == expected


# anything at all

MEMBERS = st.sampled_from(
    [
        *("threadId", "turnId", "itemId", "delta", "turn", "item", "items", "id", "type", "text", "status", "error"),
        *("message", "tokenUsage", "last", "total", "plan", "step", "requestId", "thread", "changes", "kind", "new"),
    ]
)
WORDS = st.sampled_from([*ITEMS, "completed", "idle", "x", ""]) | st.text(max_size=4)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=5),
    max_leaves=12,
)


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
