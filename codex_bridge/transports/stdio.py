"""An app-server as our child process, one message a line on its pipes.

The child gets its own process group, so that whatever it started dies with it. Its stderr is always read,
or it would block on a full pipe; of what it says only a short masked tail is kept.
"""

import os
import re
import signal
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from codex_bridge.errors import ConnectError, ConnectionLostError, OversizedMessageError
from codex_bridge.masking import mask
from codex_bridge.rpc import MESSAGE_LIMIT, LineFramer, MessageTooLargeError
from harness.tasks import beside

READ_SIZE = 256 * 1024
TAIL_SIZE = 1024
"""Bytes of stderr that an error may carry."""
GRACE = 2.0
"""Seconds for each step of the shutdown: stdin closed, then SIGTERM, then SIGKILL. The real server exits
20 to 70 ms after its stdin closes (protocol reference, section 7)."""
_CUT_WORD = re.compile(r"^[!-~]+")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class StderrTail:
    """The last kilobyte of a server's stderr, with credentials masked."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        # Masking needs whole words, so more is kept than is ever shown.
        self._kept = b""
        self._margin = TAIL_SIZE * 3
        self._cut = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._cut = self._cut or len(self._kept) + len(chunk) > self._margin
        self._kept = (self._kept + chunk[-self._margin :])[-self._margin :]

    @property
    def text(self) -> str:
        """At most 1 KB, cut at the start of a line where there is one."""
        whole = self._kept.decode("utf-8", "replace")
        if self._cut:
            # The first word may be the end of a token that nothing recognises any more. (Not a character of many
            # bytes: a script without spaces would lose everything.)
            whole = _CUT_WORD.sub("", whole, count=1)
        plain = _COLOUR.sub("", whole)
        masked = mask(plain, self._secrets).strip()
        raw = masked.encode()
        if len(raw) <= TAIL_SIZE:
            return masked
        tail = raw[-TAIL_SIZE:].decode("utf-8", "ignore")
        _, newline, rest = tail.partition("\n")
        return rest if newline else tail


class StdioTransport:
    """The client's end of a running child; make one with `spawned`."""

    def __init__(self, process: Process, tail: StderrTail, *, limit: int) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process must have pipes for stdin and stdout")
        self.name = f"stdio (process {process.pid})"
        self.pid = process.pid
        self._process = process
        self._stdin: ByteSendStream = process.stdin
        self._stdout: ByteReceiveStream = process.stdout
        self._limit = limit
        self._framer = LineFramer(limit=limit)
        self._tail = tail
        self._closed = False
        self._oversized = False
        self._drained = anyio.Event()
        self._ended = anyio.Event()

    @property
    def stderr_tail(self) -> str:
        """The masked last words of the server, at most 1 KB."""
        return self._tail.text

    async def send(self, message: bytes) -> None:
        """Send one whole message; see `Transport.send`."""
        try:
            await self._stdin.send(message + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise await self._lost() from None

    async def receive(self) -> list[bytes]:
        """Wait for the next messages; see `Transport.receive`."""
        while True:
            if self._oversized:
                raise OversizedMessageError(self._limit)
            try:
                chunk = await self._stdout.receive(READ_SIZE)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                self._ended.set()
                raise await self._lost() from None
            try:
                lines = self._framer.feed(chunk)
            except MessageTooLargeError:
                self._oversized = True
                await self.aclose()
                continue
            if lines:
                return lines

    async def aclose(self) -> None:
        """Close stdin, wait, terminate the group, wait, kill the group: at most three times `GRACE`."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._stdin.aclose()
            for sign in (None, signal.SIGTERM, signal.SIGKILL):
                if sign is not None:
                    signal_group(self.pid, sign)
                with anyio.move_on_after(GRACE):
                    await self._process.wait()
                    break
            # The server may be gone while something it started lives on in its group.
            signal_group(self.pid, signal.SIGKILL)

    async def drain_stderr(self) -> None:
        """Read stderr to its end. Runs beside the connection for as long as it lasts."""
        stderr = self._process.stderr
        try:
            if stderr is not None:
                while True:
                    self._tail.feed(await stderr.receive(READ_SIZE))
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            pass
        finally:
            self._drained.set()

    async def notice_exit(self) -> None:
        """End `receive` when the server is gone although something it started keeps its stdout open."""
        await self._process.wait()
        with anyio.move_on_after(GRACE):
            await self._ended.wait()
            return
        await self._stdout.aclose()

    async def _lost(self) -> ConnectionLostError:
        code: int | None = None
        with anyio.move_on_after(GRACE):
            code = await self._process.wait()
            await self._drained.wait()
        return ConnectionLostError(_how_it_ended(code), detail=self.stderr_tail)


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
    try:
        process = await anyio.open_process(
            list(command),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            # Codex writes its databases and transcripts world-readable under a common umask.
            umask=0o077,
        )
    except OSError as error:
        raise ConnectError(f"Could not start {command[0]}: {error.strerror or error}") from error
    transport = StdioTransport(process, StderrTail(secrets), limit=limit)
    try:
        async with beside() as group:
            group.start_soon(transport.drain_stderr)
            group.start_soon(transport.notice_exit)
            try:
                yield transport
            finally:
                await transport.aclose()
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()


def signal_group(pid: int, sign: signal.Signals) -> None:
    """Send `sign` to the process group of a child that we started; nothing happens when it is gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, sign)


def _how_it_ended(code: int | None) -> str:
    if code is None:
        return "it closed its output but did not exit"
    if code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it exited with status {code}"
