"""The stand-in spoken to over HTTP as Codex does."""

import json
from collections.abc import Mapping
from contextlib import suppress

import anyio
import h11
import pytest

from codex_bridge.loopback.model import LoopbackModel, loopback_model
from codex_bridge.loopback.script import (
    BeginSaying,
    BreakOff,
    CallTool,
    FailResponse,
    HttpError,
    Pause,
    Reply,
    Say,
    Script,
    Think,
    Usage,
    Wait,
    always,
    in_turn,
    say,
)

BODY = {"model": "gpt-5.5", "input": [{"type": "message", "role": "user", "content": "hi"}], "stream": True}


async def post(
    model: LoopbackModel, *, token: str | None = None, path: str = "/v1/responses", body: bytes | None = None,
    headers: Mapping[str, str] | None = None, method: str = "POST",
) -> tuple[int, bytes]:  # fmt: skip
    """One request on a connection of its own: status and body, as far as it came."""
    data = json.dumps(BODY).encode() if body is None else body
    connection = h11.Connection(h11.CLIENT)
    sent = [
        ("host", "127.0.0.1"),
        ("content-length", str(len(data))),
        ("authorization", f"Bearer {model.token if token is None else token}"),
        *(headers or {}).items(),
    ]
    status, received = 0, b""
    with anyio.fail_after(5):
        async with await anyio.connect_tcp("127.0.0.1", model.port) as stream:
            for event in (h11.Request(method=method, target=path, headers=sent), h11.Data(data), h11.EndOfMessage()):
                await stream.send(connection.send(event) or b"")
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    try:
                        connection.receive_data(await stream.receive())
                    except anyio.EndOfStream:
                        return status, received
                elif isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    received += bytes(event.data)
                else:
                    return status, received


def events(body: bytes) -> list[dict[str, object]]:
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]


async def played(script: Script) -> list[dict[str, object]]:
    async with loopback_model(script) as model:
        status, body = await post(model)
    assert status == 200
    return events(body)


async def test_a_message_is_streamed_in_as_many_pieces_as_asked_for() -> None:
    seen = await played(always(say("abcdefg", pieces=3, phase="final_answer")))
    assert [event.get("delta") for event in seen if event["type"] == "response.output_text.delta"] == [
        "ab",
        "cd",
        "efg",
    ]
    assert [event["type"] for event in seen] == [
        "response.created",
        "response.output_item.added",
        *["response.output_text.delta"] * 3,
        "response.output_item.done",
        "response.completed",
    ]
    assert seen[-2]["item"] == {
        "type": "message",
        "id": "msg_1_0",
        "role": "assistant",
        "phase": "final_answer",
        "content": [{"type": "output_text", "text": "abcdefg", "annotations": []}],
    }


async def test_all_kinds_of_steps_follow_each_other() -> None:
    steps = (Think("Hm."), CallTool("exec", {"cmd": "ls"}, namespace="shell"), Pause(0.001), Say("Done.", pause=0.001))
    seen = await played(always(Reply(steps, Usage(input=7, cached=3, output=2, reasoning=1))))
    assert [event["item"] for event in seen if event["type"] == "response.output_item.done"] == [
        {"type": "reasoning", "id": "rs_1_0", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {
            "type": "function_call",
            "id": "fc_1_1",
            "call_id": "call_1",
            "name": "exec",
            "arguments": '{"cmd": "ls"}',
            "namespace": "shell",
        },
        {
            "type": "message",
            "id": "msg_1_3",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
        },
    ]
    assert seen[-1] == {
        "type": "response.completed",
        "response": {
            "id": "resp_1",
            "usage": {
                "input_tokens": 7,
                "input_tokens_details": {"cached_tokens": 3},
                "output_tokens": 2,
                "output_tokens_details": {"reasoning_tokens": 1},
                "total_tokens": 9,
            },
        },
    }


async def test_a_broken_stream_has_no_end() -> None:
    seen = await played(always(Reply((BeginSaying("Half"), BreakOff()))))
    assert [event["type"] for event in seen][-1] == "response.output_text.delta"


async def test_a_failed_response_says_why() -> None:
    seen = await played(always(Reply((FailResponse("slow_down", "try again in 1.5s"),))))
    assert seen[-1] == {
        "type": "response.failed",
        "response": {
            "id": "resp_1",
            "status": "failed",
            "error": {"code": "slow_down", "message": "try again in 1.5s"},
        },
    }


async def test_an_http_error_comes_with_its_headers_and_body() -> None:
    action = HttpError(429, {"error": {"message": "slow down"}}, (("retry-after", "3"),))
    async with loopback_model(always(action)) as model:
        assert await post(model) == (429, b'{"error":{"message":"slow down"}}')


async def test_a_script_that_is_used_up_says_so() -> None:
    async with loopback_model(in_turn([say("one")])) as model:
        await post(model)
        status, body = await post(model)
    assert (status, json.loads(body)["error"]["message"]) == (400, "the loopback script has nothing for request 2")


async def test_whoever_does_not_know_the_token_is_refused_and_not_recorded() -> None:
    async with loopback_model(always(say("never"))) as model:
        status, _ = await post(model, token="wrong")
        assert (status, model.requests) == (401, [])


HOST = b"Host: 127.0.0.1\r\n"
REFUSED = "HTTP/1.1 401 "
REFUSAL = '{"error":{"message":"the token of this run is missing or wrong"}}'


@pytest.mark.parametrize(
    ("request_", "status", "body"),
    [
        (b"HEAD / HTTP/1.1\r\n" + HOST, REFUSED, ""),
        (b"CONNECT elsewhere.example:1 HTTP/1.1\r\n" + HOST, REFUSED, REFUSAL),
        (b"GET / HTTP/1.0\r\n", REFUSED, REFUSAL),
        (b"HEAD / HTTP/1.1\r\n", "", ""),
        (b"GET / HTTP/2.0\r\n" + HOST, REFUSED, REFUSAL),
        (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n" + HOST, "", ""),
        (b"\x16\x03\x01\x02", "", ""),
    ],
)
async def test_whoever_comes_without_the_token_ends_its_own_connection_at_most(
    request_: bytes, status: str, body: str
) -> None:
    async with loopback_model(always(say("hi"))) as model:
        told = b""
        with anyio.fail_after(5):
            async with await anyio.connect_tcp("127.0.0.1", model.port) as stream:
                await stream.send(request_ + b"\r\n")
                await stream.send_eof()
                with suppress(anyio.EndOfStream):
                    while True:
                        told += await stream.receive()
        head, _, rest = told.decode().partition("\r\n\r\n")
        assert (head.partition("\r\n")[0], rest) == (status, body)
        assert (await post(model))[0] == 200


async def test_a_connection_goes_on_after_an_answer_without_a_body() -> None:
    async with loopback_model(always(say("hi"))) as model:
        with anyio.fail_after(5):
            async with await anyio.connect_tcp("127.0.0.1", model.port) as stream:
                for _ in range(2):
                    await stream.send(b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n")
                    told = b""
                    while not told.endswith(b"\r\n\r\n"):
                        told += await stream.receive()
                    assert told.startswith(REFUSED.encode())


async def test_an_answer_that_cannot_be_sent_ends_its_own_connection_alone() -> None:
    actions = [HttpError(429, {}, (("retry-after", "3\n"),)), say("hi")]
    async with loopback_model(in_turn(actions)) as model:
        assert await post(model) == (0, b"")
        assert (await post(model))[0] == 200


async def test_nobody_but_this_machine_can_reach_it() -> None:
    async with loopback_model(always(say("never"))) as model:
        # The whole of 127.0.0.0/8 is this machine; what listens on every address would answer here too.
        with anyio.fail_after(5), pytest.raises(OSError, match=r"onnect"):
            await anyio.connect_tcp("127.0.0.2", model.port)


@pytest.mark.parametrize(
    ("path", "method", "body", "status"),
    [
        ("/v1/elsewhere", "POST", None, 404),
        ("/v1/responses", "GET", b"", 404),
        ("/v1/responses", "POST", b"{", 400),
        ("/v1/responses", "POST", b"[]", 400),
        ("/v1/models?client_version=1", "GET", b"", 200),
        ("/v1/responses", "HEAD", b"", 404),
    ],
)
async def test_anything_but_a_model_request_is_answered_and_not_recorded(
    path: str, method: str, body: bytes | None, status: int
) -> None:
    async with loopback_model(always(say("never"))) as model:
        assert (await post(model, path=path, method=method, body=body))[0] == status
        assert model.requests == []


async def test_a_request_is_recorded_whole_without_credentials() -> None:
    headers = {"Cookie": "session=secret", "ChatGPT-Account-Id": "acct-1", "originator": "bridge"}
    async with loopback_model(always(say("hi"))) as model:
        await post(model, headers=headers)
        recorded = await model.next_request()
    assert recorded.body == BODY
    assert dict(recorded.headers) == {
        "host": "127.0.0.1",
        "content-length": str(len(json.dumps(BODY))),
        "authorization": "***",
        "cookie": "***",
        "chatgpt-account-id": "***",
        "originator": "bridge",
    }
    assert [(part.item, part.part, part.kind, part.role, part.text) for part in recorded.parts()] == [
        (0, 0, "message", "user", "hi")
    ]
    assert model.token not in repr(model)
    assert model.token not in repr(model.provider)


async def test_a_stalled_stream_goes_on_when_it_is_let_go() -> None:
    release = anyio.Event()
    statuses: list[tuple[int, bytes]] = []
    async with loopback_model(always(Reply((BeginSaying("One"), Wait(release), Say("Two"))))) as model:

        async def ask() -> None:
            statuses.append(await post(model))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await model.next_request()
            release.set()
    assert events(statuses[0][1])[-1]["type"] == "response.completed"


async def test_a_client_that_hangs_up_on_a_stalled_stream_leaves_the_stand_in_at_work() -> None:
    actions = [Reply((BeginSaying("One"), Wait(anyio.Event()))), say("Two")]
    async with loopback_model(in_turn(actions)) as model:
        with anyio.move_on_after(0.1):
            await post(model)
        status, _ = await post(model)
    assert (status, len(model.requests)) == (200, 2)
