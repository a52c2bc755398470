"""Both ends agree on who asked what; nothing that comes in can break a peer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.rpc import (
    Answered,
    Json,
    JsonObject,
    Junk,
    LocalProtocolError,
    Notified,
    Peer,
    Refused,
    Requested,
    RequestId,
    Stray,
    encode,
)
from tests.support.values import json_values


def sent(peer: Peer) -> list[JsonObject]:
    return [json.loads(message) for message in peer.outgoing()]


def received(peer: Peer, message: Json) -> object:
    return peer.receive(encode(message))


def pass_on(sender: Peer, receiver: Peer) -> list[object]:
    return [receiver.receive(message) for message in sender.outgoing()]


def test_two_peers_ask_each_other_under_ids_of_their_own() -> None:
    client, server = Peer(), Peer(first_id=0)
    client.call("turn/start", {"threadId": "thr_1"})
    server.call("item/tool/call", {"tool": "message"})

    (asked,) = pass_on(client, server)
    (called,) = pass_on(server, client)
    assert asked == Requested(1, "turn/start", {"threadId": "thr_1"})
    assert called == Requested(0, "item/tool/call", {"tool": "message"})
    assert isinstance(asked, Requested)
    assert isinstance(called, Requested)

    server.answer(asked, {"turn": {"id": "turn_1"}})
    client.refuse(called, -32601, "no such tool", {"tool": "message"})
    assert pass_on(server, client) == [Answered(1, "turn/start", {"turn": {"id": "turn_1"}})]
    assert pass_on(client, server) == [Refused(0, "item/tool/call", -32601, "no such tool", {"tool": "message"})]
    assert (dict(client.open_requests), dict(server.open_requests)) == ({}, {})


def test_messages_have_the_form_that_the_app_server_reads() -> None:
    """No `jsonrpc` member; `params` always on a request (protocol reference, 1.1 and gotcha 12)."""
    peer = Peer()
    peer.call("thread/start", {})
    peer.notify("initialized")
    peer.notify("initialized", {"a": 1})
    for id_ in (0, "0"):
        request = received(peer, {"id": id_, "method": "currentTime/read"})
        assert isinstance(request, Requested)
        peer.answer(request, None)
    for id_ in (-5, ""):
        request = received(peer, {"id": id_, "method": "x"})
        assert isinstance(request, Requested)
        peer.refuse(request, -32601, "no")

    assert sent(peer) == [
        {"id": 1, "method": "thread/start", "params": {}},
        {"method": "initialized"},
        {"method": "initialized", "params": {"a": 1}},
        {"id": 0, "result": None},
        {"id": "0", "result": None},
        {"id": -5, "error": {"code": -32601, "message": "no"}},
        {"id": "", "error": {"code": -32601, "message": "no"}},
    ]
    assert sent(peer) == []


@pytest.mark.parametrize("order", [[1, 2, 3], [3, 2, 1], [2, 1, 3]])
def test_answers_find_their_requests_in_any_order(order: list[int]) -> None:
    peer = Peer()
    for number in (1, 2, 3):
        peer.call(f"method {number}", {})
    answers = [received(peer, {"result": f"result {id_}", "id": id_}) for id_ in order]
    assert answers == [Answered(id_, f"method {id_}", f"result {id_}") for id_ in order]


def test_members_that_are_not_known_are_passed_over() -> None:
    peer = Peer()
    peer.call("x", {})
    notification: Json = {
        "emittedAtMs": 1,
        "jsonrpc": "2.0",
        "method": "warning",
        "params": {"message": "m"},
        "new": [],
    }
    assert received(peer, notification) == Notified("warning", {"message": "m"})
    assert received(peer, {"id": 4, "method": "y", "params": None, "trace": {"traceparent": "00"}}) == Requested(
        4, "y", {}
    )
    assert received(peer, {"id": 1, "result": [], "emittedAtMs": 2}) == Answered(1, "x", [])


@pytest.mark.parametrize("result", [None, False, 0, "", [], {}])
def test_an_empty_result_is_an_answer(result: Json) -> None:
    peer = Peer()
    peer.call("x", {})
    assert received(peer, {"id": 1, "result": result}) == Answered(1, "x", result)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": -32001, "message": "busy"}, Refused(1, "x", -32001, "busy")),
        ({"code": -1, "message": "m", "data": {"a": 1}}, Refused(1, "x", -1, "m", {"a": 1})),
        ({}, Refused(1, "x", 0, "no message")),
        ({"code": "odd", "message": 5}, Refused(1, "x", 0, "no message")),
        ("plain", Refused(1, "x", 0, "the error is not an object", "plain")),
    ],
)
def test_any_error_answer_is_a_refusal(error: Json, expected: Refused) -> None:
    peer = Peer()
    peer.call("x", {})
    assert received(peer, {"error": error, "id": 1}) == expected


ODD_IDS: list[Json] = [0, 2, -1, "1", 1.0, True, None, [], {}, 2**70]


@pytest.mark.parametrize("odd", ODD_IDS)
def test_an_answer_under_another_id_or_type_is_a_stray_and_the_request_stays_open(odd: Json) -> None:
    peer = Peer()
    peer.call("x", {})
    message = f'{{"id":{json.dumps(odd)},"result":{{}}}}'.encode()
    stray = peer.receive(message)
    assert isinstance(stray, Stray)
    assert not stray.abandoned
    assert dict(peer.open_requests) == {1: "x"}
    assert received(peer, {"id": 1, "result": {}}) == Answered(1, "x", {})


def test_a_second_answer_is_a_stray() -> None:
    peer = Peer()
    peer.call("x", {})
    assert received(peer, {"id": 1, "result": 1}) == Answered(1, "x", 1)
    assert received(peer, {"id": 1, "result": 2}) == Stray(1, abandoned=False)


def test_the_late_answer_to_a_request_given_up_is_an_abandoned_stray_once() -> None:
    peer = Peer()
    request_id = peer.call("x", {})
    peer.give_up(request_id)
    peer.give_up(request_id)
    peer.give_up("never used")

    assert dict(peer.open_requests) == {}
    assert received(peer, {"id": request_id, "result": {}}) == Stray(request_id, abandoned=True)
    assert received(peer, {"id": request_id, "error": {}}) == Stray(request_id, abandoned=False)


def test_requests_given_up_are_not_remembered_for_ever() -> None:
    peer = Peer()
    ids = [peer.call("x", {}) for _ in range(5_000)]
    for request_id in ids:
        peer.give_up(request_id)
    late = [received(peer, {"id": request_id, "result": {}}) for request_id in ids]
    assert sum(isinstance(event, Stray) and event.abandoned for event in late) == 1024
    assert late[-1] == Stray(5_000, abandoned=True)


def test_answering_twice_is_an_error_of_ours_and_sends_nothing() -> None:
    peer = Peer()
    request = received(peer, {"id": 0, "method": "x"})
    assert isinstance(request, Requested)
    peer.answer(request, {})
    for again in (lambda: peer.answer(request, {}), lambda: peer.refuse(request, -1, "no")):
        with pytest.raises(LocalProtocolError, match=r"request 0 \(x\) was answered already"):
            again()
    assert sent(peer) == [{"id": 0, "result": {}}]


def test_an_id_may_be_used_again_after_its_answer() -> None:
    peer = Peer()
    for _ in range(2):
        request = received(peer, {"id": 0, "method": "x"})
        assert isinstance(request, Requested)
        peer.answer(request, {})
    assert sent(peer) == [{"id": 0, "result": {}}] * 2


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"SUCCESS: process 4711 ended", "not JSON"),
        (b'{"method":"x", broken', "not JSON"),
        (b'{"method":"\xff"}', "not JSON"),
        (b"[]", "not a JSON object"),
        (b'[{"method":"x"}]', "not a JSON object"),
        (b"17", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "neither a method nor an answer"),
        (b'{"id":1}', "neither a method nor an answer"),
        (b'{"method":5}', "its method is not a string"),
        (b'{"method":"x","params":[1]}', "its params are not an object"),
        (b'{"method":"x","id":1,"params":"p"}', "its params are not an object"),
        (b'{"method":"x","id":null}', "its id is neither a string nor an integer"),
        (b'{"method":"x","id":1.5}', "its id is neither a string nor an integer"),
        (b'{"method":"x","id":true}', "its id is neither a string nor an integer"),
    ],
)
def test_what_is_no_message_is_junk_known_by_its_size_alone(data: bytes, reason: str) -> None:
    assert Peer().receive(data) == Junk(reason, len(data))


MEMBERS = st.sampled_from(["id", "method", "params", "result", "error", "code", "message", "x"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([0, 1, 2, "1"])
ANYTHING = json_values(LEAVES, MEMBERS, most=4)


@given(st.lists(ANYTHING.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=30), max_size=10))
def test_nothing_that_comes_in_breaks_a_peer(messages: list[bytes]) -> None:
    peer = Peer(first_id=0)
    open_ids: set[RequestId] = {peer.call("x", {}), peer.call("y", {})}
    for message in messages:
        event = peer.receive(message)
        if isinstance(event, Answered | Refused):
            open_ids.remove(event.id)
        assert set(peer.open_requests) == open_ids
