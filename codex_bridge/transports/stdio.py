"""An app-server as our child process, one message a line on its pipes."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGTERM

import anyio

from codex_bridge.errors import ConnectionLostError, OversizedMessageError, TransportError
from codex_bridge.rpc import MESSAGE_LIMIT, LineFramer, MessageTooLargeError
from codex_bridge.transports.child import Child


class StdioTransport:
    """The client's end of a running child; make one with `spawned`."""

    def __init__(self, server: Child, *, limit: int) -> None:
        self._server = server
        self._limit = limit
        self._framer = LineFramer(limit=limit)
        self._hear: Callable[[list[bytes]], None] = self._keep
        self._end: Callable[[TransportError], None] | None = None
        self._kept: list[bytes] = []
        self._error: TransportError | None = None
        self._news = anyio.Event()
        self._closed = False
        server.on_stdout, server.on_gone = self._take, self._lose

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._server.pid

    @property
    def name(self) -> str:
        """For logs and errors."""
        return f"stdio (process {self.pid})"

    @property
    def stderr_tail(self) -> str:
        """The masked last words of the server, at most 1 KB."""
        return self._server.stderr_tail

    def attach(self, hear: Callable[[list[bytes]], None], end: Callable[[TransportError], None]) -> None:
        """Hand over messages as they come; see `DirectTransport.attach`."""
        self._hear, self._end = hear, end
        if self._kept:
            hear(self._kept)
            self._kept = []
        if self._error is not None:
            end(self._error)

    def write(self, message: bytes) -> None:
        """Send one whole message; see `DirectTransport.write`."""
        stdin = self._server.stdin
        # Of a pipe that broke the reader tells, and asyncio would complain about each message.
        if self._error is None and not self._closed and stdin is not None and not stdin.is_closing():
            stdin.write(message + b"\n")

    async def send(self, message: bytes) -> None:
        """Send one whole message; see `Transport.send`."""
        if self._error is None and self._closed:
            self._error = await self._server.lost("it was closed")
        if isinstance(self._error, ConnectionLostError):
            raise self._error
        if self._error is not None:
            raise ConnectionLostError(str(self._error))
        self.write(message)

    async def receive(self) -> list[bytes]:
        """Wait for the next messages; see `Transport.receive`."""
        while not self._kept:
            if self._error is not None:
                raise self._error
            self._news = anyio.Event()
            await self._news.wait()
        messages, self._kept = self._kept, []
        return messages

    async def aclose(self) -> None:
        """Close stdin, wait, terminate the group, wait, kill the group: at most three times `child.GRACE`."""
        if self._closed:
            return
        self._closed = True
        self._server.hang_up()
        await self._server.end(None, SIGTERM)

    def _take(self, chunk: bytes) -> None:
        if self._error is not None:
            return
        try:
            lines = self._framer.feed(chunk)
        except MessageTooLargeError:
            self._server.hold()
            self._lose(OversizedMessageError(self._limit))
            return
        if lines:
            self._hear(lines)

    def _keep(self, messages: list[bytes]) -> None:
        self._kept += messages
        self._news.set()

    def _lose(self, error: TransportError) -> None:
        if self._error is None:
            self._error = error
            self._news.set()
            if self._end is not None:
                self._end(error)


@asynccontextmanager
async def spawned(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    secrets: Iterable[str] = (),
    limit: int = MESSAGE_LIMIT,
) -> AsyncGenerator[StdioTransport]:
    """Run `command` as an app-server for as long as the block lasts.

    Args:
        command: Program and arguments.
        env: The child's whole environment.
        cwd: Its working directory.
        secrets: Values to mask in its stderr, besides what looks like a credential.
        limit: Ceiling of one message in bytes.

    Raises:
        ConnectError: The program could not be started.
    """
    server = Child(secrets=secrets)
    transport = StdioTransport(server, limit=limit)
    async with server.running(command, env=env, cwd=cwd):
        try:
            yield transport
        finally:
            await transport.aclose()
