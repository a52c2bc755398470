"""One process uses a store at a time, and a dead one uses nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.store.bindings import bindings_at, listed
from harness.store.bound import Binding
from harness.store.owner import Ownership, StoreHeldError, holder_of

LIMIT_SECONDS = 30.0
HOLD = """
import sys
from pathlib import Path
import anyio
from harness.store.bindings import bindings_at
from harness.store.bound import Binding

async def main():
    async with bindings_at(Path(sys.argv[1])) as store:
        await store.put(Binding("codex", "chat", "thread"))
        print("ready", flush=True)
        sys.stdin.readline()

anyio.run(main)
"""


@contextmanager
def holder(path: Path) -> Generator[subprocess.Popen[str]]:
    """Another process that uses the store, until a line of its input."""
    command = [sys.executable, "-W", "error", "-c", HOLD, str(path)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            yield running
        finally:
            running.kill()


async def test_a_second_process_is_told_who_has_the_store(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    (tmp_path / "bridge.sqlite.lock").write_text("one of long ago, with many words\n", "utf-8")
    with holder(path) as other:
        with pytest.raises(StoreHeldError) as refused:
            async with bindings_at(path):
                raise NotImplementedError
        assert str(refused.value) == (
            f"The store {path} is in use by process {other.pid}; stop that one first, or use another state folder."
        )
        assert refused.value.pid == other.pid


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_the_store_of_a_process_that_was_killed_is_free_at_once(tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "bridge.sqlite"
    with holder(path) as other:
        other.send_signal(how)
        other.wait(LIMIT_SECONDS)
        async with bindings_at(path) as store:
            assert await store.get("codex", "chat") == Binding("codex", "chat", "thread")


async def test_the_store_is_free_once_its_block_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path):
        with pytest.raises(StoreHeldError):
            async with bindings_at(path):
                raise NotImplementedError
    async with bindings_at(path) as store:
        assert await store.get("codex", "chat") is None


def test_looking_at_the_bindings_takes_the_store_from_nobody(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    assert listed(path) == []
    with holder(path):
        (found,) = listed(path)
    assert found.binding == Binding("codex", "chat", "thread")
    assert (found.used_at > 0, found.exchanges) == (True, 0)


async def test_a_lock_that_does_not_say_whose_it_is_is_refused_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path):
        (tmp_path / "bridge.sqlite.lock").write_text("", "utf-8")
        with pytest.raises(StoreHeldError, match="is in use by another process; stop that one first"):
            async with bindings_at(path):
                raise NotImplementedError


def test_whoever_has_a_store_is_known_without_taking_it(tmp_path: Path) -> None:
    path = tmp_path / "store"
    before = holder_of(path)
    held = Ownership(path)
    during = holder_of(path)
    held.release()
    gone = path.with_name("store.lock")
    gone.write_text("999999999\n", "ascii")
    assert (before, during, holder_of(path)) == (None, os.getpid(), None)
    gone.write_text("nobody\n", "ascii")
    assert holder_of(path) is None
