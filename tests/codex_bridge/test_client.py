"""Every call ends: with its answer, or with an error that says what was being done."""

from collections.abc import Awaitable, Callable
from itertools import count

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.client import (
    CALL_DEADLINE,
    MOST_IN_FLIGHT,
    MOST_RETRIES,
    Client,
    RefusalError,
    connected,
    retry_delay,
)
from codex_bridge.errors import (
    CallTimeoutError,
    ConnectionLostError,
    OverloadedError,
    OversizedMessageError,
    RpcError,
    UnreadableAnswerError,
)
from codex_bridge.rpc import (
    METHOD_NOT_FOUND,
    Answered,
    Event,
    Json,
    JsonObject,
    Junk,
    Notified,
    Refused,
    Requested,
    Stray,
    encode,
)
from codex_bridge.transports.base import Transport
from codex_bridge.transports.memory import memory_pair
from codex_bridge.wire.besides import THREAD_READ, ThreadReadParams
from codex_bridge.wire.requests import TURN_INTERRUPT, TurnInterruptParams
from tests.support.fake_server import Ask, Failure, HangUp, Raw, Result, Step, Tell, by_method
from tests.support.serving import LIMIT, Told, linked, serving

NOTHING: JsonObject = {}
BUSY = Failure(-32001, "Server overloaded; retry later.")
NOBODY = by_method({"silent": (), "echo": lambda request: (Result(dict(request.params)),)})


class Odd:
    """Diagnostics that keep what they hear."""

    def __init__(self) -> None:
        self.all: list[Junk | Stray] = []

    def junk(self, junk: Junk) -> None:
        self.all.append(junk)

    def stray(self, stray: Stray) -> None:
        self.all.append(stray)


def never(_: Notified) -> None:
    raise NotImplementedError


# answers


async def test_a_call_gives_the_typed_result() -> None:
    thread: Json = {"id": "thr_1", "turns": [{"id": "turn_1", "status": "completed", "new": 1}], "new": {}}
    script = by_method({"thread/read": (Result({"thread": thread}),)})
    async with serving(script) as (wire, server), connected(wire) as client:
        read = await client.call(THREAD_READ, ThreadReadParams(thread_id="thr_1", include_turns=True))

    assert (read.thread.id, [turn.status for turn in read.thread.turns]) == ("thr_1", ["completed"])
    assert server.heard == [Requested(1, "thread/read", {"threadId": "thr_1", "includeTurns": True})]


async def test_a_refusal_carries_method_code_message_and_data() -> None:
    script = by_method({"turn/interrupt": (Failure(-32600, "no active turn to interrupt", {"why": ["idle"]}),)})
    async with serving(script) as (wire, _), connected(wire) as client:
        with pytest.raises(RpcError) as caught:
            await client.call(TURN_INTERRUPT, TurnInterruptParams(thread_id="thr_1", turn_id="turn_1"))

    error = caught.value
    assert (error.method, error.code, error.message, error.data) == (
        "turn/interrupt",
        -32600,
        "no active turn to interrupt",
        {"why": ["idle"]},
    )
    assert str(error) == "turn/interrupt failed (-32600): no active turn to interrupt"


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({}, "thread: Field required"),
        ({"thread": {"id": 5}}, "thread.id: Input should be a valid string"),
        (None, ": Input should be a valid dictionary or instance of ThreadRead"),
        ([], ": Input should be a valid dictionary or instance of ThreadRead"),
    ],
)
async def test_a_result_that_lacks_what_it_must_have_is_named(result: Json, problem: str) -> None:
    async with serving(by_method({"thread/read": (Result(result),)})) as (wire, _), connected(wire) as client:
        with pytest.raises(UnreadableAnswerError) as caught:
            await client.call(THREAD_READ, ThreadReadParams(thread_id="thr_1"))
    assert (caught.value.method, caught.value.problem) == ("thread/read", problem)
    assert caught.value.__suppress_context__


async def test_answers_in_any_order_reach_their_callers() -> None:
    held: list[Requested] = []

    def hold(request: Requested) -> tuple[Step, ...]:
        held.append(request)
        return ()

    results: dict[int, Json] = {}
    async with serving(by_method({"hold": hold})) as (wire, server), connected(wire) as client:

        async def ask(number: int) -> None:
            results[number] = await client.raw_call("hold", {"number": number})

        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(ask, number)
            await server.heard_of(Requested, 5)
            for request in reversed(held):
                await server.do(Result(dict(request.params)), to=request)

    assert results == {number: {"number": number} for number in range(5)}


async def test_notifications_before_an_answer_are_heard_before_it_and_in_order() -> None:
    tell = tuple(Tell("counted", {"number": number}) for number in range(200))
    told = Told()
    async with (
        serving(by_method({"x": (*tell, Result({}), Tell("counted", {"number": "late"}))})) as (wire, _),
        connected(wire, on_notification=told) as client,
    ):
        await client.raw_call("x", {})
        before = [params["number"] for params in told.params("counted")][:200]
        assert before == list(range(200))
        assert (await told.until("counted", 201))[200] == {"number": "late"}


# deadlines


async def test_a_call_without_an_answer_names_its_method_and_its_seconds() -> None:
    async with serving(NOBODY) as (wire, _), connected(wire) as client:
        with pytest.raises(CallTimeoutError) as caught:
            await client.raw_call("silent", {}, deadline=0.01)
        assert client.in_flight == 0

    assert (caught.value.method, caught.value.seconds) == ("silent", 0.01)
    assert str(caught.value) == "silent was not answered within 0.01 s"


def test_a_call_has_a_deadline_even_when_it_names_none() -> None:
    assert 0 < CALL_DEADLINE < 60


async def test_a_connection_may_have_a_deadline_of_its_own_for_every_call() -> None:
    async with serving(NOBODY) as (wire, _), connected(wire, deadline=0.01) as client:
        with pytest.raises(CallTimeoutError) as caught:
            await client.raw_call("silent", {})
    assert (caught.value.method, caught.value.seconds) == ("silent", 0.01)


async def test_the_deadline_covers_the_retries() -> None:
    async with serving(by_method({"x": (BUSY,)})) as (wire, server), connected(wire, sleep=forever) as client:
        with pytest.raises(CallTimeoutError, match=r"^x was not answered within 0\.02 s$"):
            await client.raw_call("x", {}, deadline=0.02)
    assert server.requests == ["x"]


async def forever(_: float) -> None:
    await anyio.sleep_forever()


async def test_an_answer_after_the_deadline_is_an_abandoned_stray_and_disturbs_nobody() -> None:
    odd = Odd()
    async with serving(NOBODY) as (wire, server), connected(wire, diagnostics=odd) as client:
        with pytest.raises(CallTimeoutError):
            await client.raw_call("silent", {}, deadline=0.01)
        late = await server.heard_of(Requested)
        await server.do(Result("late"), Raw(b'{"id":77,"result":{}}'), to=late)
        assert await client.raw_call("echo", {"n": 1}) == {"n": 1}

    assert odd.all == [Stray(1, abandoned=True), Stray(77, abandoned=False)]


# calls in flight


async def test_the_sixty_fifth_call_waits_for_a_free_place() -> None:
    async with serving(NOBODY) as (wire, server), connected(wire) as client:
        async with anyio.create_task_group() as group:
            for _ in range(MOST_IN_FLIGHT):
                group.start_soon(client.raw_call, "silent", NOTHING)
            await server.heard_of(Requested, 64)
            group.start_soon(client.raw_call, "echo", NOTHING)
            await anyio.wait_all_tasks_blocked()
            assert (server.requests, client.in_flight) == (["silent"] * 64, 64)

            await server.do(Result({}), to=await server.heard_of(Requested))
            await server.heard_of(Requested, 65)
            assert server.requests == [*["silent"] * 64, "echo"]
            group.cancel_scope.cancel()
        assert client.in_flight == 0


async def test_calls_that_time_out_give_their_places_back() -> None:
    async with serving(NOBODY) as (wire, _), connected(wire) as client:

        async def give_up() -> None:
            with pytest.raises(CallTimeoutError):
                await client.raw_call("silent", {}, deadline=0.05)

        async with anyio.create_task_group() as group:
            for _ in range(2 * MOST_IN_FLIGHT):
                group.start_soon(give_up)
        assert await client.raw_call("echo", {}) == {}


async def test_a_call_that_waits_for_a_place_has_its_deadline_too_and_is_never_sent() -> None:
    async with serving(NOBODY) as (wire, server), connected(wire) as client:
        async with anyio.create_task_group() as group:
            for _ in range(MOST_IN_FLIGHT):
                group.start_soon(client.raw_call, "silent", NOTHING)
            await server.heard_of(Requested, 64)
            with pytest.raises(CallTimeoutError, match="echo"):
                await client.raw_call("echo", {}, deadline=0.01)
            group.cancel_scope.cancel()
        assert "echo" not in server.requests


# overload


class Waits:
    """A `sleep` that only writes down."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def overloaded(times: int) -> Callable[[Requested], tuple[Step, ...]]:
    """Refuse that often, then answer."""
    number = count()
    return lambda request: (BUSY,) if next(number) < times else (Result(dict(request.params)),)


async def test_an_overloaded_server_is_asked_again_after_waits_that_grow() -> None:
    waits, jitter = Waits(), iter([0.0, 0.9, 0.5])
    async with (
        serving(by_method({"x": overloaded(3)})) as (wire, server),
        connected(wire, sleep=waits, jitter=lambda: next(jitter)) as client,
    ):
        assert await client.raw_call("x", {"a": 1}) == {"a": 1}

    assert server.heard == [Requested(number, "x", {"a": 1}) for number in range(1, 5)]
    assert waits.seconds == pytest.approx([0.1, 0.29, 0.5])


async def test_a_server_that_stays_overloaded_is_given_up() -> None:
    waits = Waits()
    async with (
        serving(by_method({"x": (BUSY,)})) as (wire, server),
        connected(wire, sleep=waits, jitter=lambda: 0.999) as client,
    ):
        with pytest.raises(OverloadedError) as caught:
            await client.raw_call("x", {})
        assert client.in_flight == 0

    assert (caught.value.method, caught.value.code) == ("x", -32001)
    assert len(server.requests) == MOST_RETRIES + 1
    assert len(waits.seconds) == MOST_RETRIES
    assert waits.seconds == sorted(waits.seconds)


@given(attempt=st.integers(0, MOST_RETRIES), low=st.floats(0, 0.999), high=st.floats(0, 0.999))
def test_each_wait_is_longer_than_the_one_before_whatever_the_dice_say(attempt: int, low: float, high: float) -> None:
    assert retry_delay(attempt + 1, low) > retry_delay(attempt, high) > 0


async def test_a_retry_gives_its_place_to_others_while_it_waits() -> None:
    slept = anyio.Event()

    async def sleep(_: float) -> None:
        await slept.wait()

    async with (
        serving(by_method({"x": overloaded(MOST_IN_FLIGHT), "echo": (Result({}),)})) as (wire, server),
        connected(wire, sleep=sleep) as client,
        anyio.create_task_group() as group,
    ):
        for _ in range(MOST_IN_FLIGHT):
            group.start_soon(client.raw_call, "x", NOTHING)
        await server.heard_of(Requested, MOST_IN_FLIGHT)
        assert await client.raw_call("echo", {}) == {}
        slept.set()


# callers that are cancelled


class Gated:
    """A transport that holds every message back until the gate opens."""

    def __init__(self, inner: Transport) -> None:
        self.name = inner.name
        self.receive = inner.receive
        self.aclose = inner.aclose
        self.gate = anyio.Event()
        self._inner = inner

    async def send(self, message: bytes) -> None:
        await self.gate.wait()
        await self._inner.send(message)


async def test_a_cancelled_caller_neither_loses_nor_doubles_what_others_send() -> None:
    answers: list[Json] = []
    async with serving(NOBODY) as (wire, server):
        gated = Gated(wire)
        async with connected(gated) as client:

            async def ask(number: int) -> None:
                answers.append(await client.raw_call("echo", {"number": number}))

            async with anyio.create_task_group() as group:
                scopes = [anyio.CancelScope() for _ in range(20)]

                async def ask_within(number: int) -> None:
                    with scopes[number]:
                        await ask(number)

                for number in range(20):
                    group.start_soon(ask_within, number)
                await anyio.wait_all_tasks_blocked()
                for scope in scopes[::3]:
                    scope.cancel()
                await anyio.wait_all_tasks_blocked()
                gated.gate.set()

            assert client.in_flight == 0
            await ask(20)

    kept = [number for number in range(20) if number % 3]
    assert answers == [{"number": number} for number in [*kept, 20]]
    heard = [event.params["number"] for event in server.heard if isinstance(event, Requested)]
    assert heard == list(range(21))


# the end of the connection


async def test_losing_the_server_fails_every_open_call_with_what_it_was_doing() -> None:
    script = by_method({"turn/start": (), "thread/read": ()})
    failed: list[str | None] = []
    async with serving(script) as (wire, server), connected(wire) as client:

        async def ask(method: str) -> None:
            with pytest.raises(ConnectionLostError, match=f"lost during {method}: the other end closed") as caught:
                await client.raw_call(method, {})
            failed.append(caught.value.doing)

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "turn/start")
            group.start_soon(ask, "thread/read")
            await server.heard_of(Requested, 2)
            await server.hang_up()
        await client.closed.wait()

        with pytest.raises(ConnectionLostError, match="lost during thread/list"):
            await client.raw_call("thread/list", {})
        with pytest.raises(ConnectionLostError, match="lost during initialized"):
            client.notify("initialized")
        assert client.in_flight == 0
        assert isinstance(client.lost, ConnectionLostError)

    assert sorted(map(str, failed)) == ["thread/read", "turn/start"]


async def test_calls_that_wait_for_a_place_or_a_retry_fail_with_the_connection_too() -> None:
    slept = anyio.Event()

    async def sleep(_: float) -> None:
        await slept.wait()

    failed: list[str | None] = []
    script = by_method({"silent": (), "busy": (BUSY,)})
    async with serving(script) as (wire, server), connected(wire, sleep=sleep) as client:

        async def ask(method: str) -> None:
            with pytest.raises(ConnectionLostError) as caught:
                await client.raw_call(method, {})
            failed.append(caught.value.doing)

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "busy")
            await server.heard_of(Requested)
            for _ in range(MOST_IN_FLIGHT):
                group.start_soon(ask, "silent")
            group.start_soon(ask, "waiting")
            await server.heard_of(Requested, 1 + MOST_IN_FLIGHT)
            await server.hang_up()
            slept.set()

    assert sorted(map(str, failed)) == ["busy", *["silent"] * MOST_IN_FLIGHT, "waiting"]


async def test_what_came_in_before_the_end_is_still_delivered() -> None:
    told = Told()
    script = by_method({"x": (Tell("one", {}), Result({"last": True}), HangUp())})
    async with serving(script) as (wire, _), connected(wire, on_notification=told) as client:
        assert await client.raw_call("x", {}) == {"last": True}
        await client.closed.wait()
    assert told.all == [Notified("one", {})]


async def test_a_message_over_the_ceiling_fails_open_calls_with_the_ceiling() -> None:
    ours, theirs = memory_pair(limit=100)
    with anyio.fail_after(LIMIT):
        async with connected(ours) as client, anyio.create_task_group() as group:

            async def flood() -> None:
                await theirs.receive()
                await theirs.send(b"x" * 101)

            group.start_soon(flood)
            with pytest.raises(OversizedMessageError, match="message too large"):
                await client.raw_call("x", {})
            await client.closed.wait()
        await theirs.aclose()


async def test_leaving_the_block_ends_calls_of_other_tasks_and_closes_the_transport() -> None:
    failed: list[str] = []

    async def ask(client: Client) -> None:
        with pytest.raises(ConnectionLostError) as caught:
            await client.raw_call("silent", {})
        failed.append(str(caught.value))

    async with serving(NOBODY) as (wire, server), anyio.create_task_group() as group:
        async with connected(wire) as client:
            group.start_soon(ask, client)
            await server.heard_of(Requested)
        await server.gone.wait()

    assert failed == ["The Codex app-server connection was lost during silent: the client was closed"]


async def test_an_error_in_the_block_comes_out_as_itself() -> None:
    async with serving(NOBODY) as (wire, _):
        with pytest.raises(ZeroDivisionError):
            async with connected(wire):
                raise ZeroDivisionError


# what the server asks


async def asked(server_steps: tuple[Step, ...], on_request: Callable[[Requested], Awaitable[Json]]) -> list[Event]:
    """Let a server ask, and return what it heard."""
    async with serving(by_method({})) as (wire, server), connected(wire, on_request=on_request, on_notification=never):
        await server.do(*server_steps)
        await anyio.wait_all_tasks_blocked()
    return server.heard


async def test_an_answer_goes_back_under_the_id_and_type_that_the_server_chose() -> None:
    """Server ids start at 0 (protocol reference, 1.1); another client and a proxy may use strings."""

    async def handle(request: Requested) -> Json:
        return {"was": request.id}

    steps = (Ask("x", {}), Raw(b'{"id":"0","method":"x"}'), Raw(b'{"id":-7,"method":"x"}'), Ask("x", {}))
    raw: list[bytes] = []
    ours, theirs = memory_pair()
    with anyio.fail_after(LIMIT):
        async with connected(ours, on_request=handle):
            for step in steps:
                message = step.data if isinstance(step, Raw) else encode({"id": len(raw), "method": "x", "params": {}})
                await theirs.send(message)
                raw += await theirs.receive()
        await theirs.aclose()
    assert raw == [
        b'{"id":0,"result":{"was":0}}',
        b'{"id":"0","result":{"was":"0"}}',
        b'{"id":-7,"result":{"was":-7}}',
        b'{"id":3,"result":{"was":3}}',
    ]


async def test_a_handler_that_refuses_chooses_the_code() -> None:
    async def refuse(request: Requested) -> Json:
        raise RefusalError(-32099, f"not {request.method}")

    assert await asked((Ask("x", {}),), refuse) == [Refused(0, "x", -32099, "not x")]


async def test_a_handler_that_fails_is_an_error_answer_that_tells_nothing_of_its_insides() -> None:
    async def fail(request: Requested) -> Json:
        raise ValueError(f"the token is hunter2, asked for {request.method}")

    assert await asked((Ask("x", {}),), fail) == [Refused(0, "x", -32603, "x failed in the client: ValueError")]


@pytest.mark.parametrize("answer", [{"big": 2**80}, object()])
async def test_a_handler_whose_answer_is_no_json_is_an_error_answer(answer: Json) -> None:
    async def handle(_: Requested) -> Json:
        return answer

    heard = await asked((Ask("x", {}), Ask("y", {})), handle)
    assert [(event.method, event.code) for event in heard if isinstance(event, Refused)] == [
        ("x", -32603),
        ("y", -32603),
    ]


async def test_a_client_that_offers_nothing_refuses_everything() -> None:
    async with serving(by_method({})) as (wire, server), connected(wire):
        await server.do(Ask("item/tool/call", {}), Ask("new/thing", {}))
        await server.heard_of(Refused, 2)
    assert server.heard == [
        Refused(0, "item/tool/call", METHOD_NOT_FOUND, "item/tool/call is not supported by this client"),
        Refused(1, "new/thing", METHOD_NOT_FOUND, "new/thing is not supported by this client"),
    ]


async def test_a_slow_handler_holds_up_neither_answers_nor_notifications_nor_other_handlers() -> None:
    decided, asked_slowly = anyio.Event(), anyio.Event()

    async def handle(request: Requested) -> Json:
        if request.method == "slow":
            asked_slowly.set()
            await decided.wait()
        return request.method

    told = Told()
    async with (
        serving(NOBODY) as (wire, server),
        connected(wire, on_request=handle, on_notification=told) as client,
    ):
        await server.do(Ask("slow", {}), Ask("quick", {}), Tell("news", {}))
        assert await server.heard_of(Answered) == Answered(1, "quick", "quick")
        await asked_slowly.wait()
        assert await told.until("news") == [{}]
        assert await client.raw_call("echo", {}) == {}
        decided.set()
        assert await server.heard_of(Answered, 2) == Answered(0, "slow", "slow")


async def test_a_request_repeated_while_it_is_open_is_handled_and_answered_once() -> None:
    decided, calls = anyio.Event(), 0

    async def handle(_: Requested) -> Json:
        nonlocal calls
        calls += 1
        await decided.wait()
        return {}

    ours, theirs = memory_pair()
    with anyio.fail_after(LIMIT):
        try:
            async with connected(ours, on_request=handle) as client:
                for _ in range(3):
                    await theirs.send(b'{"id":0,"method":"item/tool/call","params":{}}')
                await anyio.wait_all_tasks_blocked()
                decided.set()
                await anyio.wait_all_tasks_blocked()
                client.notify("last")
                answers = await theirs.receive()
                if b'{"method":"last"}' not in answers:
                    answers += await theirs.receive()
        finally:
            await theirs.aclose()
    assert answers == [b'{"id":0,"result":{}}', b'{"method":"last"}']
    assert calls == 1


# what is odd


async def test_junk_is_reported_by_size_and_skipped() -> None:
    """Case T09 (c) and (e)."""
    odd, told = Odd(), Told()
    junk = (Raw(b"SUCCESS: process 4711 ended"), Tell("one", {}), Raw(b'{"method":"x", broken'), Tell("two", {}))
    async with (
        serving(by_method({"x": (*junk, Result({}))})) as (wire, _),
        connected(wire, diagnostics=odd, on_notification=told) as client,
    ):
        await client.raw_call("x", {})

    assert odd.all == [Junk("not JSON", 27), Junk("not JSON", 21)]
    assert told.all == [Notified("one", {}), Notified("two", {})]


async def test_both_sides_may_talk_at_length_at_once() -> None:
    """Neither end stops reading because it is writing: two megabytes each way through pipes of 64 KB."""
    told = Told()
    async with linked("stdio", "torrent") as wire, connected(wire, on_notification=told) as client:
        text = "y" * 1_000_000
        results: list[Json] = []

        async def ask() -> None:
            results.append(await client.raw_call("echo", {"text": text}))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(ask)

    assert results == [{"bytes": len(encode({"text": text}))}] * 4
    assert len(told.params("padded")) == 400
