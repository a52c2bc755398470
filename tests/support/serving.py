"""The fake app-server within reach of a test: in the same process, on a socket, or as a child.

Each block ends within `LIMIT` seconds, so that a test that hangs fails.
"""

import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import anyio
from websockets.asyncio.server import ServerConnection, serve, unix_serve
from websockets.exceptions import ConnectionClosed

from codex_bridge.errors import ConnectionLostError, TransportError
from codex_bridge.rpc import MESSAGE_LIMIT, Event, Json, Notified, Requested
from codex_bridge.transports.base import Transport
from codex_bridge.transports.memory import memory_pair
from codex_bridge.transports.stdio import spawned
from codex_bridge.transports.websocket import unix_socket, websocket
from harness.tasks import beside
from tests.support.fake_server import PROGRAM, FakeServer, HangUp, Message, Output, Raw, Script, Step
from tests.support.scripts import SCRIPTS

LIMIT: Final = 20.0
"""Seconds; only a test that fails ever waits for it."""

Kind = TypeVar("Kind", bound=Event)


class Served:
    """A fake server inside the test's process, and what it has heard."""

    def __init__(self, server: FakeServer, wire: Transport) -> None:
        self.server = server
        self.wire = wire
        self.heard: list[Event] = []
        self.gone = anyio.Event()
        """Set when the client's end is closed."""
        self._news = anyio.Event()

    @property
    def requests(self) -> list[str]:
        """The methods asked for so far."""
        return [event.method for event in self.heard if isinstance(event, Requested)]

    async def do(self, *steps: Step, to: Event | None = None) -> None:
        """Carry out steps now; `Result` and `Failure` answer `to`."""
        await self._carry_out(self.server.perform(steps, to))

    async def hang_up(self) -> None:
        """Close the connection."""
        await self.wire.aclose()

    async def heard_of(self, kind: type[Kind], number: int = 1) -> Kind:
        """Wait until `number` events of that kind came in, and return the last of these."""
        while len(found := [event for event in self.heard if isinstance(event, kind)]) < number:
            self._news = anyio.Event()
            await self._news.wait()
        return found[number - 1]

    async def serve(self) -> None:
        """Serve the connection to its end."""
        try:
            await self._carry_out(self.server.begin())
            while True:
                for message in await self.wire.receive():
                    event, outputs = self.server.hear(message)
                    self.heard.append(event)
                    self._news.set()
                    await self._carry_out(outputs)
        except TransportError:
            self.gone.set()

    async def _carry_out(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            match output:
                case Message(data) | Raw(data):
                    await self.wire.send(data)
                case HangUp():
                    await self.wire.aclose()
                case _:
                    raise NotImplementedError(f"{output} is for a child process")


@asynccontextmanager
async def serving(script: Script) -> AsyncGenerator[tuple[Transport, Served]]:
    """A fake server at the other end of a memory transport."""
    ours, theirs = memory_pair()
    served = Served(FakeServer(script), theirs)
    with anyio.fail_after(LIMIT):
        async with beside() as group:
            group.start_soon(served.serve)
            try:
                yield ours, served
            finally:
                await ours.aclose()
                await theirs.aclose()


class Told:
    """A notification handler that keeps what it hears."""

    def __init__(self) -> None:
        self.all: list[Notified] = []
        self._news = anyio.Event()

    def __call__(self, notification: Notified) -> None:
        """Hear a notification."""
        self.all.append(notification)
        self._news.set()

    def params(self, method: str) -> list[dict[str, Json]]:
        """The parameters of every notification of that method so far."""
        return [dict(each.params) for each in self.all if each.method == method]

    async def until(self, method: str, number: int = 1) -> list[dict[str, Json]]:
        """Wait for so many notifications of that method, and return their parameters."""
        while len(found := self.params(method)) < number:
            self._news = anyio.Event()
            await self._news.wait()
        return found


class _Socket:
    """The server's end of a WebSocket as a `Transport`."""

    def __init__(self, connection: ServerConnection) -> None:
        self.name = "the fake's end"
        self._connection = connection

    async def send(self, message: bytes) -> None:
        try:
            await self._connection.send(message, text=True)
        except ConnectionClosed:
            raise ConnectionLostError("closed") from None

    async def receive(self) -> list[bytes]:
        try:
            return [await self._connection.recv(decode=False)]
        except ConnectionClosed:
            raise ConnectionLostError("closed") from None

    async def aclose(self) -> None:
        await self._connection.close()


async def _attend(connection: ServerConnection, script: Script) -> None:
    await Served(FakeServer(script), _Socket(connection)).serve()


@asynccontextmanager
async def listening(script: Script, *, max_size: int | None = None) -> AsyncGenerator[str]:
    """A fake server on a WebSocket; gives its address."""
    async with serve(lambda c: _attend(c, script), "127.0.0.1", 0, max_size=max_size, compression=None) as server:
        _, port = next(iter(server.sockets)).getsockname()
        yield f"ws://127.0.0.1:{port}"


@asynccontextmanager
async def listening_on_unix(script: Script) -> AsyncGenerator[Path]:
    """A fake server on a unix socket; gives its path."""
    # Not below pytest's folders: the path of a socket may have no more than about 100 characters.
    with tempfile.TemporaryDirectory(prefix="fake-") as folder:
        path = Path(folder) / "socket"
        async with unix_serve(lambda c: _attend(c, script), str(path), max_size=None, compression=None):
            yield path


def command(script: str) -> list[str]:
    """The command line of a fake server that plays `script`."""
    return [sys.executable, str(PROGRAM), script]


def executable(folder: Path, script: str) -> Path:
    """Make a program in `folder` that plays `script` whatever its arguments are, as an installed Codex would."""
    path = folder / f"codex-{script}"
    words = " ".join(f"'{word}'" for word in command(script))
    path.write_text(f"#!/bin/sh\nexec {words}\n", "utf-8")
    path.chmod(0o755)
    return path


@asynccontextmanager
async def _memory(script: str, limit: int) -> AsyncGenerator[Transport]:
    ours, theirs = memory_pair(limit=limit)
    served = Served(FakeServer(SCRIPTS[script]()), theirs)
    async with beside() as group:
        group.start_soon(served.serve)
        try:
            yield ours
        finally:
            await ours.aclose()
            await theirs.aclose()


@asynccontextmanager
async def _stdio(script: str, limit: int) -> AsyncGenerator[Transport]:
    async with spawned(command(script), env={}, limit=limit) as transport:
        yield transport


@asynccontextmanager
async def _websocket(script: str, limit: int) -> AsyncGenerator[Transport]:
    async with listening(SCRIPTS[script]()) as url, websocket(url, limit=limit) as transport:
        yield transport


@asynccontextmanager
async def _unix(script: str, limit: int) -> AsyncGenerator[Transport]:
    async with listening_on_unix(SCRIPTS[script]()) as path, unix_socket(path, limit=limit) as transport:
        yield transport


_OPENINGS: Final = {"memory": _memory, "stdio": _stdio, "websocket": _websocket, "unix": _unix}
TRANSPORTS: Final = tuple(_OPENINGS)
"""Every kind of transport."""


@asynccontextmanager
async def linked(kind: str, script: str, *, limit: int = MESSAGE_LIMIT) -> AsyncGenerator[Transport]:
    """A transport of that kind to a fake server that plays `script`."""
    with anyio.fail_after(LIMIT):
        async with _OPENINGS[kind](script, limit) as transport:
            yield transport


def is_running(pid: int) -> bool:
    """Whether a process of that id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
