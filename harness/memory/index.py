"""Which passages of the notes answer a question, from an index that follows the files.

Touches the disk. Before each search every note is looked at, and only those that changed are read again.
"""

import math
import os
import sqlite3
from pathlib import Path, PurePosixPath
from types import TracebackType

import orjson

from harness.memory.found import Found, Hit, RefusedNote
from harness.memory.notes import FoundNote, is_settled, read_note, scan_notes
from harness.memory.passages import split_note
from harness.memory.store import IndexStore
from harness.memory.words import any_of, folded, query_terms
from harness.workspace.reads import Content, Refused

_TITLE_WEIGHT = 2.0
"""How much more a word counts in a heading or a file's name."""


class MemoryIndex:
    """The index of the notes of any number of workspaces.

    Blocking: call it from a thread. Safe to share between threads and processes.

    Args:
        folder: Where the database is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._store = IndexStore(folder)

    def __enter__(self) -> "MemoryIndex":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def search(self, workspace: str, question: str, *, limit: int, min_score: float = 0.0) -> Found:
        """Return at most `limit` passages of a workspace's notes that hold words of `question`.

        Raises:
            MemoryUnavailableError: The database cannot be used.
        """
        terms = query_terms(question)

        def work(connection: sqlite3.Connection) -> Found:
            notes, refused = _update(connection, workspace)
            hits = [hit for hit in _ranked(connection, os.fsencode(workspace), terms) if hit.score >= min_score]
            return Found(tuple(hits[:limit]), notes, refused)

        return self._store.run(work)

    def refresh(self, workspace: str) -> Found:
        """Bring the index up to date with a workspace's files, without searching.

        Raises:
            MemoryUnavailableError: The database cannot be used.
        """
        return self._store.run(lambda connection: Found((), *_update(connection, workspace)))


def _update(connection: sqlite3.Connection, workspace: str) -> tuple[int, tuple[RefusedNote, ...]]:
    known: dict[str, tuple[int, str]] = {
        path: (note, identity)
        for note, path, identity in connection.execute(
            "SELECT id, path, identity FROM notes WHERE workspace = ?", (os.fsencode(workspace),)
        )
    }
    refused: list[RefusedNote] = []
    kept: set[str] = set()
    root = os.path.realpath(workspace)
    for note in scan_notes(root):
        if isinstance(note, RefusedNote):
            refused.append(note)
            continue
        unchanged = known.get(note.path, (0, ""))[1] == _written(note)
        problem = None if unchanged else _replace(connection, workspace, root, note)
        if problem is None:
            kept.add(note.path)
        else:
            refused.append(problem)
    gone = [(note,) for path, (note, _) in known.items() if path not in kept]
    connection.executemany("DELETE FROM notes WHERE id = ?", gone)
    return len(kept), tuple(refused)


def _replace(connection: sqlite3.Connection, workspace: str, real_root: str, note: FoundNote) -> RefusedNote | None:
    # What may still change unnoticed is remembered as unknown, so that the next search reads it again.
    identity = _written(note) if is_settled(note.identity) else ""
    read = read_note(real_root, note)
    if not isinstance(read, Content):
        return RefusedNote(note.path, read.reason if isinstance(read, Refused) else "it went away while it was read")
    # The deletion takes the write lock, so no other process puts the same note in between.
    key = os.fsencode(workspace)
    connection.execute("DELETE FROM notes WHERE workspace = ? AND path = ?", (key, note.path))
    row = connection.execute(
        "INSERT INTO notes (workspace, path, identity) VALUES (?, ?, ?)", (key, note.path, identity)
    )
    stem = PurePosixPath(note.path).stem
    for part in split_note(read.text):
        passage = connection.execute(
            "INSERT INTO passages (note, first_line, last_line, text) VALUES (?, ?, ?, ?)",
            (row.lastrowid, part.first_line, part.last_line, part.text),
        )
        connection.execute(
            "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
            (passage.lastrowid, folded(f"{stem} {part.headings}"), folded(part.text)),
        )
    return None


def _ranked(connection: sqlite3.Connection, workspace: bytes, terms: tuple[str, ...]) -> list[Hit]:
    if not terms:
        return []
    passages = _count(connection, workspace)
    weights: list[tuple[float, frozenset[int]]] = []
    for term in terms:
        holding = _holding(connection, workspace, term)
        weights.append((math.log(1 + passages / (len(holding) or 0.5)), holding))
    whole = sum(weight for weight, _ in weights)
    hits = [
        (Hit(*row[1:], score=round(sum(weight for weight, ids in weights if row[0] in ids) / whole, 4)), rank)
        for rank, row in enumerate(_matching(connection, workspace, any_of(terms)))
    ]
    return [hit for hit, _ in sorted(hits, key=lambda pair: (-pair[0].score, pair[1]))]


def _count(connection: sqlite3.Connection, workspace: bytes) -> int:
    query = "SELECT count(*) FROM passages JOIN notes ON notes.id = passages.note WHERE workspace = ?"
    (count,) = connection.execute(query, (workspace,)).fetchone()
    return int(count)


_FROM = (
    "FROM words JOIN passages ON passages.id = words.rowid JOIN notes ON notes.id = passages.note "
    "WHERE words MATCH ? AND workspace = ?"
)


def _holding(connection: sqlite3.Connection, workspace: bytes, term: str) -> frozenset[int]:
    query = f"SELECT passages.id {_FROM}"
    return frozenset(row[0] for row in connection.execute(query, (term, workspace)))


def _matching(
    connection: sqlite3.Connection, workspace: bytes, expression: str
) -> list[tuple[int, str, int, int, str]]:
    query = (
        f"SELECT passages.id, path, first_line, last_line, text {_FROM} "
        f"ORDER BY bm25(words, {_TITLE_WEIGHT}, 1.0), path, first_line, passages.id"
    )
    return connection.execute(query, (expression, workspace)).fetchall()


def _written(note: FoundNote) -> str:
    return orjson.dumps(tuple(note.identity)).decode()
