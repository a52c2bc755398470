"""What Codex has written down of a thread: what the model will see of it when it is loaded again.

From the files of the thread, for the model's history is made of them. Codex's own list of turns comes from an index
beside them, which after a crash, or after a disk was full, names turns that the files lack and lacks turns that they
have (measured, `docs/measured.md`).
"""

import mmap
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from anyio.to_thread import run_sync
from pydantic import BaseModel, ValidationError

from codex_bridge.entries import HISTORY_KEY
from codex_bridge.marks import Mark, read_mark
from codex_bridge.wire.requests import Thread
from harness.lean_values import dataclass

_ITEM: Final = b'"type":"response_item"'
_WORDS: Final = b'"user.text"'
_MESSAGE: Final = b'"type":"UserMessage"'
_ENTRY: Final = re.compile(
    rb'(?:"text":"<external_|"name":")%b_(\d{1,15})_(\d{1,3})_(\d{1,3})[>"]' % HISTORY_KEY.encode()
)
"""A quotation as an item of the history, of 0.163 and of 0.171; within a text its quotes would be escaped."""
_ORDINAL: Final = re.compile(rb'"ordinal":(\d+)')
_HEAD: Final = 200
"""Bytes at the begin of a line in which its number and its type stand."""


class _Item(BaseModel):
    type: str
    client_id: str | None = None


class _Event(BaseModel):
    turn_id: str
    item: _Item


class _Line(BaseModel):
    payload: _Event


@dataclass(frozen=True, slots=True)
class Message:
    """The last message of a thread."""

    turn: str
    """The turn that it began; empty for none, of a thread in which something was quoted and nothing said."""
    mark: Mark | None
    """What it says of itself; None for one that is not ours."""
    quoted: int = 0
    """The number of the last row of the chat's transcript that was quoted after it, and whole; 0 for none."""


async def last_message(thread: Thread) -> Message | None:
    """Find the last message of a thread; None when its files show none, in a form that we know.

    Raises:
        OSError: They cannot be read.
    """
    return await run_sync(_last_message, thread)


async def kept(thread: Thread, turns: Iterable[str]) -> frozenset[str]:
    """Of which of these turns the files of a thread hold the message that it began with.

    Raises:
        OSError: They cannot be read.
    """
    return await run_sync(_kept, thread, tuple(turns))


def _last_message(thread: Thread) -> Message | None:
    pieces: set[tuple[int, int, int]] = set()
    for content, end in _files(thread):
        for line in _backwards(content):
            if _number(line) >= end:
                continue
            pieces.update(_quoted(line))
            if _MESSAGE in line and (found := _message(line)) is not None:
                return replace(found, quoted=_whole(pieces))
    return Message("", None, _whole(pieces)) if pieces else None


def _quoted(line: bytes) -> Iterable[tuple[int, int, int]]:
    """The entries of quotations that an item of the history has, see `entries.HISTORY_KEY`."""
    if _ITEM not in line[:_HEAD]:
        return ()
    return [(int(row), int(of), int(piece)) for row, of, piece in _ENTRY.findall(line)]


def _whole(pieces: set[tuple[int, int, int]]) -> int:
    """The last row up to which something was quoted of which no piece is missing."""
    return max((row for row, of, _ in pieces if {(row, of, each + 1) for each in range(of)} <= pieces), default=0)


def _kept(thread: Thread, turns: tuple[str, ...]) -> frozenset[str]:
    found: set[str] = set()
    for content, end in _files(thread):
        found.update(turn for turn in turns if turn not in found and _in_file(content, turn, end))
    return frozenset(found)


def _files(thread: Thread) -> Iterator[tuple[mmap.mmap, float]]:
    """The files of a thread, the last one first, and from which line on each of them does not count.

    A thread that is taken back goes on in a new file, which counts its lines from where it was taken back to.
    """
    path, end = Path(thread.path), float("inf")
    if path.suffix != ".jsonl":
        return
    # Their names end with the time of their making, but for that of the first one, which has none.
    for each in sorted(path.parent.glob(f"*{thread.id}*.jsonl"), reverse=True):
        with _mapped(each) as content:
            if content is not None:
                yield content, end
                end = min(end, _number(content[:_HEAD]))


@contextmanager
def _mapped(path: Path) -> Generator[mmap.mmap | None]:
    with path.open("rb") as file:
        if not path.stat().st_size:
            yield None  # cannot be mapped
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content


def _backwards(content: mmap.mmap) -> Iterator[bytes]:
    """The lines of a file, the last one first, without one that was not finished: Codex does not read that either."""
    end = content.rfind(b"\n")
    while end > 0:
        start = content.rfind(b"\n", 0, end)
        yield content[start + 1 : end]
        end = start


def _in_file(content: mmap.mmap, turn: str, end: float) -> bool:
    named = f'"turn_id":"{turn}"'.encode()
    at = content.find(named)
    while at >= 0:
        start, stop = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at)
        if stop < 0:
            return False
        line = content[start:stop]
        if _ITEM in line[:_HEAD] and _number(line) < end and _WORDS in line:
            return True
        at = content.find(named, stop)
    return False


def _number(line: bytes) -> int:
    found = _ORDINAL.search(line, 0, _HEAD)
    return int(found[1]) if found is not None else 0


def _message(line: bytes) -> Message | None:
    try:
        said = _Line.model_validate_json(line).payload
    except ValidationError:
        return None
    return Message(said.turn_id, read_mark(said.item.client_id)) if said.item.type == "UserMessage" else None
