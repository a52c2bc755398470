"""A store that is damaged, locked or full loses no turn, and says what became of it."""

import signal
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from harness.errors import StoreError
from harness.store.bindings import bindings_at
from harness.store.bound import Binding
from harness.store.database import CHECKPOINT_EVERY
from harness.store.transcript import Spoken

BOUND = Binding("codex", "chat", "thread")


def kept_aside(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.damaged-*"))


@pytest.mark.parametrize("content", [b"a shopping list, long enough to be looked at as a header", b"\x00" * 4096])
async def test_a_file_that_is_no_database_is_kept_aside_and_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bridge.sqlite"
    path.write_bytes(content)
    async with bindings_at(path) as store:
        await store.put(BOUND)
        found, told, again = await store.get("codex", "chat"), store.take_notices(), store.take_notices()
    (aside,) = kept_aside(tmp_path)
    assert aside.read_bytes() == content
    assert aside.stat().st_mode & 0o777 == 0o600
    assert (found, again) == (BOUND, [])
    assert told == [
        f"The store {path} was damaged (file is not a database); it is kept as {aside.name}, and a new one was begun."
    ]


async def test_tables_of_somebody_else_are_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bindings (book TEXT, cover TEXT)")
        other.execute("PRAGMA user_version = 3")
        other.execute("INSERT INTO bindings VALUES ('Moby Dick', 'blue')")
    other.close()
    async with bindings_at(path) as store:
        await store.put(BOUND)
        found = await store.get("codex", "chat")
    (aside,) = kept_aside(tmp_path)
    with sqlite3.connect(aside) as other:
        assert other.execute("SELECT * FROM bindings").fetchall() == [("Moby Dick", "blue")]
    other.close()
    assert found == BOUND


async def test_a_file_that_is_damaged_while_it_is_used_costs_no_write(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path) as store:
        for number in range(200):
            await store.put(Binding("codex", f"chat-{number}", "thread" * 20))
    with path.open("r+b") as file:  # nobody has it open, so no lock of ours is dropped
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    async with bindings_at(path) as store:
        await store.put(BOUND)
        found, told = await store.get("codex", "chat"), store.take_notices()
    assert found == BOUND
    assert len(told) == len(kept_aside(tmp_path)) == 1


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another program, a backup say, that writes to the store's file and does not end."""
    monkeypatch.setattr("harness.store.database.BUSY_SECONDS", 0.1)
    monkeypatch.setattr("harness.store.private_file.BUSY_SECONDS", 0.1)
    other = sqlite3.connect(tmp_path / "bridge.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield other
    other.close()


async def test_a_store_that_is_locked_when_the_gateway_starts_works_as_soon_as_it_is_free(
    tmp_path: Path, locked: sqlite3.Connection
) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path) as store:
        with pytest.raises(StoreError, match=f"^The store {path} cannot be used: database is locked.$"):
            await store.get("codex", "chat")
        locked.rollback()
        await store.put(BOUND)
        assert await store.get("codex", "chat") == BOUND
        assert store.take_notices() == []


async def test_a_full_disk_fails_one_call_with_one_sentence(tmp_path: Path) -> None:
    """SQLite's own limit of pages stands in for the disk's end: it gives the same error."""
    path = tmp_path / "bridge.sqlite"
    long = Spoken(said="x" * 7_000, answered="y" * 7_000)
    async with bindings_at(path) as store:
        await store.put(BOUND)
        await store._database.run(lambda each: each.execute("PRAGMA max_page_count = 8").fetchone())  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(StoreError, match=f"^The store {path} cannot be used: database or disk is full.$"):
            for _ in range(8):
                await store.record(BOUND, long)
        assert await store.get("codex", "chat") is not None
        assert store.take_notices() == kept_aside(tmp_path) == []


async def test_a_store_whose_lock_cannot_be_made_is_named_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "bridge.sqlite.lock").mkdir()
    with pytest.raises(StoreError, match=f"^The store {tmp_path}/bridge.sqlite cannot be used: .*Is a directory"):
        async with bindings_at(tmp_path / "bridge.sqlite"):
            raise NotImplementedError


async def test_the_log_does_not_grow_with_the_turns(tmp_path: Path) -> None:
    sizes: list[int] = []
    async with bindings_at(tmp_path / "bridge.sqlite") as store:
        for number in range(3 * CHECKPOINT_EVERY):
            await store.record(BOUND, Spoken(said=f"question {number}", answered="An answer of some length. " * 8))
            if number % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
                sizes.append((tmp_path / "bridge.sqlite-wal").stat().st_size)
    assert sizes[-1] <= 2 * sizes[0]


async def test_words_outlive_a_gateway_that_is_killed_right_after_they_were_kept(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, anyio\nfrom pathlib import Path\n"
        "from harness.store.bindings import bindings_at\nfrom harness.store.bound import Binding\n"
        "from harness.store.transcript import Spoken\n"
        "async def main():\n"
        "    async with bindings_at(Path(sys.argv[1])) as store:\n"
        "        await store.record(Binding('codex', 'chat', 'thread'), Spoken(said='heron', answered='osprey'))\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "anyio.run(main)\n"
    )
    path = tmp_path / "bridge.sqlite"
    killed = await anyio.run_process([sys.executable, "-c", code, str(path)], check=False)
    assert (killed.returncode, killed.stderr) == (-signal.SIGKILL, b"")
    async with bindings_at(path) as store:
        (kept,) = await store.unheard("chat", "", 0)
        found = await store.get("codex", "chat")
    assert (kept.said, kept.answered) == ("heron", "osprey")
    assert found is not None
    assert (found.conversation, found.holds.heard) == ("thread", 1)


async def test_a_store_whose_damaged_rows_cannot_be_deleted_is_kept_aside_and_loses_no_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path) as store:
        await store.put(BOUND)

        def fail(connection: sqlite3.Connection) -> int:
            del connection
            raise ValueError("a value is none")

        monkeypatch.setattr("harness.store.database.delete_spoiled", fail)
        spoiled = sqlite3.connect(path)
        spoiled.execute("UPDATE bindings SET heard = 'much'")
        spoiled.commit()
        spoiled.close()
        assert await store.get("codex", "chat") is None
        await store.put(BOUND)
        assert (await store.get("codex", "chat"), len(kept_aside(tmp_path))) == (BOUND, 1)
