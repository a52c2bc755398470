"""Which file is long-term memory, under whatever name it turns up.

Looks at the disk only to follow links: what counts is where the bytes are, and not the name of a link to them. A second
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
    notes: str

    def kind(self, real_path: str) -> MemoryKind | None:
        """Say what the file at `real_path`, with links followed, is to the memory; None for no memory."""
        if real_path == self.root_file:
            return MemoryKind.ROOT
        if real_path.startswith(f"{self.notes}/"):
            return MemoryKind.NOTE
        return named_like_memory(real_path)


def named_like_memory(path: str) -> MemoryKind | None:
    """Judge a file by its name alone, in whatever letter case."""
    return MemoryKind.NAMED if base_name(path).casefold() == MEMORY.casefold() else None


def memory_places(workspace: str) -> MemoryPlaces:
    """Find out where the memory of a workspace really is; it need not be there."""
    return MemoryPlaces(os.path.realpath(f"{workspace}/{MEMORY}"), os.path.realpath(f"{workspace}/{MEMORY_FOLDER}"))
