"""The real server beyond a single turn: handshakes, transports, accounts, many streams at once."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import ByteReceiveStream
from anyio.streams.text import TextReceiveStream
from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - its types name trio

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexSettings, codex_harness
from codex_bridge.client import connected, ignore_all, refuse_all
from codex_bridge.errors import ConnectError, ConnectionLostError, NotSignedInError, RpcError
from codex_bridge.home import Home, child_environment, own_home, private_dir
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, Reply, Wait, say
from codex_bridge.process import Launch, app_server, handshake
from codex_bridge.transports.child import TAIL_SIZE, StderrTail
from codex_bridge.transports.stdio import StdioTransport
from codex_bridge.transports.websocket import TokenFrom, unix_socket, websocket
from codex_bridge.wire.besides import LOGIN_START, THREAD_READ, LoginParams, ThreadReadParams
from codex_bridge.wire.requests import ACCOUNT_READ, AccountReadParams
from harness.store.bindings import bindings_at
from harness.turns import Outcome
from tests.support.real import LIMIT, stage

STOPPED_WITHIN = 5.0
"""Seconds for a stop beside sixteen streams, which takes 0.1; a client that reads one stream at a time needs 7.7."""


async def test_the_handshake_tells_the_version_and_refusals_carry_their_facts(codex: CodexBinary, state: Path) -> None:
    launch = Launch(codex, own_home(state, "main"))
    with anyio.fail_after(LIMIT):
        async with app_server(launch, on_notification=ignore_all, on_request=refuse_all) as server:
            with pytest.raises(RpcError) as refusal:
                await server.client.call(THREAD_READ, ThreadReadParams(thread_id="no-such-thread"))
    assert re.fullmatch(r"0\.\d+\.\d+", server.version.text)
    assert (refusal.value.method, refusal.value.code) == ("thread/read", -32600)


async def test_the_home_lets_nobody_else_in(codex: CodexBinary, state: Path) -> None:
    home = own_home(state, "main")
    with anyio.fail_after(LIMIT):
        async with app_server(Launch(codex, home), on_notification=ignore_all, on_request=refuse_all):
            pass
    open_to_others = [
        path.relative_to(state)
        for path in [*home.path.parents, *home.path.rglob("*")]
        if state in path.parents and not path.is_symlink() and path.stat().st_mode & 0o077 and path.suffix == ".sqlite"
    ]
    assert open_to_others == []
    assert home.path.stat().st_mode & 0o777 == 0o700


async def test_a_server_that_refuses_its_flags_says_why_in_its_last_words(codex: CodexBinary, state: Path) -> None:
    launch = Launch(codex, own_home(state, "main"), overrides=[("model_provider", '"nowhere"')])
    with anyio.fail_after(LIMIT), pytest.raises(ConnectionLostError) as lost:
        async with app_server(launch, on_notification=ignore_all, on_request=refuse_all):
            pass
    assert lost.value.doing == "initialize"
    assert "nowhere" in lost.value.detail


async def test_a_home_without_a_login_is_named_with_both_ways_out(codex: CodexBinary, state: Path) -> None:
    home = own_home(state, "main")
    private_dir(home.path)
    async with bindings_at(state / "bridge.sqlite") as bindings:
        with anyio.fail_after(LIMIT):
            async with codex_harness(CodexSettings(Launch(codex, home)), bindings) as harness:
                with pytest.raises(NotSignedInError) as refusal:
                    await harness.ready()
    assert str(refusal.value) == (
        f"Codex is not signed in for agent 'main' (home: {home.path}). Sign this home in with `codex-bridge login "
        f"--codex-home {home.path}`, or use your own Codex login with `--codex-home user`."
    )


async def test_an_api_key_signs_a_home_in_for_later_processes(codex: CodexBinary, state: Path) -> None:
    home = own_home(state, "main")
    with anyio.fail_after(LIMIT):
        async with app_server(Launch(codex, home), on_notification=ignore_all, on_request=refuse_all) as server:
            await server.client.call(LOGIN_START, LoginParams(type="apiKey", api_key="sk-invented-0123456789"))
        async with app_server(Launch(codex, home), on_notification=ignore_all, on_request=refuse_all) as later:
            account = (await later.client.call(ACCOUNT_READ, AccountReadParams())).account
    assert account is not None
    assert account.type == "apiKey"
    assert (home.path / "auth.json").stat().st_mode & 0o777 == 0o600


async def test_sixteen_streams_do_not_hold_up_a_stop(codex: CodexBinary, state: Path, workspace: Path) -> None:
    release = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        return Reply((BeginSaying("Thinking"), Wait(release)))

    async with stage(codex, state, workspace, script) as play:
        turns = [await play.begin("go", chat=str(chat), number=str(chat)) for chat in range(17)]
        for _ in turns:
            await play.model.next_request()
        *others, chosen = turns
        while chosen.ledger is None or not chosen.ledger.began:
            await anyio.lowlevel.checkpoint()
        with anyio.fail_after(STOPPED_WITHIN):
            await chosen.interrupt()
            result = await chosen.result()
        still_running = [turn.buffer.result is None for turn in others]
    assert (result.outcome, still_running) == (Outcome.INTERRUPTED, [True] * 16)


async def test_it_is_reached_over_a_websocket_with_a_token_and_not_without(codex: CodexBinary, state: Path) -> None:
    token = state / "token"
    token.write_text("a-token-of-this-test\n", encoding="utf-8")
    flags = ["--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-file", str(token)]
    with anyio.fail_after(LIMIT):
        async with listening(codex, state, flags, r"ws://127\.0\.0\.1:\d+") as url:
            with pytest.raises(ConnectError, match=r"HTTP 401 \(the token is missing or wrong\)"):
                async with websocket(url):
                    raise NotImplementedError
            async with websocket(url, token=TokenFrom(file=token)) as transport, connected(transport) as client:
                version = await handshake(client)
    assert version.numbers >= (0, 163, 0)
    assert "a-token" not in repr(transport.name)


async def test_it_is_reached_over_a_unix_socket(codex: CodexBinary, state: Path, tmp_path: Path) -> None:
    path = tmp_path / "app.sock"
    with anyio.fail_after(LIMIT):
        async with listening(codex, state, ["--listen", f"unix://{path}"], None):
            async for _ in awatch(tmp_path, rust_timeout=50, yield_on_timeout=True):
                if path.exists():
                    break
            async with unix_socket(path) as transport, connected(transport) as client:
                version = await handshake(client)
            mode = path.stat().st_mode & 0o777
    assert version.numbers >= (0, 163, 0)
    assert mode == 0o600


@asynccontextmanager
async def listening(codex: CodexBinary, state: Path, flags: Sequence[str], banner: str | None) -> AsyncGenerator[str]:
    """Run `codex app-server` with a listener and give the address that it prints."""
    home = Home(private_dir(state / "listener-home"), owned=True)
    environment = child_environment(home.path, tools_dir=codex.tools_dir).passed
    command = [str(codex.path), "-c", "features.plugins=false", "app-server", *flags]
    process = await anyio.open_process(command, env=environment)
    async with process:
        try:
            yield await _address(process.stderr, banner) if banner else ""
        finally:
            process.kill()


async def _address(stream: ByteReceiveStream | None, banner: str) -> str:
    assert stream is not None
    seen = ""
    async for text in TextReceiveStream(stream, errors="replace"):
        seen += text
        if found := re.search(banner + r"\b", seen):
            return found.group()
    raise AssertionError(f"no address in {seen!r}")


async def test_an_answer_is_one_line_however_long(codex: CodexBinary, state: Path, workspace: Path) -> None:
    """Peers with a line limit die of this."""
    long = "word " * 300_000
    async with stage(codex, state, workspace, lambda _: say(long.strip(), pieces=3)) as play:
        result = await play.ask("tell me all")
    assert (result.outcome, len(result.text)) == (Outcome.ANSWERED, len(long) - 1)


async def test_fifty_turns_under_a_flood_of_log_lines_are_all_answered(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody empties would stop the server after 64 KiB."""
    drained = 0

    def feed(tail: StderrTail, chunk: bytes) -> None:
        nonlocal drained
        drained += len(chunk)
        original(tail, chunk)

    original = StderrTail.feed
    monkeypatch.setattr(StderrTail, "feed", feed)
    monkeypatch.setenv("RUST_LOG", "debug")
    async with stage(codex, state, workspace, lambda request: say("Here.")) as play:
        answers = [(await play.ask("hello", number=str(number))).text for number in range(50)]
        server = play.harness.server
        assert server is not None
        transport = server.client.transport
        assert isinstance(transport, StdioTransport)
        tail = transport.stderr_tail
    assert answers == ["Here."] * 50
    assert drained > 20 * 64 * 1024
    assert 0 < len(tail.encode()) <= TAIL_SIZE
    assert play.model.token not in tail
