"""Which file is long-term memory, under whatever name it turns up.

Looks at the disk only to find and follow links: what counts is where the bytes are, not the name of a link. A second
name by a hard link is never read in the first place.
"""

import os
from enum import Enum

from harness.lean_values import dataclass
from harness.workspace.names import MEMORY, MEMORY_FOLDER, base_name


class MemoryKind(Enum):
    """What a file is to the memory."""

    ROOT = "root"
    """The workspace's own MEMORY.md: the one that tools replace."""
    NOTE = "note"
    """Anything in the folder of daily notes."""
    NAMED = "named"
    """Called like the memory file, or holding its text, elsewhere: as private, but never replaced by tools."""


@dataclass(frozen=True, slots=True)
class MemoryPlaces:
    """Where a workspace keeps its memory, with links followed."""

    root_file: str
    notes: tuple[str, ...]
    """The folder of daily notes, without regard to letter case: where it is, and where a link of that name leads."""
    linked: frozenset[str] = frozenset()
    """Where those notes are that are links."""

    def kind(self, real_path: str) -> MemoryKind | None:
        """Say what the file at `real_path`, with links followed, is to the memory; None for no memory."""
        if real_path == self.root_file:
            return MemoryKind.ROOT
        # Folded: where letter case makes no difference, a link may spell the folder in another one.
        if real_path in self.linked or real_path.casefold().startswith(self.notes):
            return MemoryKind.NOTE
        return named_like_memory(real_path)


def named_like_memory(path: str) -> MemoryKind | None:
    """Judge a file by its name alone, in whatever letter case."""
    return MemoryKind.NAMED if base_name(path).casefold() == MEMORY.casefold() else None


def memory_places(workspace: str) -> MemoryPlaces:
    """Find out where the memory of a workspace really is; it need not be there."""
    folder = os.path.realpath(f"{workspace}/{MEMORY_FOLDER}")
    named = f"{os.path.realpath(workspace)}/{MEMORY_FOLDER}"
    notes = tuple(f"{path}/".casefold() for path in dict.fromkeys((folder, named)))
    return MemoryPlaces(os.path.realpath(f"{workspace}/{MEMORY}"), notes, _linked_notes(folder))


def _linked_notes(folder: str) -> frozenset[str]:
    """Find out where the links among the notes lead; what they lead to is a note, under any name."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()]
    except OSError:  # no folder, or one that may not be listed: no notes
        return frozenset()
    return frozenset(map(os.path.realpath, links))


def recent_notes(workspace: str, most: int) -> tuple[str, ...]:
    """Return the paths of the notes whose names come last, and so of the latest days; `most` at most."""
    folder = f"{workspace}/{MEMORY_FOLDER}"
    try:
        names = sorted((name for name in os.listdir(folder) if name.endswith(".md")), reverse=True)  # noqa: PTH208
    except OSError:  # no folder, or one that may not be listed: no notes
        return ()
    return tuple(f"{folder}/{name}" for name in names[:most])
