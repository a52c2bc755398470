"""Whole turns over every way to reach a server, of ours or of somebody else, and what happens when that way is cut."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from anyio.abc import ByteReceiveStream, SocketAttribute, SocketStream
from anyio.streams.text import TextReceiveStream

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexSettings, codex_harness
from codex_bridge.client import Client, ignore_all, refuse_all
from codex_bridge.errors import ConnectError, ConnectionLostError, ServerNotSignedInError
from codex_bridge.home import child_environment, own_home, private_dir
from codex_bridge.lanes import HABITS
from codex_bridge.loopback.model import LoopbackModel, loopback_model
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, Say, Script, Wait, always, say
from codex_bridge.params import ThreadSettings
from codex_bridge.process import QUIET, Launch, Source, app_server
from codex_bridge.processes import began
from codex_bridge.providers import Provider
from codex_bridge.rpc import Json, JsonObject
from codex_bridge.sources import Listener, ListenerKind, Remote
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.base import Method
from codex_bridge.wire.requests import TURN_INTERRUPT, TURN_START
from harness.agent import Agent
from harness.gather import Gatherer
from harness.plain import plain_settings
from harness.store.bindings import bindings_at
from harness.toolbox import Toolbox, ToolTurn
from harness.tools import Tool, ToolResult
from harness.turns import Failure, Outcome, SubagentStarted
from tests.real.test_subagents import has_spawned, is_child, spawn
from tests.support.real import LIMIT, MODEL, Stage, count, notices_of, places
from tests.support.serving import is_running

TOKEN = "lantern-harbour-1289"
OWN: tuple[ListenerKind, ...] = ("unix", "websocket")
ELSEWHERE = ("unix", "websocket")
GPT6 = "gpt-6-sol"
FREE = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
DIRECT = ThreadSettings(direct_tools=True)


@asynccontextmanager
async def running(
    source: Source,
    model: LoopbackModel,
    state: Path,
    workspace: Path,
    *,
    name: str = MODEL,
    settings: ThreadSettings = ThreadSettings(),  # noqa: B008 - frozen
    toolbox: Toolbox | None = None,
) -> AsyncGenerator[Stage]:
    """A harness on that server."""
    async with (
        bindings_at(private_dir(state) / "bridge.sqlite") as bindings,
        codex_harness(CodexSettings(source, threads=settings, drain=0.0), bindings) as harness,
    ):
        gatherer = Gatherer(plain_settings(workspace), HABITS)
        yield Stage(model, harness, Agent[CodexTurn](harness, gatherer, model=name, toolbox=toolbox), bindings)


@asynccontextmanager
async def own(
    kind: ListenerKind, codex: CodexBinary, state: Path, workspace: Path, script: Script
) -> AsyncGenerator[Stage]:
    """A harness on a listening server of its own."""
    with anyio.fail_after(LIMIT):
        async with loopback_model(script) as model:
            launch = Launch(codex, own_home(state, "main"), model.provider, catalogue="untouched")
            launch = replace(launch, listener=Listener(kind, state / "listeners"))
            async with running(launch, model, state, workspace) as play:
                yield play


@asynccontextmanager
async def elsewhere(kind: str, codex: CodexBinary, state: Path, provider: Provider | None) -> AsyncGenerator[Remote]:
    """A server that somebody else runs, in a home of its own."""
    home, token = private_dir(state / "elsewhere"), state / "token"
    token.write_text(TOKEN, "utf-8")
    path = state / "app.sock"
    listen = {
        "unix": ["--listen", f"unix://{path}"],
        "websocket": [
            *("--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-file", str(token))
        ],
    }[kind]
    pairs = [*QUIET, *(provider.overrides() if provider else ())]
    flags = [word for key, value in pairs for word in ("-c", f"{key}={value}")]
    extra = provider.environment() if provider else None
    environment = child_environment(home, tools_dir=codex.tools_dir, extra=extra).passed
    process = await anyio.open_process([str(codex.path), *flags, "app-server", *listen], env=environment)
    async with process:
        try:
            if kind == "unix":
                while not path.exists():
                    await anyio.lowlevel.checkpoint()
                yield Remote(f"unix://{path}")
            else:
                assert process.stderr is not None
                yield Remote(await _address(process.stderr), headers={"Authorization": f"Bearer {TOKEN}"})
        finally:
            process.kill()


async def _address(stderr: ByteReceiveStream) -> str:
    seen = ""
    async for text in TextReceiveStream(stderr, errors="replace"):
        seen += text
        if found := re.search(r"listening on: (ws://\S+)\s", seen):
            return found[1]
    raise AssertionError(f"no address in {seen!r}")


class Cuttable:
    """A relay on a port or socket of its own, whose connections can be cut while both ends live on."""

    def __init__(self) -> None:
        self.streams: list[SocketStream] = []
        self.open = anyio.Event()
        """Set while new connections get through."""
        self.open.set()

    async def cut(self) -> None:
        for stream in self.streams:
            await stream.aclose()
        self.streams.clear()


@asynccontextmanager
async def relayed(remote: Remote) -> AsyncGenerator[tuple[Remote, Cuttable]]:
    """The same server, reached by a way that can be cut."""
    relay = Cuttable()

    async def copy(source: SocketStream, target: SocketStream) -> None:
        try:
            while True:
                await target.send(await source.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            await target.aclose()

    async def serve(stream: SocketStream) -> None:
        await relay.open.wait()
        if remote.address.startswith("unix://"):
            other: SocketStream = await anyio.connect_unix(remote.address.removeprefix("unix://"))
        else:
            host, port = remote.address.removeprefix("ws://").split(":")
            other = await anyio.connect_tcp(host, int(port))
        relay.streams += [stream, other]
        async with anyio.create_task_group() as group:
            group.start_soon(copy, stream, other)
            group.start_soon(copy, other, stream)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield replace(remote, address=f"ws://127.0.0.1:{port}"), relay
        group.cancel_scope.cancel()


# a server of ours


@pytest.mark.parametrize("kind", OWN)
async def test_a_conversation_goes_on_over_a_socket_of_ours_after_its_server_was_killed(
    kind: ListenerKind, codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with own(kind, codex, state, workspace, always(say("Yes."))) as play:
        first = await play.ask("zebra")
        server = await play.harness.ready()
        os.kill(server.pid, signal.SIGKILL)
        second = await play.ask("heron", number="2")
        after = await play.harness.ready()
        last = after.pid
    assert [each.outcome for each in (first, second)] == [Outcome.ANSWERED] * 2
    assert first.conversation == second.conversation
    assert count(play.model.requests[-1], "zebra") == 1
    assert places(play.model.requests[-1], "SOUL_M22") == ["mode"]
    assert (server.pid != last, is_running(last)) == (True, False)
    assert list((state / "listeners").iterdir()) == []
    assert f"(process {server.pid})" in server.name


@pytest.mark.parametrize("kind", OWN)
async def test_nobody_else_is_let_in_to_a_server_of_ours(
    kind: ListenerKind, codex: CodexBinary, state: Path, workspace: Path
) -> None:
    async with own(kind, codex, state, workspace, always(say("Yes."))) as play:
        server = await play.harness.ready()
        folder = state / "listeners"
        modes = {file.suffix: file.stat().st_mode & 0o777 for file in folder.iterdir()}
        if kind == "websocket":
            with pytest.raises(ConnectError, match=r"HTTP 401 \(the token is missing or wrong\)"):
                async with app_server(
                    Remote(server.name.partition(" ")[0]), on_notification=ignore_all, on_request=refuse_all
                ):
                    raise NotImplementedError
    assert folder.stat().st_mode & 0o777 == 0o700
    assert modes == {".json": 0o600, ".sock" if kind == "unix" else ".token": 0o600}


async def test_a_server_of_ours_that_cannot_listen_says_why_in_its_last_words(codex: CodexBinary, state: Path) -> None:
    launch = Launch(codex, own_home(state, "main"), overrides=[("model_provider", '"nowhere"')], catalogue="untouched")
    with anyio.fail_after(LIMIT), pytest.raises(ConnectionLostError, match="it exited with status 1") as caught:
        async with app_server(
            replace(launch, listener=Listener("unix", state / "listeners")),
            on_notification=ignore_all,
            on_request=refuse_all,
        ):
            raise NotImplementedError
    assert "nowhere" in caught.value.detail
    assert list((state / "listeners").iterdir()) == []


GATEWAY = """
import anyio, os, sys
from pathlib import Path
from codex_bridge.binary import CodexBinary
from codex_bridge.client import Client, ignore_all, refuse_all
from codex_bridge.home import own_home
from codex_bridge.process import Launch, app_server
from codex_bridge.sources import Listener

async def main():
    codex, state, kind = sys.argv[1:]
    launch = Launch(CodexBinary(Path(codex), "the test"), own_home(Path(state), "main"), catalogue="untouched",
                    listener=Listener(kind, Path(state) / "listeners"))
    async with app_server(launch, on_notification=ignore_all, on_request=refuse_all) as server:
        print(server.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.parametrize("kind", OWN)
async def test_a_server_whose_gateway_died_is_ended_by_the_next_one(
    kind: ListenerKind, codex: CodexBinary, state: Path, workspace: Path
) -> None:
    gateway = subprocess.Popen(  # noqa: ASYNC220 - it is killed, and waited for
        [sys.executable, "-c", GATEWAY, str(codex.path), str(state), kind], stdout=subprocess.PIPE, text=True
    )
    with gateway:
        assert gateway.stdout is not None
        orphan = int(gateway.stdout.readline())
        async with own(kind, codex, state, workspace, always(say("Yes."))) as play:
            await play.harness.ready()
            beside = began(orphan)  # one whose gateway lives is left alone
        gateway.kill()
    lived_on = began(orphan)
    async with own(kind, codex, state, workspace, always(say("Yes."))) as play:
        answer = await play.ask("zebra")
    assert (answer.outcome, began(orphan)) == (Outcome.ANSWERED, "")
    assert beside == lived_on != ""
    assert list((state / "listeners").iterdir()) == []


async def test_a_socket_has_room_however_deep_the_state_folder_lies(
    codex: CodexBinary, state: Path, tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Path(f"/tmp/{tmp_path.parent.name[-8:]}-{os.getpid()}")
    short.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(short))
    try:
        async with own("unix", codex, state / ("x" * 90), workspace, always(say("Yes."))) as play:
            answer = await play.ask("zebra")
            folders = [folder.stat().st_mode & 0o777 for folder in short.iterdir()]
        left = list(short.iterdir())
    finally:
        short.rmdir()
    assert (answer.outcome, folders, left) == (Outcome.ANSWERED, [0o700], [])


# a server of somebody else


@pytest.mark.parametrize("kind", ELSEWHERE)
async def test_a_conversation_goes_on_with_somebody_elses_server_after_the_way_was_cut(
    kind: str, codex: CodexBinary, state: Path, workspace: Path
) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            elsewhere(kind, codex, state, model.provider) as remote,
            relayed(remote) as (way, relay),
        ):
            async with running(way, model, state, workspace) as play:
                first = await play.ask("zebra")
                server = await play.harness.ready()
                await relay.cut()
                second = await play.ask("heron", number="2")
            async with running(way, model, state, workspace) as play:  # the gateway starts anew
                turn = await play.begin("osprey", number="3")
                third, notices = await turn.result(), await notices_of(turn)
    assert [each.outcome for each in (first, second, third)] == [Outcome.ANSWERED] * 3
    assert first.conversation == second.conversation == third.conversation
    last = model.requests[-1]
    assert [count(last, word) for word in ("zebra", "heron", "osprey")] == [1, 1, 1]
    assert (server.process, notices) == (None, [])
    assert TOKEN not in f"{server.name} {way!r}"


@pytest.mark.parametrize(("model_name", "lane"), [(MODEL, "mode"), (GPT6, "developer")])
async def test_every_layer_reaches_the_model_of_somebody_elses_server(
    codex: CodexBinary, state: Path, workspace: Path, model_name: str, lane: str
) -> None:
    """Its catalogue is not ours to patch, and it may see another disk."""
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            elsewhere("unix", codex, state, model.provider) as remote,
        ):
            for number, words in enumerate(("zebra", "heron")):
                async with running(remote, model, state, workspace, name=model_name) as play:
                    await play.ask(words, number=str(number))
    first, second = model.requests
    assert {marker: places(first, marker) for marker in ("AGENTS_M11", "SOUL_M22", "TOOLS_M55")} == {
        "AGENTS_M11": ["developer"],
        "SOUL_M22": [lane],
        "TOOLS_M55": ["developer"],
    }
    # A thread that is loaded again says the additional context again.
    assert [count(second, marker) for marker in ("AGENTS_M11", "TOOLS_M55")] == [1, 1]
    assert set(places(second, "SOUL_M22")) == {lane}


async def test_the_workspace_has_another_name_on_another_machine(
    codex: CodexBinary, state: Path, workspace: Path, tmp_path: Path
) -> None:
    """`appServer.remoteWorkspaceRoot`."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "AGENTS.md").write_text("THEIRS_M99 Shout.", encoding="utf-8")
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            elsewhere("unix", codex, state, model.provider) as remote,
            running(replace(remote, workdir=str(theirs)), model, state, workspace) as play,
        ):
            turn = await play.begin("zebra")
            result = await turn.result()
    (request,) = model.requests
    assert (result.outcome, turn.thread and turn.thread.thread.cwd) == (Outcome.ANSWERED, str(theirs))
    assert (count(request, "AGENTS_M11"), count(request, "THEIRS_M99")) == (1, 0)
    assert count(request, str(workspace)) == 0


@pytest.mark.parametrize("ended", ["meanwhile", "afterwards"])
async def test_a_turn_on_a_server_that_lives_on_is_followed_again_when_the_way_to_it_was_lost(
    codex: CodexBinary, state: Path, workspace: Path, ended: str
) -> None:
    """User report I10."""
    go_on = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        if last.text == "zebra":
            look = CallTool("exec_command", {"cmd": "echo once >> RAN", "yield_time_ms": 10_000})
            return Reply((Say("Let me look.", phase="commentary"), look))
        return Reply((Wait(go_on), Say("Four boats."))) if last.kind == "function_call_output" else say("Fine.")

    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(script) as model,
            elsewhere("websocket", codex, state, model.provider) as remote,
            relayed(remote) as (way, relay),
            running(way, model, state, workspace, settings=FREE) as play,
        ):
            turn = await play.begin("zebra")
            for _ in range(2):
                await model.next_request()
            server = await play.harness.ready()
            relay.open = anyio.Event()
            await relay.cut()
            if ended == "meanwhile":
                go_on.set()
                async with app_server(remote, on_notification=ignore_all, on_request=refuse_all) as other:
                    while await status_of(other.client, turn) != "idle":
                        await anyio.lowlevel.checkpoint()
            relay.open.set()
            while play.harness.server in (None, server):
                await anyio.lowlevel.checkpoint()
            go_on.set()
            result = await turn.result()
            after = await play.ask("heron", number="2")
    assert (result.outcome, result.text, result.error) == (Outcome.ANSWERED, "Four boats.", "")
    assert [each.over for each in result.evidence.commands] == [True]
    assert (workspace / "RAN").read_text("utf-8") == "once\n"
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, result.conversation)
    assert [count(model.requests[-1], word) for word in ("zebra", "Four boats.", "heron")] == [1, 1, 1]


async def status_of(client: Client, turn: CodexTurn) -> Any:
    assert turn.ledger is not None
    read: Any = await client.raw_call("thread/read", {"threadId": turn.ledger.thread_id})
    return read["thread"]["status"]["type"]


@asynccontextmanager
async def unending(
    codex: CodexBinary, state: Path, workspace: Path
) -> AsyncGenerator[tuple[LoopbackModel, Remote, Cuttable, Stage]]:
    """A model that never ends, on a server of somebody else's, reached by a way that can be cut."""
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(Reply((Wait(anyio.Event()),)))) as model,
            elsewhere("unix", codex, state, model.provider) as remote,
            relayed(remote) as (way, relay),
            running(way, model, state, workspace) as play,
        ):
            yield model, remote, relay, play


OWN_THREAD = pytest.mark.parametrize("apart", [False, True], ids=["of its conversation", "of its own"])
"""Whether a turn runs on the thread of its conversation, or on one that ends with it and is nowhere written down."""


async def begun(play: Stage, *, apart: bool) -> CodexTurn:
    """A turn that says "zebra", on a thread of that kind."""
    if apart:
        return await play.agent.scheduled("zebra", session_key="agent:main:job", key="job-1", light=True)
    return await play.begin("zebra")


async def ends_elsewhere(remote: Remote, turn: CodexTurn) -> None:
    """Wait until the server runs nothing on a turn's thread any more."""
    async with app_server(remote, on_notification=ignore_all, on_request=refuse_all) as other:
        while await status_of(other.client, turn) != "idle":
            await anyio.lowlevel.checkpoint()


@OWN_THREAD
async def test_a_turn_that_began_unheard_on_a_server_that_lives_on_is_not_begun_twice_and_does_not_run_on(
    apart: bool, codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to turn/start is lost with the way."""
    real = Client.call
    async with unending(codex, state, workspace) as (model, remote, relay, play):

        async def call(self: Client, method: Method[Any, Any], params: Any, **how: Any) -> Any:
            answer = await real(self, method, params, **how)
            if method is TURN_START:
                monkeypatch.undo()
                await model.next_request()
                await relay.cut()
                await self.closed.wait()
                raise ConnectionLostError("the connection broke off", doing=method.name)
            return answer

        monkeypatch.setattr(Client, "call", call)
        turn = await begun(play, apart=apart)
        result = await turn.result()
        await ends_elsewhere(remote, turn)
    assert (result.outcome, result.error) == (
        Outcome.LOST,
        "Codex stopped in the middle of this turn: the connection broke off.",
    )
    assert [count(request, "zebra") for request in model.requests] == [1]


@OWN_THREAD
@pytest.mark.parametrize("stopped", ["before the loss", "after it"])
async def test_a_stop_reaches_a_turn_to_which_the_way_was_lost(
    apart: bool, stopped: str, codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Client.call
    async with unending(codex, state, workspace) as (model, remote, relay, play):

        async def call(self: Client, method: Method[Any, Any], params: Any, **how: Any) -> Any:
            if method is TURN_INTERRUPT:
                monkeypatch.undo()
                await relay.cut()
                await self.closed.wait()
                raise ConnectionLostError("the connection broke off", doing=method.name)
            return await real(self, method, params, **how)

        turn = await begun(play, apart=apart)
        await model.next_request()
        if stopped == "before the loss":
            monkeypatch.setattr(Client, "call", call)
        else:
            server = await play.harness.ready()
            relay.open = anyio.Event()
            await relay.cut()
            await server.client.closed.wait()
        await turn.interrupt()
        relay.open.set()
        await ends_elsewhere(remote, turn)
    assert (await turn.result()).outcome is (Outcome.LOST if apart and stopped == "after it" else Outcome.INTERRUPTED)
    assert [count(request, "zebra") for request in model.requests] == [1]


async def test_a_tool_that_was_called_before_the_way_was_lost_is_not_called_again(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    called, never = anyio.Event(), anyio.Event()
    calls: list[int] = []

    async def ring(_: Mapping[str, Json]) -> ToolResult:
        calls.append(len(calls))
        called.set()
        await never.wait()
        return ToolResult(True, "rung")

    class Bell:
        names = frozenset({"ring"})

        def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
            return (Tool("ring", "Ring the bell.", {"type": "object", "properties": {}}, ring),)

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        if last.text == "zebra":
            return Reply((CallTool("ring", {}),))
        return say(f"It said: {last.text}")

    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(script) as model,
            elsewhere("websocket", codex, state, model.provider) as remote,
            relayed(remote) as (way, relay),
            running(way, model, state, workspace, settings=DIRECT, toolbox=Bell()) as play,
        ):
            turn = await play.begin("zebra")
            await called.wait()
            await relay.cut()
            result = await turn.result()
    assert (result.outcome, calls) == (Outcome.ANSWERED, [0])
    assert "The connection broke off during this call; nobody knows how far it came." in result.text


async def no_rejoin(*_: object) -> bool:
    return False


async def test_a_turn_that_is_lost_and_cannot_be_followed_again_does_not_run_on(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.threads.Threads.rejoin", no_rejoin)
    async with unending(codex, state, workspace) as (model, remote, relay, play):
        turn = await play.begin("zebra")
        await model.next_request()
        await relay.cut()
        result = await turn.result()
        await ends_elsewhere(remote, turn)
    assert result.outcome is Outcome.LOST


async def test_a_subagent_of_a_turn_that_is_over_does_not_run_on_when_the_way_to_it_is_lost(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return Reply((Wait(anyio.Event()),))
        return say("Done.") if has_spawned(request) else spawn(MODEL)

    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(script) as model,
            elsewhere("websocket", codex, state, model.provider) as remote,
            relayed(remote) as (way, relay),
            running(way, model, state, workspace) as play,
        ):
            turn = await play.begin("zebra")
            child = None
            async for event in turn.events():
                child = event.agent if isinstance(event, SubagentStarted) else child
            while not any(map(is_child, model.requests)):
                await model.next_request()
            await relay.cut()
            async with app_server(remote, on_notification=ignore_all, on_request=refuse_all) as other:
                status = "active"
                while status == "active":
                    read: Any = await other.client.raw_call("thread/read", {"threadId": child})
                    status = read["thread"]["status"]["type"]
    assert child is not None


async def test_a_turn_that_went_on_without_us_is_stopped_before_the_next_one_begins(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a restart of the gateway, which knows of no turn."""
    monkeypatch.setattr("codex_bridge.threads.Threads.rejoin", no_rejoin)

    def forget(*_: object) -> None:
        """Leave a turn to itself, as who is gone does."""

    monkeypatch.setattr("codex_bridge.losses.Losses.let_go", forget)

    def script(request: RecordedRequest) -> Action:
        return Reply((Wait(anyio.Event()),)) if request.parts()[-1].text == "zebra" else say("Fine.")

    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(script) as model,
            elsewhere("websocket", codex, state, model.provider) as remote,
            relayed(remote) as (way, relay),
            running(way, model, state, workspace) as play,
        ):
            lost = await play.begin("zebra")
            await model.next_request()
            await relay.cut()
            first = await lost.result()
            turn = await play.begin("heron", number="2")
            second, notices = await turn.result(), await notices_of(turn)
    assert (first.outcome, first.error) == (
        Outcome.LOST,
        "Codex stopped in the middle of this turn: the connection broke off.",
    )
    assert (second.outcome, second.text, second.conversation) == (Outcome.ANSWERED, "Fine.", first.conversation)
    assert second.turn != first.turn
    assert notices == ["The turn that was lost with the connection had gone on; it was stopped."]


async def test_a_gateway_that_ends_leaves_no_turn_running_on_somebody_elses_server(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(Reply((Wait(anyio.Event()),)))) as model,
            elsewhere("unix", codex, state, model.provider) as remote,
        ):
            async with running(remote, model, state, workspace) as play:
                turn = await play.begin("zebra")
                await model.next_request()
            result = await turn.result()
            async with app_server(remote, on_notification=ignore_all, on_request=refuse_all) as server:
                read: Any = await server.client.raw_call("thread/read", {"threadId": result.conversation})
    assert (result.failure, read["thread"]["status"]["type"]) == (Failure.SHUTDOWN, "idle")


async def test_the_wrong_token_is_one_clear_sentence(codex: CodexBinary, state: Path, workspace: Path) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            elsewhere("websocket", codex, state, model.provider) as remote,
        ):
            wrong = replace(remote, headers={"Authorization": "Bearer harbour-lantern"})
            async with running(wrong, model, state, workspace) as play:
                result = await play.ask("zebra")
    assert (result.outcome, result.error) == (
        Outcome.FAILED,
        f"The server at {remote.address} refused the connection with HTTP 401 (the token is missing or wrong).",
    )


async def test_a_server_that_is_not_there_is_one_clear_sentence(state: Path, workspace: Path) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            running(Remote(f"unix://{state}/nobody.sock"), model, state, workspace) as play,
        ):
            result = await play.ask("zebra")
    assert result.error.startswith(f"No app-server answers at unix socket {state}/nobody.sock: ")


async def test_somebody_elses_server_without_a_login_says_where_to_sign_in(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            elsewhere("unix", codex, state, None) as remote,
            running(remote, model, state, workspace) as play,
        ):
            with pytest.raises(ServerNotSignedInError) as caught:
                await play.harness.ready()
    assert str(caught.value) == (
        f"The Codex behind {remote.address} is not signed in. Sign it in where it runs with `codex login`, "
        "or from here with `codex-bridge login --agent main --with device-code`."
    )


async def test_a_turn_of_another_client_in_our_conversation_is_left_alone(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        return Reply((Wait(anyio.Event()),)) if request.parts()[-1].text == "theirs" else say("Fine.")

    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(script) as model,
            elsewhere("unix", codex, state, model.provider) as remote,
            app_server(remote, on_notification=ignore_all, on_request=refuse_all) as other,
        ):
            async with running(remote, model, state, workspace) as play:
                first = await play.ask("zebra")
            await model.next_request()
            theirs: JsonObject = {"threadId": first.conversation, "input": [{"type": "text", "text": "theirs"}]}
            await other.client.raw_call("thread/resume", {"threadId": first.conversation, "excludeTurns": True})
            await other.client.raw_call("turn/start", theirs)
            await model.next_request()
            async with running(remote, model, state, workspace) as play:
                turn = await play.begin("heron", number="2")
                second, notices = await turn.result(), await notices_of(turn)
            read: Any = await other.client.raw_call("thread/read", {"threadId": first.conversation})
    assert (second.text, second.conversation != first.conversation) == ("Fine.", True)
    assert read["thread"]["status"]["type"] == "active"
    assert notices == [
        "Another client of Codex runs a turn in this conversation; this one runs in a thread of its own."
    ]


async def test_new_variables_of_skills_do_not_end_the_connection_to_somebody_elses_server(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            elsewhere("unix", codex, state, model.provider) as remote,
            running(remote, model, state, workspace) as play,
        ):
            first = await play.begin("zebra")
            await first.result()
            server = await play.harness.ready()
            told: list[list[str]] = []
            for number in ("2", "3"):
                request = replace(first.request, message_key=f"telegram:7:{number}", environment={"HARBOUR": "Vale"})
                told.append(await notices_of(play.harness.start(request)))
            same = await play.harness.ready() is server
    assert (told, same) == (
        [
            [
                "The environment of the agent's skills has changed, and the server is not ours to start anew. "
                "Only new conversations get it."
            ],
            [],
        ],
        True,
    )


# as a person configures it


def configured(folder: Path, server: dict[str, object]) -> Path:
    path = folder / "openclaw.json"
    path.write_text(json.dumps({"plugins": {"entries": {"codex": {"config": {"appServer": server}}}}}), "utf-8")
    return path


def command(*words: str | Path, state: Path) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENCLAW_")}
    environment |= {"CODEX_BRIDGE_STATE_DIR": str(state / "bridge"), "CODEX_TOKEN": TOKEN}
    return subprocess.run(
        [sys.executable, "-m", "codex_bridge", *words], capture_output=True, text=True, env=environment, timeout=LIMIT
    )


UPDATE = Path(__file__).parents[2] / "fixtures" / "scenarios" / "telegram-direct" / "update.json"


@pytest.mark.parametrize("kind", ELSEWHERE)
async def test_the_commands_use_the_server_that_the_configuration_names(
    kind: str, codex: CodexBinary, state: Path, workspace: Path, tmp_path: Path
) -> None:
    ask = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
    with anyio.fail_after(4 * LIMIT):  # four programs are started
        async with (
            loopback_model(always(say("Yes."))) as model,
            elsewhere(kind, codex, state, model.provider) as remote,
        ):
            token = {"source": "env", "id": "CODEX_TOKEN"}
            keys: dict[str, object] = {"transport": kind, "url": remote.address, "authToken": token}
            config = configured(tmp_path, keys)
            how = ("--workspace", str(workspace), "--config", str(config), "--json")
            turn = await ask(partial(command, "turn", "--payload", UPDATE, "--model", MODEL, *how, state=state))
            doctor = await ask(partial(command, "doctor", *how, state=state))
            status = await ask(partial(command, "status", *how, state=state))
            wrong = configured(tmp_path, {**keys, "url": f"unix://{state}/nobody.sock", "transport": "unix"})
            nobody = await ask(partial(command, "doctor", *how[:2], "--config", wrong, "--json", state=state))
    assert (turn.returncode, json.loads(turn.stdout)["outbox"][0]["text"], len(model.requests)) == (0, "Yes.", 1)
    said = [check for check in json.loads(doctor.stdout) if check["text"].startswith("the server at")]
    version = said[0]["text"].partition("Codex ")[2].partition(",")[0]
    assert said == [
        {
            "part": "codex",
            "ok": True,
            "text": f"the server at {remote.address} answers, which somebody else starts: Codex {version}, "
            "it needs no account.",
        }
    ]
    found = json.loads(status.stdout)
    assert (found["server"], found["codex"], found["home"]) == (remote.address, None, None)
    assert [line["backend"] for line in found["conversations"]] == [f"codex@{remote.address}"]
    assert TOKEN not in f"{turn} {doctor} {status}"
    silent = [check["text"] for check in json.loads(nobody.stdout) if check["part"] == "codex" and not check["ok"]]
    assert silent[0].startswith(f"No app-server answers at unix socket {state}/nobody.sock: ")


@pytest.mark.parametrize("kind", OWN)
def test_the_commands_start_a_server_that_listens_as_configured(
    kind: ListenerKind, codex: CodexBinary, state: Path, workspace: Path, tmp_path: Path
) -> None:
    config = configured(tmp_path, {"transport": kind, "command": str(codex.path)})
    how = ("--workspace", str(workspace), "--config", str(config), "--json")
    turn = command("turn", "--payload", UPDATE, "--loopback", *how, state=state)
    doctor = command("doctor", *how, state=state)
    assert json.loads(turn.stdout)["outbox"][0]["text"].startswith("The loopback model received: ")
    ways = {"unix": "a unix socket that only this user can open", "websocket": "a WebSocket of this machine"}
    assert ways[kind] in doctor.stdout
