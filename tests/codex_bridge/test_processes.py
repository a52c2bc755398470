"""Processes are told apart by their begin, and of what one started only its own sessions are ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from codex_bridge.processes import began, kill_sessions, sessions_of
from tests.support.serving import LIMIT, is_running

SERVER = """
import subprocess, signal
command = subprocess.Popen(["sh", "-c", "sleep 60 & setsid sleep 60 & wait"], start_new_session=True)
helper = subprocess.Popen(["sleep", "60"])
print(command.pid, helper.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def tree() -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """A server, a command of it in a session of its own, and a helper in the server's."""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", SERVER], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stdout is not None
        command, helper = map(int, server.stdout.readline().split())
        children = below(command, 2)
        while not any(os.getsid(pid) == pid for pid in children):
            pass  # one of them is about to begin a session of its own
        yield server, command, helper
        for pid in (*children, command, helper, server.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def below(pid: int, count: int) -> list[int]:
    """The children of a process, when it has so many."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
        if len(found := [int(word) for word in listed.stdout.split()]) == count:
            return found
    raise AssertionError("it has not so many children")


def test_the_sessions_of_a_server_are_those_that_its_commands_began(
    tree: tuple[subprocess.Popen[str], int, int],
) -> None:
    server, command, _ = tree
    assert sessions_of(server.pid) == [(command, began(command))]


def test_a_session_is_ended_with_all_that_stayed_in_it_and_nothing_else(
    tree: tuple[subprocess.Popen[str], int, int],
) -> None:
    server, command, helper = tree
    children = below(command, 2)
    (apart,) = (pid for pid in children if os.getsid(pid) == pid)
    (within,) = (pid for pid in children if pid != apart)
    sessions = sessions_of(server.pid)
    os.kill(server.pid, signal.SIGKILL)
    os.kill(command, signal.SIGKILL)  # as the kernel does with the shell of a server that is killed
    server.wait(LIMIT)
    kill_sessions(sessions)
    end = time.monotonic() + LIMIT
    while began(within) and time.monotonic() < end:
        pass
    assert (began(within), is_running(apart), is_running(helper)) == ("", True, True)


def test_a_process_that_only_has_the_same_id_is_not_ended(tree: tuple[subprocess.Popen[str], int, int]) -> None:
    _, command, _ = tree
    kill_sessions([(command, "another time")])
    assert began(command) != ""


def test_a_process_that_ended_has_not_begun() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert began(child.pid) == ""
    assert (began(2**22 + 1), began(os.getpid()) != "") == ("", True)
