"""A program of ours: in a process group of its own, its stderr always read, and ended with all that it started.

Its stderr must be read, or it would block on a full pipe; of what it says only a short masked tail is kept.
"""

import os
import re
import signal
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final

import anyio
from anyio.abc import Process

from codex_bridge.errors import ConnectError, ConnectionLostError
from codex_bridge.masking import mask
from harness.tasks import beside

READ_SIZE: Final = 256 * 1024
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


class Child:
    """A running program; make one with `child`."""

    def __init__(self, process: Process, tail: StderrTail) -> None:
        self.process = process
        self.pid = process.pid
        self._tail = tail
        self._drained = anyio.Event()

    @property
    def stderr_tail(self) -> str:
        """Its masked last words, at most 1 KB."""
        return self._tail.text

    @property
    def grace(self) -> float:
        """Seconds for each step of the shutdown."""
        return GRACE

    async def end(self, *signs: signal.Signals | None) -> None:
        """Give it these signals one after the other, each with `GRACE` to end, and kill what is left of its group.

        Args:
            signs: None only waits.
        """
        with anyio.CancelScope(shield=True):
            for sign in (*signs, signal.SIGKILL):
                if sign is not None:
                    self.signal(sign)
                with anyio.move_on_after(GRACE):
                    await self.process.wait()
                    break
            # The program may be gone while something it started lives on in its group.
            self.signal(signal.SIGKILL)

    async def lost(self, cause: str = "it closed its output but did not exit") -> ConnectionLostError:
        """What to say of a connection that broke off: how the program ended, or `cause` when it did not."""
        code: int | None = None
        with anyio.move_on_after(GRACE):
            code = await self.process.wait()
            await self._drained.wait()
        return ConnectionLostError(cause if code is None else _how_it_ended(code), detail=self.stderr_tail)

    async def drain_stderr(self, on_stderr: Callable[[bytes], None] | None) -> None:
        """Read stderr to its end. Runs beside the program for as long as it lasts."""
        stderr = self.process.stderr
        try:
            if stderr is not None:
                while True:
                    chunk = await stderr.receive(READ_SIZE)
                    self._tail.feed(chunk)
                    if on_stderr is not None:
                        on_stderr(chunk)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            pass
        finally:
            self._drained.set()

    def signal(self, sign: signal.Signals) -> None:
        """Signal its process group; nothing happens when that is gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, sign)


@asynccontextmanager
async def child(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    secrets: Iterable[str] = (),
    piped: bool = True,
    on_stderr: Callable[[bytes], None] | None = None,
) -> AsyncGenerator[Child]:
    """Run a program for as long as the block lasts, at whose end it is killed unless `Child.end` was asked before.

    Args:
        command: Program and arguments.
        env: The child's whole environment.
        cwd: Its working directory.
        secrets: Values to mask in its stderr, besides what looks like a credential.
        piped: Whether we write to its stdin and read its stdout; otherwise it has neither.
        on_stderr: Gets what it writes to stderr, as it comes.

    Raises:
        ConnectError: The program could not be started.
    """
    try:
        process = await anyio.open_process(
            list(command),
            stdin=PIPE if piped else DEVNULL,
            stdout=PIPE if piped else DEVNULL,
            stderr=PIPE,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            # Codex writes its databases and transcripts world-readable under a common umask.
            umask=0o077,
        )
    except OSError as error:
        raise ConnectError(f"Could not start {command[0]}: {error.strerror or error}") from error
    started = Child(process, StderrTail(secrets))
    try:
        async with beside() as group:
            group.start_soon(started.drain_stderr, on_stderr)
            yield started
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                await started.end()
            await process.aclose()


def _how_it_ended(code: int | None) -> str:
    if code is None:
        return "it closed its output but did not exit"
    if code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it exited with status {code}"
