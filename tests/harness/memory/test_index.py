import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from harness.memory import Found, Hit, MemoryIndex, MemoryUnavailableError, RefusedNote
from harness.memory import index as index_module
from harness.memory.notes import FoundNote
from harness.memory.store import DATABASE
from harness.workspace.reads import Content, FileIdentity, Missing, Refused


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "garden"
    (root / "memory").mkdir(parents=True)
    write(root / "MEMORY.md", "# Boat\nThe boat is blue.\n\n# Greenhouse\nVents stick in summer.\n")
    write(root / "memory/2026-03-02.md", "Planted beans beside the boat shed.\n")
    return root


def write(path: Path, text: str) -> None:
    """Write a file that was last changed long enough ago to count as settled by its own times."""
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000 + len(text)))


def texts(found: Found) -> list[tuple[str, int, int, str]]:
    return [(hit.path, hit.first_line, hit.last_line, hit.text) for hit in found.hits]


BOAT = ("MEMORY.md", 1, 2, "# Boat\nThe boat is blue.")
BEANS = ("memory/2026-03-02.md", 1, 1, "Planted beans beside the boat shed.")


def test_passages_are_found_best_first_with_their_lines(workspace: Path, tmp_path: Path) -> None:
    with MemoryIndex(tmp_path / "state") as index:
        found = index.search(str(workspace), "What colour is the blue boat?", limit=6)
        assert texts(found) == [BOAT, BEANS]
        assert found.hits[0].score > found.hits[1].score > 0
        assert (found.notes, found.refused) == (2, ())
        assert texts(index.search(str(workspace), "blue boat", limit=1)) == [BOAT]


def test_a_passage_with_all_words_scores_one_and_a_least_score_leaves_others_out(
    workspace: Path, tmp_path: Path
) -> None:
    with MemoryIndex(tmp_path / "state") as index:
        found = index.search(str(workspace), "blue boat", limit=6, min_score=0.9)
        assert found.hits == (Hit("MEMORY.md", 1, 2, "# Boat\nThe boat is blue.", 1.0),)
        assert found.hits[0].source == "MEMORY.md#L1-L2"


def test_the_name_of_a_note_is_searched_too(workspace: Path, tmp_path: Path) -> None:
    with MemoryIndex(tmp_path / "state") as index:
        assert texts(index.search(str(workspace), "2026-03-02", limit=6)) == [BEANS]


def test_edits_new_notes_and_removals_are_noticed(workspace: Path, tmp_path: Path) -> None:
    with MemoryIndex(tmp_path / "state") as index:
        assert texts(index.search(str(workspace), "boat", limit=6)) != []
        write(workspace / "MEMORY.md", "The kayak is red.\n")
        write(workspace / "memory/later.md", "A kayak paddle broke.\n")
        (workspace / "memory/2026-03-02.md").unlink()
        assert texts(index.search(str(workspace), "boat", limit=6)) == []
        assert texts(index.search(str(workspace), "kayak", limit=6)) == [
            ("MEMORY.md", 1, 1, "The kayak is red."),
            ("memory/later.md", 1, 1, "A kayak paddle broke."),
        ]


def test_an_edit_within_the_same_tick_is_noticed(workspace: Path, tmp_path: Path) -> None:
    with MemoryIndex(tmp_path / "state") as index:
        (workspace / "MEMORY.md").write_text("The kayak is red.")
        index.refresh(str(workspace))
        (workspace / "MEMORY.md").write_text("The kayak is big.")
        assert texts(index.search(str(workspace), "kayak", limit=6)) == [("MEMORY.md", 1, 1, "The kayak is big.")]


def test_unchanged_notes_are_not_read_again(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def settled(identity: FileIdentity) -> bool:
        return True

    monkeypatch.setattr(index_module, "is_settled", settled)
    with MemoryIndex(tmp_path / "state") as index:
        index.refresh(str(workspace))
    read = _spied_reads(monkeypatch)
    with MemoryIndex(tmp_path / "state") as index:
        assert texts(index.search(str(workspace), "blue", limit=6)) == [BOAT]
        assert read == []
        write(workspace / "memory/2026-03-02.md", "Rain.\n")
        index.refresh(str(workspace))
        assert read == ["memory/2026-03-02.md"]


def test_a_note_that_was_read_too_soon_after_its_edit_is_read_again(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settled(identity: FileIdentity) -> bool:
        return False

    monkeypatch.setattr(index_module, "is_settled", settled)
    read = _spied_reads(monkeypatch)
    with MemoryIndex(tmp_path / "state") as index:
        index.refresh(str(workspace))
        index.refresh(str(workspace))
    assert read == ["MEMORY.md", "memory/2026-03-02.md"] * 2


def test_the_way_to_the_workspace_is_followed_once_for_all_notes(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(workspace)
    followed: list[str] = []
    original = os.path.realpath

    def spied(path: str | Path, *, strict: bool = False) -> str:
        followed.append(str(path))
        return original(str(path), strict=strict)

    with MemoryIndex(tmp_path / "state") as index:
        index.refresh(str(tmp_path / "link"))
        monkeypatch.setattr(os.path, "realpath", spied)
        index.refresh(str(tmp_path / "link"))
    real = original(str(workspace))
    assert followed == [str(tmp_path / "link"), f"{real}/MEMORY.md", f"{real}/memory/2026-03-02.md"]


def test_workspaces_do_not_see_each_other(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "office"
    other.mkdir()
    write(other / "MEMORY.md", "The boat belongs to the firm.\n")
    with MemoryIndex(tmp_path / "state") as index:
        index.refresh(str(workspace))
        assert texts(index.search(str(other), "boat", limit=6)) == [
            ("MEMORY.md", 1, 1, "The boat belongs to the firm.")
        ]
        assert texts(index.search(str(workspace), "boat", limit=6)) == [BOAT, BEANS]


def test_files_that_are_no_notes_are_not_searched(workspace: Path, tmp_path: Path) -> None:
    for name in ("SOUL.md", "memory/boat.txt", "memory/deep/boat.md", "Memory.md"):
        (workspace / name).parent.mkdir(exist_ok=True)
        write(workspace / name, "boat boat boat\n")
    with MemoryIndex(tmp_path / "state") as index:
        assert texts(index.search(str(workspace), "boat", limit=6)) == [BOAT, BEANS]


def test_a_note_under_two_names_is_found_once(workspace: Path, tmp_path: Path) -> None:
    (workspace / "memory/again.md").symlink_to("2026-03-02.md")
    (workspace / "memory/long-term.md").symlink_to("../MEMORY.md")
    with MemoryIndex(tmp_path / "state") as index:
        assert len(index.search(str(workspace), "boat", limit=6).hits) == 2


def test_notes_that_lead_out_of_the_workspace_are_refused_and_named(workspace: Path, tmp_path: Path) -> None:
    write(tmp_path / "diary.md", "secret boat\n")
    (workspace / "memory/out.md").symlink_to(tmp_path / "diary.md")
    os.link(tmp_path / "diary.md", workspace / "memory/hard.md")
    with MemoryIndex(tmp_path / "state") as index:
        found = index.search(str(workspace), "secret", limit=6)
    assert found.hits == ()
    assert found.refused == (
        RefusedNote("memory/hard.md", "it is a hard link, a second name of some other file; replace it with a copy"),
        RefusedNote(
            "memory/out.md",
            "it leads outside the workspace; copy the file into the workspace instead of linking to it",
        ),
    )


def test_a_memory_folder_that_leads_out_gives_nothing_away(workspace: Path, tmp_path: Path) -> None:
    (workspace / "memory/2026-03-02.md").unlink()
    (workspace / "memory").rmdir()
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere/diary.md", "secret\n")
    (workspace / "memory").symlink_to(tmp_path / "elsewhere")
    with MemoryIndex(tmp_path / "state") as index:
        assert index.search(str(workspace), "secret", limit=6).hits == ()


def test_a_workspace_that_is_not_there_has_no_notes(tmp_path: Path) -> None:
    with MemoryIndex(tmp_path / "state") as index:
        assert index.search(str(tmp_path / "nowhere"), "boat", limit=6) == Found((), 0, ())


def test_the_database_is_its_owners_alone(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / DATABASE).touch(0o666)
    (folder / DATABASE).chmod(0o666)
    before = os.umask(0)
    try:
        with MemoryIndex(folder) as index:
            index.refresh(str(workspace))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        with MemoryIndex(tmp_path / "new") as index:
            index.refresh(str(workspace))
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [b"not a database at all, not even close" * 40, b"\0" * 8192])
def test_a_broken_database_is_built_again(workspace: Path, tmp_path: Path, damage: bytes) -> None:
    folder = tmp_path / "state"
    with MemoryIndex(folder) as index:
        index.refresh(str(workspace))
    (folder / DATABASE).write_bytes(damage)
    with MemoryIndex(folder) as index:
        assert texts(index.search(str(workspace), "blue", limit=6)) == [BOAT]


@pytest.mark.parametrize("damage", ["DROP TABLE passages", "PRAGMA user_version = 99", "DROP TABLE words"])
def test_a_database_of_another_shape_is_built_again(workspace: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "state"
    with MemoryIndex(folder) as index:
        index.refresh(str(workspace))
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        database.execute(damage)
        database.commit()
    with MemoryIndex(folder) as index:
        assert texts(index.search(str(workspace), "blue", limit=6)) == [BOAT]


def test_damage_in_the_midst_of_use_is_repaired(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with MemoryIndex(folder) as index:
        index.refresh(str(workspace))
        with closing(sqlite3.connect(folder / DATABASE)) as database:
            database.execute("DROP TABLE words_data")
            database.commit()
        assert texts(index.search(str(workspace), "blue", limit=6)) == [BOAT]


def test_two_processes_may_index_the_same_notes(workspace: Path, tmp_path: Path) -> None:
    with MemoryIndex(tmp_path / "state") as one, MemoryIndex(tmp_path / "state") as other:
        for round_number in range(3):
            write(workspace / "MEMORY.md", f"The boat is blue{'!' * round_number}\n")
            assert len(one.search(str(workspace), "blue", limit=6).hits) == 1
            assert len(other.search(str(workspace), "blue", limit=6).hits) == 1


def test_a_folder_that_cannot_hold_the_database_is_named(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, no folder")
    with MemoryIndex(tmp_path / "state") as index, pytest.raises(MemoryUnavailableError) as caught:
        index.search(str(workspace), "boat", limit=6)
    assert f"the memory index {tmp_path / 'state' / DATABASE} cannot be used" in str(caught.value)


def test_a_note_whose_name_cannot_be_shown_is_named_and_the_rest_is_searched(workspace: Path, tmp_path: Path) -> None:
    (workspace / os.fsdecode(b"memory/\xff.md")).write_text("boat")
    with MemoryIndex(tmp_path / "state") as index:
        found = index.search(str(workspace), "boat", limit=6)
    assert texts(found) == [BOAT, BEANS]
    assert found.refused == (RefusedNote("'memory/\\udcff.md'", "its name cannot be shown; rename it"),)


def test_a_workspace_whose_own_name_is_odd_is_searched(workspace: Path, tmp_path: Path) -> None:
    odd = workspace.rename(workspace.with_name(os.fsdecode(b"gar\xffden")))
    with MemoryIndex(tmp_path / "state") as index:
        assert texts(index.search(str(odd), "boat", limit=6)) == [BOAT, BEANS]


def test_no_word_of_a_removed_note_can_be_read_from_the_files_of_the_index(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "state"

    def holds(word: str) -> bool:
        return any(word.encode() in path.read_bytes() for path in folder.iterdir())

    write(workspace / "memory/secret.md", "zebrafinch\n" + "zygomorphic quoll\n" * 3_000)
    write(workspace / "MEMORY.md", "wombatquark " * 2_000)
    with MemoryIndex(folder) as index:
        index.refresh(str(workspace))
        assert (holds("zebrafinch"), holds("zygomorph"), holds("wombatquark")) == (True, True, True)
        (workspace / "memory/secret.md").unlink()
        write(workspace / "MEMORY.md", "one passage\n")
        index.refresh(str(workspace))
        assert (holds("zebrafinch"), holds("zygomorph"), holds("wombatquark")) == (False, False, False)
    assert (holds("zebrafinch"), holds("zygomorph"), holds("wombatquark")) == (False, False, False)


def test_nothing_of_a_removed_note_stays_in_the_database(workspace: Path, tmp_path: Path) -> None:
    with MemoryIndex(tmp_path / "state") as index:
        index.refresh(str(workspace))
        (workspace / "memory/2026-03-02.md").unlink()
        write(workspace / "MEMORY.md", "one passage\n")
        index.refresh(str(workspace))
    with closing(sqlite3.connect(tmp_path / "state" / DATABASE)) as database:
        rows = [database.execute(f"SELECT count(*) FROM {name}").fetchone() for name in ("notes", "passages", "words")]
    assert rows == [(1,), (1,), (1,)]


def _spied_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by the path of each note that is read."""
    read: list[str] = []

    def spied(root: str, note: FoundNote) -> Content | Missing | Refused:
        read.append(note.path)
        return original(root, note)

    original = index_module.read_note
    monkeypatch.setattr(index_module, "read_note", spied)
    return read
