"""A program of ours: in a process group of its own, its stderr always read, and ended with all that it started.

Its stderr must be read, or it would block on a full pipe; of what it says only a short masked tail is kept.
"""

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final

import anyio

from codex_bridge.errors import ConnectError, ConnectionLostError
from codex_bridge.processes import Session, kill_sessions, sessions_of
from harness.masking import mask

STDIN, STDOUT, STDERR = 0, 1, 2
TAIL_SIZE: Final = 1024
"""Bytes of stderr that an error may carry."""
GRACE = 2.0
"""Seconds for each step of the shutdown, the last of which is SIGKILL. The real server exits 20 to 70 ms after its
stdin closes or it gets SIGTERM (protocol reference, section 7)."""
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


class Child(asyncio.SubprocessProtocol):
    """A program that is started and ended once, see `running`.

    A protocol of asyncio's, called as soon as something happens: a stream would wake a task for each piece of output.

    Args:
        secrets: Values to mask in its stderr, besides what looks like a credential.
        on_stderr: Gets what it writes to stderr, as it comes.
    """

    def __init__(self, *, secrets: Iterable[str] = (), on_stderr: Callable[[bytes], None] | None = None) -> None:
        self.on_stdout: Callable[[bytes], None] | None = None
        """Gets what it writes to stdout, as it comes. To be set before it runs: it may speak, and end, at once."""
        self.on_gone: Callable[[ConnectionLostError], None] | None = None
        """Hears once that it has ended, or its output has; to be set before as well."""
        self.pid = 0
        self.exited = anyio.Event()
        self.stdin: asyncio.WriteTransport | None = None
        self._stdout: asyncio.ReadTransport | None = None
        self._tail = StderrTail(secrets)
        self._on_stderr = on_stderr
        self._transport: asyncio.SubprocessTransport | None = None
        self._ended: set[int] = set()
        """The pipes that have."""
        self._drained = anyio.Event()
        self._last_wait: asyncio.TimerHandle | None = None
        self._cause = ""
        """What it did that ends the connection, though it may not have exited."""

    @property
    def returncode(self) -> int | None:
        """How it ended, None while it runs; a negative one is a signal."""
        return self._transport.get_returncode() if self._transport is not None else None

    @property
    def stderr_tail(self) -> str:
        """Its masked last words, at most 1 KB."""
        return self._tail.text

    @asynccontextmanager
    async def running(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None, piped: bool = True
    ) -> AsyncGenerator[None]:
        """Run it for as long as the block lasts, at whose end it is killed unless it has ended before.

        Args:
            command: Program and arguments.
            env: The child's whole environment.
            cwd: Its working directory.
            piped: Whether we write to its stdin and read its stdout; otherwise it has neither.

        Raises:
            ConnectError: The program could not be started.
        """
        theirs = await self._output() if piped else DEVNULL
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *command,
                stdin=PIPE if piped else DEVNULL,
                stdout=theirs,
                stderr=PIPE,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
                # Codex writes its databases and transcripts world-readable under a common umask.
                umask=0o077,
            )
        except OSError as error:
            raise ConnectError(f"Could not start {command[0]}: {error.strerror or error}") from error
        finally:
            if piped:
                os.close(theirs)
            if self._transport is None:
                self._close()
        try:
            yield
        finally:
            if not self.exited.is_set():
                await self.end()
            self._close()

    def hang_up(self) -> None:
        """Let it read the end of its stdin, once it has read all before that."""
        self._ended.add(STDIN)  # by us, so nothing follows from it
        if self.stdin is not None:
            self.stdin.close()

    def hold(self) -> None:
        """Read no more of its stdout, so that it has to wait."""
        if self._stdout is not None:
            self._stdout.pause_reading()

    async def end(self, *signs: signal.Signals | None) -> None:
        """Give it these signals one after the other, each with `GRACE` to end, and kill what is left of its group.

        Args:
            signs: None only waits.
        """
        with anyio.CancelScope(shield=True):
            sessions: list[Session] = []
            for sign in (*signs, signal.SIGKILL):
                if sign is signal.SIGKILL:
                    sessions = sessions_of(self.pid)  # what ends by a kill ends none of its commands
                if sign is not None:
                    self.signal(sign)
                with anyio.move_on_after(GRACE):
                    await self.exited.wait()
                    break
            # The program may be gone while something it started lives on in its group.
            self.signal(signal.SIGKILL)
            kill_sessions(sessions)

    async def lost(self, cause: str) -> ConnectionLostError:
        """What to say of a connection that broke off: how the program ended, or `cause` when it did not."""
        with anyio.move_on_after(GRACE):
            await self.exited.wait()
            await self._drained.wait()
        return self._loss(cause)

    def signal(self, sign: signal.Signals) -> None:
        """Signal its process group; nothing happens when that is gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, sign)

    async def _output(self) -> int:
        """Open the pipe of its stdout; returns the end that it writes to.

        A pipe of ours, for what asyncio's own subprocess pipes bring passes through the loop once more before anybody
        hears of it: as many passes again as the server writes.
        """
        ours, theirs = os.pipe()
        try:
            self._stdout, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: _Output(self), os.fdopen(ours, "rb", buffering=0)
            )
        except BaseException:
            os.close(theirs)
            raise
        return theirs

    # what asyncio says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It was started."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()
        stdin = transport.get_pipe_transport(STDIN)
        self.stdin = stdin if isinstance(stdin, asyncio.WriteTransport) else None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something to its stderr."""
        self._tail.feed(data)
        if self._on_stderr is not None:
            self._on_stderr(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """A pipe has ended."""
        if fd in self._ended:
            return
        self._ended.add(fd)
        if fd == STDERR:
            self._drained.set()
        else:
            self._cause = self._cause or f"it closed its {'input' if fd == STDIN else 'output'} but did not exit"
        self._look_for_the_end()

    def process_exited(self) -> None:
        """It has ended."""
        self.exited.set()
        self._look_for_the_end()

    def connection_lost(self, exc: Exception | None) -> None:
        """All pipes have ended, and it has."""
        self._drained.set()

    def pause_writing(self) -> None:
        """It does not read as fast as we write. What waits is bounded by the calls in flight."""

    def resume_writing(self) -> None:
        """It has read what waited."""

    def _look_for_the_end(self) -> None:
        """Tell of the end once all of it is known; some of it may never come.

        Something that it started may keep its pipes open, and one that closes its output may stay.
        """
        if self.on_gone is None:
            return
        if self.exited.is_set() and {STDOUT, STDERR} <= self._ended:
            self._tell()
        elif self._last_wait is None and (self.exited.is_set() or self._cause):
            self._last_wait = asyncio.get_running_loop().call_later(GRACE, self._tell)

    def _tell(self) -> None:
        if self._last_wait is not None:
            self._last_wait.cancel()
        if self.on_gone is not None:
            on_gone, self.on_gone = self.on_gone, None
            on_gone(self._loss(self._cause))

    def _loss(self, cause: str) -> ConnectionLostError:
        code = self.returncode
        return ConnectionLostError(cause if code is None else _how_it_ended(code), detail=self.stderr_tail)

    def _close(self) -> None:
        """Let go of the pipes."""
        if self._last_wait is not None:
            self._last_wait.cancel()
        if self._stdout is not None:
            self._stdout.close()
        if self._transport is not None:
            self._transport.close()


class _Output(asyncio.Protocol):
    """What a child writes to its stdout."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def data_received(self, data: bytes) -> None:
        """It wrote something."""
        if self._child.on_stdout is not None:
            self._child.on_stdout(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Its stdout has ended."""
        self._child.pipe_connection_lost(STDOUT, exc)


def _how_it_ended(code: int | None) -> str:
    if code is None:
        return "it closed its output but did not exit"
    if code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it exited with status {code}"
