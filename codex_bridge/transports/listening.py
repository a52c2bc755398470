"""An app-server of our own that listens, on a unix socket or a WebSocket, and lets in nobody but us.

A socket has mode 0600 and lies in a folder of mode 0700; a WebSocket asks for a token that was made for this one start
(spec 4). Unlike one on stdio, such a server does not notice when we are gone (measured): so each is noted down, and the
next start ends those whose gateway died.
"""

import os
import re
import signal
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio

from codex_bridge.errors import ConnectError, ConnectionLostError
from codex_bridge.home import private_dir
from codex_bridge.orphans import DRAIN, ENDING, end_orphans, forget, note, write_private
from codex_bridge.rpc import MESSAGE_LIMIT
from codex_bridge.sources import Listener
from codex_bridge.transports.child import Child
from codex_bridge.transports.websocket import TokenFrom, WebSocketTransport, unix_socket, websocket

LONGEST_PATH: Final = 103
"""Bytes that the path of a socket may have on every system (Linux takes 107)."""
UP_WITHIN = 15.0
"""Seconds for a server to listen; measured are 0.07."""
LOOK_AGAIN: Final = 0.005
"""Seconds between two looks whether it listens: a unix listener says nothing of it."""
_ADDRESS: Final = re.compile(rb"listening on: (ws://127\.0\.0\.1:\d+)\s")
_FIRST_WORDS: Final = 16 * 1024
"""Bytes of stderr in which the address is looked for."""


class ChildSocket:
    """A connection to a listening server of ours; what ended the process is told in place of what ended the socket."""

    def __init__(self, socket: WebSocketTransport, server: Child) -> None:
        self.name = f"{socket.name} (process {server.pid})"
        self.pid = server.pid
        self._socket = socket
        self._server = server

    async def send(self, message: bytes) -> None:
        """Send one whole message; see `Transport.send`."""
        try:
            await self._socket.send(message)
        except ConnectionLostError as error:
            raise await self._server.lost(error.cause) from None

    async def receive(self) -> list[bytes]:
        """Wait for the next messages; see `Transport.receive`."""
        try:
            return await self._socket.receive()
        except ConnectionLostError as error:
            raise await self._server.lost(error.cause) from None

    async def aclose(self) -> None:
        """Say goodbye. The process ends with the block of `listening`."""
        await self._socket.aclose()


@asynccontextmanager
async def listening(
    command: Sequence[str],
    listener: Listener,
    *,
    env: Mapping[str, str],
    secrets: Iterable[str] = (),
    limit: int = MESSAGE_LIMIT,
) -> AsyncGenerator[ChildSocket]:
    """Run `command` as a listening app-server, and talk to it, for as long as the block lasts.

    Args:
        command: Program and arguments, but those that say how to listen.
        listener: How to listen.
        env: The child's whole environment.
        secrets: Values to mask in its stderr, besides what looks like a credential.
        limit: Ceiling of one message in bytes.

    Raises:
        ConnectError: It could not be started, or does not listen in time.
        ConnectionLostError: It ended before it listened; carries the masked tail of its stderr.
        StateFolderError: Its folder cannot be made.
    """
    folder = private_dir(listener.folder)
    await end_orphans(folder)
    name = os.urandom(4).hex()
    words = _FirstWords()
    async with AsyncExitStack() as stack:
        if listener.kind == "unix":
            path = stack.enter_context(_room(folder, f"{name}.sock"))
            flags = ["--listen", f"unix://{path}"]
        else:
            path = folder / f"{name}.token"
            write_private(path, os.urandom(32).hex().encode())
            flags = ["--listen", "ws://127.0.0.1:0", "--ws-auth", "capability-token", "--ws-token-file", str(path)]
        noted = folder / f"{name}{ENDING}"
        stack.callback(forget, noted, [path])
        server = Child(secrets=secrets, on_stderr=words.feed)
        await stack.enter_async_context(server.running([*command, *flags], env=env, piped=False))
        stack.push_async_callback(_end, server)
        note(noted, server.pid, [path])

        def connect() -> AbstractAsyncContextManager[WebSocketTransport] | None:
            if listener.kind == "unix":
                return unix_socket(path, limit=limit) if path.exists() else None
            return websocket(words.address, token=TokenFrom(file=path), limit=limit) if words.address else None

        yield ChildSocket(await _reached(stack, server, connect), server)


class _FirstWords:
    """What a server says first on stderr: where it listens."""

    def __init__(self) -> None:
        self.address = ""
        self._kept = b""

    def feed(self, chunk: bytes) -> None:
        if self.address or len(self._kept) > _FIRST_WORDS:
            return
        self._kept += chunk
        if found := _ADDRESS.search(self._kept):
            self.address = found[1].decode()


@contextmanager
def _room(folder: Path, name: str) -> Generator[Path]:
    """A path that a socket can have: in `folder`, or where that is too long, in a short folder of its own.

    Raises:
        ConnectError: That is too long, too.
    """
    path = folder / name
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield path
        return
    from tempfile import gettempdir, mkdtemp  # most state folders are near enough

    short = Path(mkdtemp(prefix="codex-bridge-"))  # 0700
    try:
        path = short / name
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise ConnectError(
                f"No unix socket fits into {folder} or {gettempdir()}: its path may have {LONGEST_PATH} bytes; name a "
                "shorter folder with CODEX_BRIDGE_STATE_DIR, or use appServer.transport stdio."
            )
        yield path
    finally:
        with suppress(OSError):
            short.rmdir()


async def _reached(
    stack: AsyncExitStack,
    server: Child,
    connect: Callable[[], AbstractAsyncContextManager[WebSocketTransport] | None],
) -> WebSocketTransport:
    """Wait until a server listens, and connect to it."""
    problem = ""
    with anyio.move_on_after(UP_WITHIN):
        while True:
            try:
                if (opening := connect()) is not None:
                    return await stack.enter_async_context(opening)
            except ConnectError as error:  # the path of a socket is there a moment before it can be connected to
                problem = f" ({error})"
            if server.exited.is_set():
                raise await server.lost("it ended")
            await anyio.sleep(LOOK_AGAIN)
    words = f"\nLast words of the server:\n{server.stderr_tail}" if server.stderr_tail else ""
    raise ConnectError(f"The app-server did not listen within {UP_WITHIN:g} s{problem}.{words}")


async def _end(server: Child) -> None:
    with anyio.CancelScope(shield=True):
        server.signal(signal.SIGTERM)
        with anyio.move_on_after(DRAIN):
            await server.exited.wait()
    await server.end(signal.SIGTERM)
