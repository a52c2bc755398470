import sqlite3
from pathlib import Path

import anyio
import pytest

from harness.errors import StoreError
from harness.store.bindings import bindings_at, listed
from harness.store.bound import Basis, Binding, Holds
from harness.store.transcript import Occasion, Spoken


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
    names = ("bridge.sqlite", "bridge.sqlite-wal", "bridge.sqlite-shm", "bridge.sqlite.lock")
    assert modes == dict.fromkeys(names, 0o600)


async def test_calls_beside_each_other_lose_nothing(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "a") as store:
        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(store.put, Binding("codex", f"chat-{number}", f"thread-{number}"))
        found = [await store.get("codex", f"chat-{number}") for number in range(40)]
    assert found == [Binding("codex", f"chat-{number}", f"thread-{number}") for number in range(40)]


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


_FIRST = (
    "CREATE TABLE bindings (backend TEXT NOT NULL, session_key TEXT NOT NULL, conversation TEXT NOT NULL,"
    " carried TEXT NOT NULL DEFAULT '', PRIMARY KEY (backend, session_key))"
)
_COLUMN = "ALTER TABLE bindings ADD COLUMN {} TEXT NOT NULL DEFAULT ''"
_ADDED_BY_3 = (
    "rules", "developer", "tools", "heard", "cwd", "model", "provider", "account", "loading", "used_at",
)  # fmt: skip
STORES_OF_BEFORE = {
    "no version": ([_FIRST, "INSERT INTO bindings VALUES ('codex', 'chat', 'thread', 'c')"], Holds("c")),
    "1": (
        [
            _FIRST,
            *(_COLUMN.format(name) for name in ("rules", "developer")),
            "INSERT INTO bindings VALUES ('codex', 'chat', 'thread', 'c', 'r', 'd')",
            "PRAGMA user_version = 1",
        ],
        Holds("c", "r", "d"),
    ),
    "2": (
        [
            _FIRST,
            *(_COLUMN.format(name) for name in ("rules", "developer", "tools")),
            "INSERT INTO bindings VALUES ('codex', 'chat', 'thread', 'c', 'r', 'd', 't')",
            "PRAGMA user_version = 2",
        ],
        Holds("c", "r", "d", "t"),
    ),
    "3": (
        [
            _FIRST,
            *(_COLUMN.format(name) for name in _ADDED_BY_3),
            "INSERT INTO bindings (backend, session_key, conversation, heard) VALUES ('codex', 'chat', 'thread', '7')",
            "CREATE TABLE transcript (session_key TEXT, seq INTEGER, answered TEXT, conversation TEXT)",
            "PRAGMA user_version = 3",
        ],
        Holds(heard=7),
    ),
}


@pytest.mark.parametrize("version", STORES_OF_BEFORE)
async def test_a_store_of_before_is_brought_up_to_date_and_keeps_its_bindings(tmp_path: Path, version: str) -> None:
    path = tmp_path / "bridge.sqlite"
    statements, holds = STORES_OF_BEFORE[version]
    with sqlite3.connect(path) as old:
        for statement in statements:
            old.execute(statement)
    old.close()
    for _ in range(2):
        async with bindings_at(path) as bindings:
            assert await bindings.get("codex", "chat") == Binding("codex", "chat", "thread", holds)
    holds = Holds("a", "b", "c", "d", 5, "e f")
    kept = Binding("codex", "chat", "thread", holds, Basis("folder", "m", "p", "who", "direct"))
    async with bindings_at(path) as bindings:
        await bindings.put(kept)
    async with bindings_at(path) as bindings:
        assert await bindings.get("codex", "chat") == kept
        assert bindings.take_notices() == []


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


def write_into(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "binding", "said", "told"),
    [
        ("UPDATE bindings SET conversation = CAST(x'ff41' AS TEXT)", "\ufffdA", ["heron", "osprey"], ""),
        ("UPDATE transcript SET said = CAST(x'ff41' AS TEXT) WHERE seq = 1", "thread", ["\ufffdA", "osprey"], ""),
        ("UPDATE transcript SET kind = 'chau' WHERE seq = 1", "thread", ["heron", "osprey"], ""),
        ("UPDATE bindings SET heard = 'many'", None, ["heron", "osprey"], "1 damaged row, which is deleted"),
        ("UPDATE transcript SET seq = 'x' WHERE seq = 1", "thread", ["osprey"], "1 damaged row, which is deleted"),
        ("UPDATE transcript SET said_at = 'x'", "thread", [], "2 damaged rows, which are deleted"),
    ],
)
async def test_a_damaged_value_costs_no_more_than_its_row_and_is_told_once(
    tmp_path: Path, statement: str, binding: str | None, said: list[str], told: str
) -> None:
    path = tmp_path / "bridge.sqlite"
    async with bindings_at(path) as bindings:
        await bindings.put(Binding("codex", "chat", "thread"))
        for words in ("heron", "osprey"):
            await bindings.mirror("chat", Spoken(said=words, answered="Yes.", at=1.0))
    write_into(path, statement)
    assert [each.binding.conversation for each in listed(path)] == [binding] * (binding is not None)
    async with bindings_at(path) as bindings:
        found = await bindings.get("codex", "chat")
        rows = await bindings.unheard("chat", "thread", 0)
        notices = bindings.take_notices()
        await bindings.put(Binding("codex", "chat", "another"))
        heard = await bindings.record(Binding("codex", "chat", "another"), Spoken(said="stork", answered="Yes."))
        assert (await bindings.get("codex", "chat"), bindings.take_notices()) == (
            Binding("codex", "chat", "another", Holds(heard=heard)),
            [],
        )
    assert (found.conversation if found else None) == binding
    assert [(each.said, each.occasion) for each in reversed(rows)] == [(words, Occasion.CHAT) for words in said]
    assert notices == ([f"The store {path} held {told}; the rest is kept."] if told else [])
