"""How the daily notes of a workspace are read for a fresh conversation.

Touches the disk, on a bare /new or /reset only; which notes and how they look is decided in `daily`.
"""

import os
from datetime import datetime, tzinfo
from pathlib import Path

from harness.memory.daily import DailyNote, NoteFile, choose_notes, render_startup, startup_dates
from harness.memory.notes import FoundNote, look_at, read_note
from harness.settings.memory import StartupSettings
from harness.workspace.guard import Candidate
from harness.workspace.names import MEMORY_FOLDER
from harness.workspace.reads import Content, Refused


def startup_context(
    workspace: str, *, now: datetime, zone: tzinfo, limits: StartupSettings
) -> tuple[str | None, tuple[str, ...]]:
    """Return the quoted notes, or None when there are none, and a sentence for each note that was passed over.

    Notes larger than `max_file_bytes` are passed over whole. Nothing is raised for the state of the disk.
    """
    root = os.path.realpath(workspace)
    names = choose_notes(startup_dates(now, zone, limits.daily_memory_days), _note_files(workspace))
    notes: list[DailyNote] = []
    problems: list[str] = []
    for name in names:
        path = f"{MEMORY_FOLDER}/{name}"
        read = _read(root, path, limits.max_file_bytes)
        if isinstance(read, str):
            problems.append(f"{path} was not quoted: {read}")
        elif read is not None:
            notes.append(read)
    return render_startup(notes, limits), tuple(problems)


def _note_files(workspace: str) -> tuple[NoteFile, ...]:
    try:
        with os.scandir(Path(workspace, MEMORY_FOLDER)) as entries:
            return tuple(note for entry in entries if (note := _note_file(entry)) is not None)
    except OSError:  # no folder, or one that goes away while it is listed: no notes
        return ()


def _note_file(entry: os.DirEntry[str]) -> NoteFile | None:
    if not (entry.name.endswith(".md") and entry.name.isprintable()):
        return None
    try:
        return NoteFile(entry.name, entry.stat().st_mtime_ns) if entry.is_file() else None
    except FileNotFoundError:  # it went away while it was listed
        return None
    except OSError:  # a loop of links, or the like: reading it finds out why, if its day is one to quote
        return NoteFile(entry.name, 0)


def _read(real_root: str, path: str, max_bytes: int) -> DailyNote | str | None:
    found = look_at(real_root, path)
    if not isinstance(found, Candidate):
        return found.reason if isinstance(found, Refused) else None
    if found.identity.size > max_bytes:
        return f"it is over {max_bytes} bytes; shorten it or raise startupContext.maxFileBytes"
    read = read_note(real_root, FoundNote(path, found))
    if isinstance(read, Content):
        return DailyNote(path, read.text)
    return read.reason if isinstance(read, Refused) else None
