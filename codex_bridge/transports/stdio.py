"""An app-server as our child process, one message a line on its pipes."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import SIGTERM

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from codex_bridge.errors import OversizedMessageError
from codex_bridge.rpc import MESSAGE_LIMIT, LineFramer, MessageTooLargeError
from codex_bridge.transports.child import READ_SIZE, Child, child
from harness.tasks import beside


class StdioTransport:
    """The client's end of a running child; make one with `spawned`."""

    def __init__(self, server: Child, *, limit: int) -> None:
        if server.process.stdin is None or server.process.stdout is None:
            raise ValueError("the process must have pipes for stdin and stdout")
        self.name = f"stdio (process {server.pid})"
        self.pid = server.pid
        self._server = server
        self._stdin: ByteSendStream = server.process.stdin
        self._stdout: ByteReceiveStream = server.process.stdout
        self._limit = limit
        self._framer = LineFramer(limit=limit)
        self._closed = False
        self._oversized = False
        self._ended = anyio.Event()

    @property
    def stderr_tail(self) -> str:
        """The masked last words of the server, at most 1 KB."""
        return self._server.stderr_tail

    async def send(self, message: bytes) -> None:
        """Send one whole message; see `Transport.send`."""
        try:
            await self._stdin.send(message + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise await self._server.lost() from None

    async def receive(self) -> list[bytes]:
        """Wait for the next messages; see `Transport.receive`."""
        while True:
            if self._oversized:
                raise OversizedMessageError(self._limit)
            try:
                chunk = await self._stdout.receive(READ_SIZE)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                self._ended.set()
                raise await self._server.lost() from None
            try:
                lines = self._framer.feed(chunk)
            except MessageTooLargeError:
                self._oversized = True
                await self.aclose()
                continue
            if lines:
                return lines

    async def aclose(self) -> None:
        """Close stdin, wait, terminate the group, wait, kill the group: at most three times `child.GRACE`."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._stdin.aclose()
        await self._server.end(None, SIGTERM)

    async def notice_exit(self) -> None:
        """End `receive` when the server is gone although something it started keeps its stdout open."""
        await self._server.process.wait()
        with anyio.move_on_after(self._server.grace):
            await self._ended.wait()
            return
        await self._stdout.aclose()


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
    async with child(command, env=env, cwd=cwd, secrets=secrets) as server:
        transport = StdioTransport(server, limit=limit)
        async with beside() as group:
            group.start_soon(transport.notice_exit)
            try:
                yield transport
            finally:
                await transport.aclose()
