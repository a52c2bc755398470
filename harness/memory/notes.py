"""Which notes a workspace has, and what they hold.

Touches the disk. The notes are MEMORY.md in this spelling and the files `memory/*.md`; each is read through the
workspace's guard, and a file under several names counts once.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.memory.found import RefusedNote
from harness.workspace.guard import Candidate, TransientReadError, inspect, load
from harness.workspace.names import MEMORY, MEMORY_FOLDER
from harness.workspace.reads import Content, FileIdentity, Missing, Refusal, Refused


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A note that may be read."""

    path: str
    """Relative to the workspace, with `/`."""
    candidate: Candidate

    @property
    def identity(self) -> FileIdentity:
        """What tells this state of the file from another."""
        return self.candidate.identity


def scan_notes(real_root: str) -> tuple[FoundNote | RefusedNote, ...]:
    """List the notes of a workspace, given with every link followed: MEMORY.md first, then by name."""
    seen: set[tuple[int, int]] = set()
    notes: list[FoundNote | RefusedNote] = []
    for path in _paths(real_root):
        if not path.isprintable():
            notes.append(RefusedNote(repr(path), "its name cannot be shown; rename it"))
            continue
        found = look_at(real_root, path)
        if isinstance(found, Refused):
            notes.append(RefusedNote(path, found.reason))
        elif isinstance(found, Candidate) and (found.identity.device, found.identity.inode) not in seen:
            seen.add((found.identity.device, found.identity.inode))
            notes.append(FoundNote(path, found))
    return tuple(notes)


def look_at(real_root: str, path: str) -> Candidate | Missing | Refused:
    """Find out where `path` leads, as `harness.workspace.guard.inspect` does, but never raise.

    Args:
        real_root: The workspace, with every link followed.
        path: Relative to the workspace.
    """
    try:
        return inspect(real_root, path)
    except TransientReadError as error:
        return Refused(Refusal.UNREADABLE, error.strerror or "try again later")


def read_note(real_root: str, note: FoundNote) -> Content | Missing | Refused:
    """Read a note that was found; nothing is raised for the state of the disk.

    Args:
        real_root: The workspace, with every link followed.
        note: From `scan_notes`, or made of what `look_at` returned.
    """
    try:
        return load(real_root, note.candidate)
    except TransientReadError as error:
        return Refused(Refusal.UNREADABLE, error.strerror or "try again later")


def is_settled(identity: FileIdentity) -> bool:
    """Say whether a further write to the file is sure to change its identity."""
    return identity.is_settled(time.time_ns())


def note_path(workspace: str, asked: str) -> str | None:
    """Return the path, relative to the workspace, of the note that `asked` means, or None when it means none.

    Notes are asked for as `MEMORY.md`, `memory/NAME.md`, or by their absolute path. Nothing else is a note,
    whatever it leads to.
    """
    path = asked.strip()
    for root in (workspace, os.path.realpath(workspace)):
        path = path.removeprefix(root.rstrip("/") + "/")
    path = path.removeprefix("./")
    folder, slash, name = path.rpartition("/")
    if path == MEMORY:
        return path
    fits = slash and folder == MEMORY_FOLDER and name.endswith(".md") and name.isprintable() and "\\" not in name
    return path if fits else None


def _paths(workspace: str) -> Iterator[str]:
    if MEMORY in _names(Path(workspace)):
        yield MEMORY
    for name in sorted(_names(Path(workspace, MEMORY_FOLDER))):
        if name.endswith(".md"):
            yield f"{MEMORY_FOLDER}/{name}"


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names alone, a thousand of them before every search
    except OSError:  # no such folder, or one that may not be listed: no notes
        return []
