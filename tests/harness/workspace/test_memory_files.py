"""A file is memory by where its bytes are, whatever it is called."""

import os
from pathlib import Path

import pytest

from harness.workspace.bootstrap import Bootstrap, BootstrapRequest
from harness.workspace.memory_files import MemoryKind, memory_places
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Refusal, Refused


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "garden"
    (root / "memory").mkdir(parents=True)
    (root / "docs").mkdir()
    for name in ("MEMORY.md", "SOUL.md", "memory/2026-03-02.md", "docs/MEMORY.md"):
        (root / name).write_text(name)
    return root


def kind(workspace: Path, path: str) -> MemoryKind | None:
    return memory_places(str(workspace)).kind(os.path.realpath(workspace / path))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("MEMORY.md", MemoryKind.ROOT),
        ("docs/../MEMORY.md", MemoryKind.ROOT),
        ("memory/2026-03-02.md", MemoryKind.NOTE),
        ("memory/not-yet.md", MemoryKind.NOTE),
        ("docs/MEMORY.md", MemoryKind.NAMED),
        ("docs/memory.md", MemoryKind.NAMED),
        ("SOUL.md", None),
        ("docs/nothing.md", None),
    ],
)
def test_a_path_is_memory_by_where_it_leads(workspace: Path, path: str, expected: MemoryKind | None) -> None:
    assert kind(workspace, path) is expected


def test_a_link_does_not_hide_what_a_file_is(workspace: Path) -> None:
    (workspace / "USER.md").symlink_to("MEMORY.md")
    (workspace / "IDENTITY.md").symlink_to("memory/2026-03-02.md")
    (workspace / "days").symlink_to("memory")
    names = ("USER.md", "IDENTITY.md", "days/2026-03-02.md", "SOUL.md")
    assert [kind(workspace, name) for name in names] == [
        MemoryKind.ROOT,
        MemoryKind.NOTE,
        MemoryKind.NOTE,
        None,
    ]


def test_a_workspace_reached_through_a_link_knows_its_memory(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(workspace)
    assert kind(tmp_path / "alias", str(workspace / "MEMORY.md")) is MemoryKind.ROOT
    assert kind(workspace, str(tmp_path / "alias" / "memory" / "2026-03-02.md")) is MemoryKind.NOTE


def test_what_a_note_links_to_is_a_note_under_any_name(workspace: Path) -> None:
    (workspace / "diary.md").write_text("It rained.")
    (workspace / "memory/2026-12-01.md").symlink_to("../diary.md")
    (workspace / "SOUL.md").unlink()
    (workspace / "SOUL.md").symlink_to("diary.md")
    assert [kind(workspace, name) for name in ("SOUL.md", "diary.md", "docs/other.md")] == [
        MemoryKind.NOTE,
        MemoryKind.NOTE,
        None,
    ]


def test_the_folder_of_notes_is_known_in_any_letter_case(workspace: Path) -> None:
    (workspace / "Memory").mkdir()
    (workspace / "USER.md").symlink_to("Memory/2026-12-01.md")
    (workspace / "MemoryCards").mkdir()
    assert [kind(workspace, name) for name in ("USER.md", "MemoryCards/x.md")] == [MemoryKind.NOTE, None]


async def test_the_diary_behind_a_note_reaches_no_group_as_a_file_of_the_workspace(workspace: Path) -> None:
    (workspace / "diary.md").write_text("It rained.")
    (workspace / "USER.md").symlink_to("diary.md")
    bootstrap, request = Bootstrap(GuardedReader()), BootstrapRequest(str(workspace), "main")
    before = {file.name: file.memory for file in (await bootstrap.resolve(request)).files}["USER.md"]
    (workspace / "memory/2026-12-01.md").symlink_to("../diary.md")
    after = {file.name: file.memory for file in (await bootstrap.resolve(request)).files}["USER.md"]
    assert (before, after) == (None, MemoryKind.NOTE)


async def test_a_file_that_shares_its_bytes_with_the_memory_is_no_side_door(workspace: Path) -> None:
    (workspace / "MEMORY.md").rename(workspace / "docs/brain.md")
    (workspace / "USER.md").symlink_to("docs/brain.md")
    bootstrap, request = Bootstrap(GuardedReader()), BootstrapRequest(str(workspace), "main")

    before = [file.memory for file in (await bootstrap.resolve(request)).files if file.text]
    (workspace / "MEMORY.md").symlink_to("docs/brain.md")
    after = [file.memory for file in (await bootstrap.resolve(request)).files if file.text]

    # SOUL.md, and what was USER.md alone and is the memory from then on.
    assert (before, after) == ([None, None], [None, MemoryKind.ROOT])


async def test_a_note_of_a_linked_folder_is_a_note(workspace: Path) -> None:
    (workspace / "memory").rename(workspace / "docs/days")
    (workspace / "memory").symlink_to("docs/days")
    (workspace / "USER.md").symlink_to("docs/days/2026-03-02.md")
    resolved = await Bootstrap(GuardedReader()).resolve(BootstrapRequest(str(workspace), "main"))
    assert {file.name: file.memory for file in resolved.files if file.name == "USER.md"} == {"USER.md": MemoryKind.NOTE}


async def test_a_second_name_of_the_memory_is_not_read(workspace: Path) -> None:
    os.link(workspace / "MEMORY.md", workspace / "TOOLS.md")
    read = await GuardedReader().read(str(workspace), "TOOLS.md")
    assert read == Refused(Refusal.HARD_LINK)
