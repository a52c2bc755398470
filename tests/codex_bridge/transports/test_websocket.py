"""A listening server is talked to only where a stranger cannot listen in, and the token shows nowhere."""

import logging
import socket
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import anyio
import pytest
from websockets.asyncio.server import Server, ServerConnection, serve, unix_serve
from websockets.http11 import Request, Response

from codex_bridge.errors import ConnectError, ConnectionLostError, OversizedMessageError
from codex_bridge.transports.websocket import TokenFrom, unix_socket, websocket
from tests.support.scripts import contract
from tests.support.serving import LIMIT, linked, listening

TOKEN = "lantern-harbour-1289"
ECHO = b'{"id":1,"method":"echo","params":{}}'


def address(server: Server) -> str:
    _, port = next(iter(server.sockets)).getsockname()
    return f"ws://127.0.0.1:{port}"


@asynccontextmanager
async def guarded() -> AsyncGenerator[str]:
    """A server that lets in who knows the token, and then says what it was told in the handshake."""

    def check(connection: ServerConnection, request: Request) -> Response | None:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return connection.respond(HTTPStatus.UNAUTHORIZED, "no")
        return None

    async def tell(connection: ServerConnection) -> None:
        assert connection.request is not None
        await connection.send(f"{connection.request.path} {connection.request.headers.get('Origin')}")
        await connection.wait_closed()

    async with serve(tell, "127.0.0.1", 0, process_request=check) as server:
        yield address(server)


async def test_a_token_from_a_file_opens_the_door(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"  {TOKEN}\n", "utf-8")
    with anyio.fail_after(LIMIT):
        async with guarded() as url, websocket(url, token=TokenFrom(file=file)) as transport:
            # The real server refuses every upgrade that carries an Origin header.
            assert await transport.receive() == [b"/ None"]
            assert TOKEN not in f"{transport.name} {transport!r} {vars(transport)}"


async def test_a_log_of_everything_does_not_show_the_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN, "utf-8")
    with caplog.at_level(logging.DEBUG), anyio.fail_after(LIMIT):
        async with guarded() as url, websocket(url, token=TokenFrom(file=file)) as transport:
            await transport.receive()
    logged = [record.getMessage() for record in caplog.records if record.name == "codex_bridge.websocket"]
    assert not [line for line in logged if TOKEN in line]


async def test_a_token_from_the_environment_opens_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_TOKEN", TOKEN)
    source = TokenFrom(variable="SERVER_TOKEN")
    with anyio.fail_after(LIMIT):
        async with guarded() as url, websocket(url, token=source) as transport:
            assert await transport.receive() == [b"/ None"]
    assert TOKEN not in repr(source)


@pytest.mark.parametrize("token", [None, "wrong-token-77"])
async def test_without_the_right_token_the_error_says_so(tmp_path: Path, token: str | None) -> None:
    file = tmp_path / "token"
    file.write_text(token or "", "utf-8")
    with anyio.fail_after(LIMIT):
        async with guarded() as url:
            with pytest.raises(ConnectError) as caught:
                async with websocket(url, token=TokenFrom(file=file) if token else None):
                    raise NotImplementedError

    assert str(caught.value) == (
        f"The server at {url} refused the connection with HTTP 401 (the token is missing or wrong)."
    )
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("kind", ["another host", "the same host", "no address at all"])
async def test_a_server_that_sends_us_on_is_not_followed(tmp_path: Path, status: int, kind: str) -> None:
    file, reached = tmp_path / "token", list[str]()
    file.write_text(TOKEN, "utf-8")

    def note(connection: ServerConnection, request: Request) -> None:
        reached.append(f"{request.path} {request.headers.get('Authorization')}")

    async def never(connection: ServerConnection) -> None:
        raise NotImplementedError

    def send_on(connection: ServerConnection, request: Request) -> Response:
        assert request.path == "/", "it came back"
        response = connection.respond(HTTPStatus(status), "elsewhere")
        places = {"another host": f"{elsewhere}/?key={TOKEN}", "the same host": "/again", "no address at all": "http:"}
        response.headers["Location"] = places[kind]
        return response

    with anyio.fail_after(LIMIT):
        async with (
            serve(never, "127.0.0.1", 0, process_request=note) as other,
            serve(never, "127.0.0.1", 0, process_request=send_on) as server,
        ):
            url, elsewhere = address(server), address(other).replace("127.0.0.1", "localhost")
            with pytest.raises(ConnectError) as caught:
                async with websocket(url, token=TokenFrom(file=file)):
                    raise NotImplementedError
    assert str(caught.value) == (
        f"The server at {url} sends the connection on to another address (HTTP {status}), which is not "
        "followed; name the address of the app-server itself."
    )
    assert reached == []


async def test_a_server_on_a_unix_socket_that_sends_us_on_is_not_followed() -> None:
    asked: list[str] = []

    def send_on(connection: ServerConnection, request: Request) -> Response:
        asked.append(request.path)
        response = connection.respond(HTTPStatus.FOUND, "elsewhere")
        response.headers["Location"] = "/again"
        return response

    async def never(connection: ServerConnection) -> None:
        raise NotImplementedError

    with anyio.fail_after(LIMIT), tempfile.TemporaryDirectory(prefix="fake-") as folder:
        path = Path(folder) / "socket"
        async with unix_serve(never, str(path), process_request=send_on):
            with pytest.raises(ConnectError, match=f"The server at unix socket {path} sends the connection on"):
                async with unix_socket(path):
                    raise NotImplementedError
    assert asked == ["/"]


async def test_the_proxy_of_the_environment_is_not_told_of_a_server_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy elsewhere could not reach it, and would get the token of a plain connection to read."""
    asked: list[bytes] = []

    async def listen(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            asked.append(await stream.receive())

    proxy = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = proxy.extra(anyio.abc.SocketAttribute.local_port)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ws_proxy", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    with anyio.fail_after(LIMIT):
        async with proxy, anyio.create_task_group() as group:
            group.start_soon(proxy.serve, listen)
            async with listening(contract()) as url, websocket(url) as transport:
                await transport.send(ECHO)
                assert await transport.receive() == [b'{"id":1,"result":{}}']
            group.cancel_scope.cancel()
    assert asked == []


def test_a_token_that_is_not_where_it_should_be_is_named_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERVER_TOKEN", raising=False)
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_bytes(b" \n")
    binary.write_bytes(b"\xff\xfe")

    for source, message in [
        (TokenFrom(file=empty), f"The token file {empty} holds no token"),
        (TokenFrom(file=tmp_path / "missing"), f"The token file {tmp_path / 'missing'} cannot be read: .*No such file"),
        (TokenFrom(file=binary), f"The token file {binary} holds more than a token"),
        (TokenFrom(variable="SERVER_TOKEN"), "The environment variable SERVER_TOKEN holds no token"),
        (TokenFrom(), "Name either a token file or an environment variable"),
        (TokenFrom(file=empty, variable="SERVER_TOKEN"), "Name either a token file or an environment variable"),
    ]:
        with pytest.raises(ConnectError, match=message):
            source.read()


@pytest.mark.parametrize(
    "text",
    [
        "first\nsecond",
        "first second",
        "first\tsecond",
        "first\0",
        "geh\u00e9im",
        "\u0442\u043e\u043a\u0435\u043d",
        "\ufefffirst",
    ],
)
async def test_what_can_be_no_token_is_refused_without_a_word_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = tmp_path / "secret"
    file.write_text(text, "utf-8")
    places = {f"The token file {file}": TokenFrom(file=file)}
    if "\0" not in text:  # no variable can hold that
        monkeypatch.setenv("SERVER_TOKEN", text)
        places["The environment variable SERVER_TOKEN"] = TokenFrom(variable="SERVER_TOKEN")
    said: dict[str, str] = {}
    with anyio.fail_after(LIMIT):
        async with listening(contract()) as url:
            for place, source in places.items():
                with pytest.raises(ConnectError) as caught:
                    async with websocket(url, token=source):
                        raise NotImplementedError
                said[place] = str(caught.value)
    assert said == {
        place: f"{place} holds more than a token, which is one word of visible ASCII characters." for place in places
    }


async def test_a_server_that_repeats_the_token_in_its_answer_does_not_get_it_into_the_error(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN, "utf-8")

    async def repeat(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(
                f"HTTP/1.1 101 Bearer {TOKEN}\r\nConnection: Upgrade\r\nUpgrade: {TOKEN}\r\n\r\n".encode()
            )

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    with anyio.fail_after(LIMIT):
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, repeat)
            url = f"ws://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
            with pytest.raises(ConnectError) as caught:
                async with websocket(url, token=TokenFrom(file=file)):
                    raise NotImplementedError
            assert str(caught.value) == f"No app-server answers at {url}: what listens there speaks no WebSocket."
            assert caught.value.__suppress_context__
            group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:4500", "starts with ws:// or wss://"),
        ("ws://", "starts with ws:// or wss://"),
        ("127.0.0.1:4500", "starts with ws:// or wss://"),
        (f"ws://someone:{TOKEN}@127.0.0.1:4500", "Take the credential out of the address of ws://127.0.0.1:4500;"),
        (f"ws://{TOKEN}@127.0.0.1:4500", "Take the credential out of the address"),
        (f"ws://127.0.0.1:4500/#{TOKEN}", "Take the credential out of the address"),
        ("ws://@127.0.0.1:1", "Take the credential out of the address of ws://127.0.0.1:1;"),
        ("ws://:@127.0.0.1:1", "Take the credential out of the address of ws://127.0.0.1:1;"),
        (f"wss://example.org/?token={TOKEN}", "Take the credential out of the address of wss://example.org;"),
        ("ws://example.org:4500", r"Plain ws:// would send everything to example\.org unprotected"),
        ("ws://192.168.1.7:4500", "Plain ws:// would send everything"),
        ("ws://127.0.0.1.example.org", "Plain ws:// would send everything"),
        ("ws://0.0.0.0:4500", "Plain ws:// would send everything"),
        ("ws://[2001:db8::1]:4500", "Plain ws:// would send everything"),
    ],
)
async def test_an_address_that_is_not_safe_is_refused_before_anything_is_sent(url: str, message: str) -> None:
    with anyio.fail_after(LIMIT), pytest.raises(ConnectError, match=message) as caught:
        async with websocket(url):
            raise NotImplementedError
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "ws://127.0.0.1:99999",
        "ws://127.0.0.1:port",
        "ws://[::1",
        f"wss://{'a' * 64}.example/",
        f"wss://{'é' * 64}/",
        "wss://a..example/",
        "wss://a\0b/",
        "wss://\ud800/",
        "wss://example.org/\ud800",
        "ws://127.0.0.1:1\n",
    ],
)
async def test_an_address_that_cannot_be_read_is_refused_in_one_sentence(url: str) -> None:
    with anyio.fail_after(LIMIT), pytest.raises(ConnectError) as caught:
        async with websocket(url):
            raise NotImplementedError
    assert str(caught.value) == "The app-server address cannot be read; it looks like ws://127.0.0.1:4500."


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_nobody_at_the_address_is_one_sentence(host: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with (
        anyio.fail_after(LIMIT),
        pytest.raises(ConnectError, match=rf"^No app-server answers at ws://.*:{port}: .+") as caught,
    ):
        async with websocket(f"ws://{host}:{port}"):
            raise NotImplementedError
    assert "\n" not in str(caught.value)


async def test_no_socket_at_the_path_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with anyio.fail_after(LIMIT), pytest.raises(ConnectError, match=rf"^No app-server answers at unix socket {path}: "):
        async with unix_socket(path):
            raise NotImplementedError


async def test_a_server_that_talks_no_websocket_is_one_sentence() -> None:
    async def talk(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"220 ready\r\n")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    with anyio.fail_after(LIMIT):
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, talk)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            with pytest.raises(ConnectError, match="No app-server answers at"):
                async with websocket(f"ws://127.0.0.1:{port}"):
                    raise NotImplementedError
            group.cancel_scope.cancel()


async def test_the_end_carries_the_reason_that_the_server_gave() -> None:
    async def close(connection: ServerConnection) -> None:
        await connection.close(1012, "restarting")

    with anyio.fail_after(LIMIT):
        async with serve(close, "127.0.0.1", 0) as server, websocket(address(server)) as transport:
            with pytest.raises(ConnectionLostError) as caught:
                await transport.receive()
    assert caught.value.cause == "the server closed it with code 1012 (restarting)"


async def test_a_connection_that_breaks_off_is_lost() -> None:
    async def abort(connection: ServerConnection) -> None:
        connection.transport.abort()

    with anyio.fail_after(LIMIT):
        async with serve(abort, "127.0.0.1", 0) as server, websocket(address(server)) as transport:
            for _ in range(2):
                with pytest.raises(ConnectionLostError, match="the connection broke off"):
                    await transport.receive()


async def test_a_server_that_finds_our_message_too_long_is_not_said_to_have_sent_one() -> None:
    with anyio.fail_after(LIMIT):
        async with listening(contract(), max_size=1_000) as url, websocket(url) as transport:
            await transport.send(b"x" * 2_000)
            with pytest.raises(ConnectionLostError, match="the server closed it with code 1009"):
                await transport.receive()


async def test_messages_travel_as_text_frames_without_compression() -> None:
    """The real server ignores binary frames without a word."""
    seen: list[object] = []

    async def hear(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.append(connection.request.headers.get("Sec-WebSocket-Extensions"))
        seen.append(await connection.recv())
        await connection.send("{}")

    with anyio.fail_after(LIMIT):
        async with serve(hear, "127.0.0.1", 0) as server, websocket(address(server)) as transport:
            await transport.send(ECHO)
            assert await transport.receive() == [b"{}"]
    assert seen == [None, ECHO.decode()]


async def test_closing_does_not_wait_for_a_server_that_does_not_say_goodbye(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.transports.websocket.GOODBYE", 0.2)
    done = anyio.Event()

    async def sulk(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        await done.wait()

    with anyio.fail_after(LIMIT):
        async with serve(sulk, "127.0.0.1", 0, close_timeout=0.1) as server, websocket(address(server)) as transport:
            with anyio.fail_after(2):
                await transport.aclose()
                await transport.aclose()
            done.set()


@pytest.mark.parametrize("kind", ["websocket", "unix"])
async def test_an_oversized_message_is_told_again_and_again(kind: str) -> None:
    async with linked(kind, "contract", limit=1_000) as transport:
        await transport.send(b'{"id":1,"method":"grow","params":{"bytes":2000}}')
        for _ in range(3):
            with pytest.raises(OversizedMessageError):
                await transport.receive()
