import sqlite3
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.memory import MemoryIndex, MemoryUnavailableError
from harness.memory.store import DATABASE
from harness.store.bindings import StoreError, bindings_at
from harness.store.private_file import OPEN_PAUSE, open_private

PROCESSES = 4
CONNECTIONS = 3
LIMIT_SECONDS = 30.0


@contextmanager
def process(code: str, *arguments: object) -> Generator[subprocess.Popen[str]]:
    """Another Python process that has said that it is ready, and goes on at a line of its input."""
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n", running.communicate(timeout=LIMIT_SECONDS)
            yield running
        finally:
            running.kill()


def at_once(code: str, *arguments: object) -> list[tuple[int | None, str]]:
    """What several processes that start their work together end with, and say of errors."""
    with ExitStack() as stack:
        running = [stack.enter_context(process(code, number, *arguments)) for number in range(PROCESSES)]
        for each in running:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        return [(each.returncode, said) for each in running for said in [each.communicate(timeout=LIMIT_SECONDS)[1]]]


READ_AND_LEAVE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM words").fetchall()
connection.close()
print("ready", flush=True)
"""


def test_a_second_connection_leaves_the_locks_of_the_first_alone(tmp_path: Path) -> None:
    """The last process to leave a database deletes its log; with the locks dropped, another one believes to be it."""
    path = tmp_path / "words.sqlite"
    with closing(open_private(path)) as first:
        first.execute("CREATE TABLE words (word TEXT)")
        with closing(open_private(path)) as second, process(READ_AND_LEAVE, path) as other:
            assert other.wait(LIMIT_SECONDS) == 0
            assert (tmp_path / "words.sqlite-wal").exists()
            with second:
                second.execute("INSERT INTO words VALUES ('kept')")
            assert first.execute("SELECT word FROM words").fetchall() == [("kept",)]


INDEX = f"""
import sys
from pathlib import Path
from threading import Thread
from harness.memory import MemoryIndex

state, notes = Path(sys.argv[2]), Path(sys.argv[3])
failed = []

def one(workspace):
    try:
        with MemoryIndex(state) as index:
            for _ in range(2):
                assert len(index.search(str(workspace), "boat", limit=9).hits) == 1, workspace
    except BaseException as error:
        failed.append(repr(error))

import harness.store.private_file
workspaces = [notes / f"{{sys.argv[1]}}-{{connection}}" for connection in range({CONNECTIONS})]
threads = [Thread(target=one, args=[each]) for each in workspaces]
print("ready", flush=True)
sys.stdin.readline()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("; ".join(failed) or None)
"""


def test_processes_that_make_one_new_index_at_once_lose_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    workspaces = [tmp_path / f"{n}-{c}" for n in range(PROCESSES) for c in range(CONNECTIONS)]
    for each in workspaces:
        each.mkdir()
        (each / "MEMORY.md").write_text("The boat is blue.\n")
    assert at_once(INDEX, state, tmp_path) == [(0, "")] * PROCESSES
    with closing(sqlite3.connect(state / DATABASE)) as database:
        rows = database.execute("SELECT CAST(workspace AS TEXT) FROM notes ORDER BY workspace").fetchall()
    assert rows == [(str(each),) for each in workspaces]


def test_what_is_deleted_is_overwritten_on_a_build_that_does_not_do_it_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = sqlite3.connect

    def connect(*args: Any, **settings: Any) -> sqlite3.Connection:
        connection = original(*args, **settings)
        connection.execute("PRAGMA secure_delete = OFF").fetchone()
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    path = tmp_path / "words.sqlite"
    with closing(open_private(path)) as database:
        with database:
            database.execute("CREATE TABLE words (word TEXT)")
            database.execute("INSERT INTO words VALUES ('zebrafinch')")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert b"zebrafinch" in path.read_bytes()
        with database:
            database.execute("DELETE FROM words")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert b"zebrafinch" not in path.read_bytes()


async def test_a_link_in_the_place_of_a_store_is_refused_and_what_it_leads_to_is_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(0o644)
    link, state = tmp_path / "bridge.sqlite", tmp_path / "state"
    state.mkdir()
    link.symlink_to(elsewhere)
    (state / DATABASE).symlink_to(elsewhere)
    with pytest.raises(StoreError) as of_bindings:
        async with bindings_at(link):
            raise NotImplementedError
    with MemoryIndex(state) as index, pytest.raises(MemoryUnavailableError) as of_notes:
        index.refresh(str(tmp_path))
    assert str(of_bindings.value) == (
        f"The store {link} cannot be used: [Errno 40] Too many levels of symbolic links: '{link}'."
    )
    assert str(of_notes.value) == (
        f"the memory index {state / DATABASE} cannot be used: [Errno 40] Too many levels of symbolic links:"
        f" '{state / DATABASE}'; check the disk and that the folder is writable"
    )
    assert (elsewhere.read_bytes(), stat.S_IMODE(elsewhere.stat().st_mode)) == (b"", 0o644)


def test_a_folder_in_the_place_of_a_store_is_named_and_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "bridge.sqlite"
    folder.mkdir(mode=0o755)
    with pytest.raises(IsADirectoryError, match=r"Is a directory: '.*bridge\.sqlite'"):
        open_private(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_a_store_that_another_connection_is_just_making_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself does not wait here, see `_write_ahead`."""
    path = tmp_path / "words.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waits: list[float] = []

        def end_the_other(seconds: float) -> None:
            waits.append(seconds)
            other.rollback()

        monkeypatch.setattr("harness.store.private_file.time.sleep", end_the_other)
        with closing(open_private(path)) as database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert waits == [OPEN_PAUSE]


def test_a_store_that_stays_locked_is_given_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.store.private_file.BUSY_SECONDS", 0.05)
    path = tmp_path / "words.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            open_private(path)
