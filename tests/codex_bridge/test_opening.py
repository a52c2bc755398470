"""A thread that takes long to load is waited for, unless the server is hung."""

from collections.abc import Iterable

import anyio
import pytest

from codex_bridge.client import connected
from codex_bridge.errors import CallTimeoutError
from codex_bridge.opening import open_thread
from codex_bridge.rpc import Event, JsonObject, Requested
from codex_bridge.wire.requests import THREAD_START, ThreadOpened, ThreadStartParams
from tests.support.fake_server import Result, Script, Step
from tests.support.serving import serving

OPENED: JsonObject = {"thread": {"id": "thr_1"}, "model": "gpt-5.5"}
PARAMS = ThreadStartParams(
    model=None,
    cwd="/w",
    approval_policy="never",
    approvals_reviewer="user",
    sandbox="read-only",
    config={},
    developer_instructions="",
    personality="none",
    service_name="test",
)


def alive(event: Event) -> Iterable[Step]:
    """A server that answers whether somebody is signed in, and nothing else."""
    if isinstance(event, Requested) and event.method == "account/read":
        yield Result({"account": None, "requiresOpenaiAuth": False})


async def test_a_thread_that_is_held_up_is_waited_for_and_asked_for_once() -> None:
    """I13."""
    opened: list[ThreadOpened] = []
    async with serving(Script(alive)) as (wire, served), connected(wire, deadline=0.02) as client:

        async def ask() -> None:
            opened.append(await open_thread(client, THREAD_START, PARAMS))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            start = await served.heard_of(Requested)
            await served.heard_of(Requested, 4)
            await served.do(Result(OPENED), to=start)
    assert [each.thread.id for each in opened] == ["thr_1"]
    assert served.requests == ["thread/start", *["account/read"] * (len(served.requests) - 1)]


async def test_a_server_that_answers_nothing_else_either_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.hosts.PING_DEADLINE", 0.02)
    async with serving(Script(lambda _: ())) as (wire, _), connected(wire, deadline=0.02) as client:
        with pytest.raises(CallTimeoutError) as caught:
            await open_thread(client, THREAD_START, PARAMS)
    assert str(caught.value) == "thread/start was not answered within 0.02 s"


async def test_a_thread_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.opening.OPENING_DEADLINE", 0.05)
    async with serving(Script(alive)) as (wire, _), connected(wire, deadline=0.02) as client:
        with pytest.raises(CallTimeoutError) as caught:
            await open_thread(client, THREAD_START, PARAMS)
    assert str(caught.value) == "thread/start was not answered within 0.05 s"
