import sqlite3
from pathlib import Path

import anyio
import pytest

from harness.errors import StoreError
from harness.store.bindings import Binding, Holds, bindings_at


async def test_a_binding_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path) as bindings:
        await bindings.put(Binding("codex", "chat-1", "thread-1"))
        await bindings.put(Binding("codex", "chat-2", "thread-2"))
        await bindings.put(Binding("other", "chat-1", "thread-3"))
    async with bindings_at(path) as bindings:
        found = [await bindings.get(*key) for key in (("codex", "chat-1"), ("other", "chat-1"), ("codex", "chat-9"))]
    assert found == [Binding("codex", "chat-1", "thread-1"), Binding("other", "chat-1", "thread-3"), None]


async def test_a_later_binding_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "bridge.sqlite") as bindings:
        await bindings.put(Binding("codex", "chat", "old"))
        await bindings.put(Binding("codex", "chat", "new"))
        replaced = await bindings.get("codex", "chat")
        await bindings.forget("codex", "chat")
        gone = await bindings.get("codex", "chat")
    assert (replaced, gone) == (Binding("codex", "chat", "new"), None)


async def test_nobody_else_can_read_the_store(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    path.touch(mode=0o644)
    async with bindings_at(path) as bindings:
        await bindings.put(Binding("codex", "chat", "thread"))
        modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    assert modes == {"bridge.sqlite": 0o600, "bridge.sqlite-wal": 0o600, "bridge.sqlite-shm": 0o600}


async def test_writers_beside_each_other_lose_nothing(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "a") as one, bindings_at(tmp_path / "a") as two:
        async with anyio.create_task_group() as group:
            for number in range(40):
                store = one if number % 2 else two
                group.start_soon(store.put, Binding("codex", f"chat-{number}", f"thread-{number}"))
        found = [await one.get("codex", f"chat-{number}") for number in range(40)]
    assert found == [Binding("codex", f"chat-{number}", f"thread-{number}") for number in range(40)]


async def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    path.write_text("a shopping list, long enough to be looked at as a header", encoding="utf-8")
    with pytest.raises(StoreError, match=f"The store {path} cannot be opened: file is not a database."):
        async with bindings_at(path):
            raise NotImplementedError
    assert path.read_text("utf-8").startswith("a shopping list")


async def test_a_write_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path) as bindings:
        await bindings.put(Binding("codex", "chat", "thread"))
        with sqlite3.connect(path) as other:
            other.execute("CREATE TRIGGER full BEFORE INSERT ON bindings BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        other.close()
        with pytest.raises(StoreError, match="disk full"):
            await bindings.put(Binding("codex", "chat", "another"))
        kept = await bindings.get("codex", "chat")
    assert kept == Binding("codex", "chat", "thread")


async def test_a_store_of_before_is_brought_up_to_date_and_keeps_its_bindings(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    with sqlite3.connect(path) as old:
        old.execute(
            "CREATE TABLE bindings (backend TEXT NOT NULL, session_key TEXT NOT NULL, conversation TEXT NOT NULL,"
            " carried TEXT NOT NULL DEFAULT '', PRIMARY KEY (backend, session_key))"
        )
        old.execute("INSERT INTO bindings VALUES ('codex', 'chat', 'thread', 'digest')")
    old.close()
    for _ in range(2):
        async with bindings_at(path) as bindings:
            assert await bindings.get("codex", "chat") == Binding("codex", "chat", "thread", Holds("digest"))
    async with bindings_at(path) as bindings:
        kept = Binding("codex", "chat", "thread", Holds("a", "b", "c"))
        await bindings.put(kept)
        assert await bindings.get("codex", "chat") == kept


async def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path) as bindings:
        await bindings.put(Binding("codex", "chat", "thread"))
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(
        StoreError, match=f"The store {path} was written by a newer version of this program; update it."
    ):
        async with bindings_at(path):
            raise NotImplementedError


async def test_two_processes_may_open_a_new_store_at_the_same_time(tmp_path: Path) -> None:
    async def open_one() -> None:
        async with bindings_at(tmp_path / "bridge.sqlite"):
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(open_one)
