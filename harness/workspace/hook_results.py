"""What the files are after hooks have run: the hooks' entries made sound again.

Reads, through the guard, files that a hook named without giving their text. Entries without a usable path are
dropped, paths are made absolute, and a memory file stays known as one under whatever name or path a hook gave it. A
text that quotes the memory is as private as the memory.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.home_paths import at_home
from harness.workspace.boundaries import without_lone_surrogates
from harness.workspace.entries import Notice, NoticeCode, WorkspaceFile
from harness.workspace.hooks import HookFile
from harness.workspace.memory_files import MemoryKind, memory_places, named_like_memory, recent_notes
from harness.workspace.names import base_name
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Missing, ReadResult

MOST_NOTES: Final = 31
"""Notes whose text is looked for in what a hook gives: those of a month; our choice."""


@dataclass(frozen=True, slots=True)
class HookedFiles:
    """The files after the hooks, and the entries that were no use."""

    files: tuple[WorkspaceFile, ...]
    notices: tuple[Notice, ...]


async def settle(
    entries: Sequence[HookFile], *, before: Sequence[WorkspaceFile], root: str, home: str, reader: GuardedReader
) -> HookedFiles:
    """Turn what hooks left into workspace files.

    Args:
        entries: The list as the hooks left it, see `BootstrapHooks.run`.
        before: All files loaded for the run, those that a rule had already left out included.
        root: The workspace.
        home: What `~` stands for.
        reader: Reads entries without content.
    """
    quotes_memory = _QuotesMemory(before, root, reader)
    files: list[WorkspaceFile] = []
    notices: list[Notice] = []
    for entry in entries:
        try:
            file = await _settle_one(entry, root=root, home=home, reader=reader, quotes_memory=quotes_memory)
        except ValueError:  # what the system says to a path such as "a\0b"
            file = _dropped(entry, f"has the path {entry.path!r}, which no file can have")
        if isinstance(file, Notice):
            notices.append(file)
        else:
            files.append(file)
    return HookedFiles(tuple(files), tuple(notices))


async def _settle_one(
    entry: HookFile, *, root: str, home: str, reader: GuardedReader, quotes_memory: "_QuotesMemory"
) -> WorkspaceFile | Notice:
    if entry.path is None or not entry.path.strip():
        return _dropped(entry, "has no path")
    shown = absolute_path(entry.path, root=root, home=home)
    source = entry.source
    if source is not None and _untouched(entry, source):
        return source
    name = without_lone_surrogates(entry.name.strip()) or base_name(shown)
    read = await _read(entry, shown, root=root, reader=reader)
    real = read.real_path if isinstance(read, Content) else shown
    memory = (
        (None if source is None else source.memory)
        or memory_places(root).kind(real)
        or named_like_memory(name)
        or (MemoryKind.NAMED if isinstance(read, Content) and await quotes_memory(read) else None)
    )
    return WorkspaceFile(name=name, path=shown, read=read, memory=memory, from_hook=True)


def absolute_path(path: str, *, root: str, home: str) -> str:
    """Make a path absolute and plain: trimmed, `~` expanded, relative to the workspace, without `..`."""
    return os.path.normpath(Path(root, at_home(path, home)))


def _untouched(entry: HookFile, source: WorkspaceFile) -> bool:
    read_before = isinstance(source.read, Content)
    return (entry.name, entry.path, entry.content, entry.missing) == (
        source.name,
        source.path,
        source.text if read_before else None,
        not read_before,
    )


async def _read(entry: HookFile, shown: str, *, root: str, reader: GuardedReader) -> ReadResult:
    if entry.missing:
        return Missing()
    if entry.content is None:
        return await reader.read(root, shown)
    return Content(without_lone_surrogates(entry.content), _real(shown), identity=None)


def _real(path: str) -> str:
    return os.path.realpath(path)


class _QuotesMemory:
    """Whether a text quotes a memory file of the workspace, or a recent note. Looked at only when a hook changed one.

    Notes are looked for in what a hook wrote, and not in files of the workspace that it only named: notes quote those.
    """

    def __init__(self, before: Sequence[WorkspaceFile], root: str, reader: GuardedReader) -> None:
        self._before = before
        self._root = root
        self._reader = reader
        self._notes: tuple[str, ...] | None = None

    async def __call__(self, read: Content) -> bool:
        memories = tuple(file.text for file in self._before if file.memory and file.text.strip())
        if read.identity is None:
            if self._notes is None:
                self._notes = await self._read_notes()
            memories = (*memories, *self._notes)
        if not memories:
            return False
        from harness.workspace.memory_quotes import telling  # few agents have a hook

        return telling(memories, tuple(file.text for file in self._before if not file.memory)).is_in(read.text)

    async def _read_notes(self) -> tuple[str, ...]:
        reads = [await self._reader.read(self._root, path) for path in recent_notes(self._root, MOST_NOTES)]
        return tuple(read.text for read in reads if isinstance(read, Content) and read.text.strip())


def _dropped(entry: HookFile, why: str) -> Notice:
    text = (
        f"A hook on agent:bootstrap left the entry {entry.name!r} that {why}; it was dropped."
        " Give each file a name and a path."
    )
    return Notice(NoticeCode.HOOK_ENTRY, "agent:bootstrap", text)
