"""A child process is started, listened to and ended so that it can neither block us nor outlive us."""

import asyncio
import os
import signal
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import anyio
import pytest

from codex_bridge.errors import ConnectError, ConnectionLostError, OversizedMessageError, TransportError
from codex_bridge.transports.child import TAIL_SIZE, StderrTail
from codex_bridge.transports.stdio import spawned
from tests.support.scripts import KEY
from tests.support.serving import LIMIT, command, is_running, linked

ECHO = b'{"id":1,"method":"echo","params":{}}'
ECHOED = [b'{"id":1,"result":{}}']
PYTHON = [sys.executable, "-S", "-c"]


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.transports.child.GRACE", 0.2)


async def test_the_child_sees_the_environment_and_the_folder_it_is_given_and_no_more(tmp_path: Path) -> None:
    say = "import os, sys; print(sorted(os.environ), os.getcwd(), oct(os.umask(0)), os.getpgrp() == os.getpid())"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, say], env={"LC_ALL": "C", "ONLY": "this"}, cwd=tmp_path) as transport:
            said = await transport.receive()

    assert said == [f"['LC_ALL', 'ONLY'] {tmp_path} 0o77 True".encode()]


async def test_the_child_is_gone_when_the_block_ends() -> None:
    with anyio.fail_after(LIMIT):
        async with spawned(command("contract"), env={}) as transport:
            await transport.send(ECHO)
            assert await transport.receive() == ECHOED
            assert is_running(transport.pid)

    assert not is_running(transport.pid)


async def test_a_program_that_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    missing = tmp_path / "codex"
    with pytest.raises(ConnectError, match=f"Could not start {missing}: No such file or directory"):
        async with spawned([str(missing)], env={}):
            raise NotImplementedError


@pytest.mark.parametrize(
    ("leave", "how"),
    [
        ("sys.exit(3)", "it exited with status 3"),
        ("sys.exit(0)", "it exited with status 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "it was killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "it was killed by SIGTERM"),
    ],
)
async def test_a_lost_child_is_reported_with_how_it_ended_and_its_last_words(leave: str, how: str) -> None:
    program = f"import os, signal, sys; print('out of memory', file=sys.stderr, flush=True); {leave}"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, program], env={}) as transport:
            with pytest.raises(ConnectionLostError) as lost:
                await transport.receive()
            with pytest.raises(ConnectionLostError) as refused:
                await transport.send(ECHO)

    for caught in (lost.value, refused.value):
        assert (caught.cause, caught.detail, caught.doing) == (how, "out of memory", None)
        assert str(caught) == (
            f"The Codex app-server connection was lost: {how}\nLast words of the server:\nout of memory"
        )


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize(
    ("closes", "cause"),
    [
        ("1", "it closed its output but did not exit"),
        ("2, 1", "it closed its output but did not exit"),
        ("0", "it closed its input but did not exit"),
    ],
)
async def test_a_child_that_closes_its_pipes_and_stays_is_a_lost_one(closes: str, cause: str) -> None:
    program = f"import os, signal; [os.close(each) for each in ({closes},)]; signal.pause()"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, program], env={}) as transport:
            with pytest.raises(ConnectionLostError) as lost:
                await transport.receive()
    assert lost.value.cause == cause


async def test_a_child_that_speaks_and_ends_at_once_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.get_running_loop().subprocess_exec

    async def slowly(*arguments: Any, **named: Any) -> Any:
        """The process is over before anybody can do anything with it."""
        transport, protocol = await started(*arguments, **named)
        await protocol.exited.wait()
        while not (errors := transport.get_pipe_transport(2)) or not errors.is_closing():
            await anyio.lowlevel.checkpoint()
        return transport, protocol

    monkeypatch.setattr(asyncio.get_running_loop(), "subprocess_exec", slowly)
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, "print('{}')"], env={}) as transport:
            assert await transport.receive() == [b"{}"]
            with pytest.raises(ConnectionLostError, match="it exited with status 0"):
                await transport.receive()


@pytest.mark.usefixtures("short_grace")
async def test_what_was_said_before_somebody_listens_is_heard_and_the_end_too() -> None:
    heard: list[list[bytes]] = []
    ends: list[TransportError] = []
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, "print('first', flush=True); input(); print('second')"], env={}) as transport:
            while not heard:
                await anyio.lowlevel.checkpoint()
                transport.attach(heard.append, ends.append)
            transport.write(b"go on")
            while not ends:
                await anyio.lowlevel.checkpoint()
            transport.write(b"to nobody")
            late: list[TransportError] = []
            transport.attach(heard.append, late.append)
    assert (heard, late) == ([[b"first"], [b"second"]], ends)
    assert str(ends[0]) == "The Codex app-server connection was lost: it exited with status 0"


@pytest.mark.usefixtures("short_grace")
async def test_a_child_that_floods_its_stderr_does_not_block() -> None:
    program = "import os; [os.write(2, b'debug ' * 10_000) for _ in range(50)]; os.write(1, b'{}\\n'); os.read(0, 1)"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, program], env={}) as transport:
            assert await transport.receive() == [b"{}"]


@pytest.mark.usefixtures("short_grace")
async def test_a_child_that_ignores_the_end_of_its_stdin_is_terminated() -> None:
    program = "import signal; print('{}', flush=True); signal.pause()"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, program], env={}) as transport:
            await transport.receive()
            with anyio.fail_after(1):
                await transport.aclose()
            assert not is_running(transport.pid)
            with pytest.raises(ConnectionLostError, match="it was killed by SIGTERM"):
                await transport.receive()


@pytest.mark.usefixtures("short_grace")
async def test_a_child_that_ignores_sigterm_too_is_killed() -> None:
    program = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('{}', flush=True); signal.pause()"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, program], env={}) as transport:
            await transport.receive()
            with anyio.fail_after(2):
                await transport.aclose()
            with pytest.raises(ConnectionLostError, match="it was killed by SIGKILL"):
                await transport.receive()


async def test_what_the_child_started_dies_with_it() -> None:
    program = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, program], env={"PATH": os.defpath}) as transport:
            grandchild = int((await transport.receive())[0])
            assert is_running(grandchild)
            await transport.aclose()
        while is_running(grandchild) and not _is_zombie(grandchild):
            await anyio.lowlevel.checkpoint()


def _is_zombie(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return True


@pytest.mark.usefixtures("short_grace")
async def test_the_end_of_the_child_is_noticed_although_something_it_started_holds_its_output() -> None:
    program = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True)"
    with anyio.fail_after(LIMIT):
        async with spawned([*PYTHON, program], env={"PATH": os.defpath}) as transport:
            grandchild = int((await transport.receive())[0])
            try:
                with anyio.fail_after(2), pytest.raises(ConnectionLostError, match="it exited with status 0"):
                    await transport.receive()
            finally:
                os.kill(grandchild, signal.SIGKILL)


async def test_nothing_is_read_any_more_after_a_message_that_was_too_long() -> None:
    async with linked("stdio", "last_words", limit=10_000) as transport:
        with pytest.raises(OversizedMessageError):
            await transport.receive()
        with pytest.raises(TransportError):
            await transport.receive()


# the stderr tail


def test_a_short_stderr_is_kept_whole_without_colours() -> None:
    tail = StderrTail()
    tail.feed("\x1b[31mERROR\x1b[0m ключ\n".encode())
    assert tail.text == "ERROR ключ"


def test_of_a_long_stderr_the_last_kilobyte_is_kept_from_the_start_of_a_line() -> None:
    tail = StderrTail()
    for number in range(5_000):
        tail.feed(f"line {number}\n".encode())
    lines = tail.text.splitlines()
    assert lines == [f"line {number}" for number in range(5_000 - len(lines), 5_000)]
    assert TAIL_SIZE - len("line 4999\n") <= len(tail.text) <= TAIL_SIZE


def test_a_long_stderr_takes_no_memory() -> None:
    tail, line = StderrTail(), b"2031-05-06T07:08:09Z DEBUG codex: nothing of interest\n"
    tail.feed(line)
    tracemalloc.start()
    try:
        for _ in range(1_000):
            tail.feed(line * 100)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 16 * TAIL_SIZE


@pytest.mark.parametrize("letter", ["本", "🦞", "é"])
def test_the_tail_cuts_no_character(letter: str) -> None:
    for shift in range(4):
        tail = StderrTail()
        tail.feed(b"x" * shift + letter.encode() * 5_000)
        assert set(tail.text) == {letter}
        assert len(tail.text.encode()) <= TAIL_SIZE


def test_a_credential_cut_by_the_end_of_a_chunk_or_by_the_tail_is_masked() -> None:
    said = f"{KEY} " * 400
    for size in (7, 100, 4096):
        tail = StderrTail(["hunter2-hunter2"])
        for start in range(0, len(said), size):
            tail.feed(said[start : start + size].encode())
        tail.feed(b"hunter2-")
        tail.feed(b"hunter2")
        assert "sk-" not in tail.text
        assert KEY[-8:] not in tail.text
        assert tail.text.endswith("*** *** ***")


def test_no_part_of_a_token_longer_than_the_tail_is_shown() -> None:
    token = "eyJhbGciOiJSUzI1NiJ9." + "cGF5bG9hZA" * 400 + ".c2lnbmF0dXJl"
    tail = StderrTail()
    tail.feed(f"cannot refresh with {token}, please sign in again\n".encode())
    assert "cGF5bG9hZA" not in tail.text
    assert tail.text.endswith("please sign in again")
