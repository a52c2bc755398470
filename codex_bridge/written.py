"""What Codex has written down of a thread: what the model will see of it when it is loaded again.

From the files of the thread, for the model's history is made of them. Codex's own list of turns comes from an index
beside them, which after a crash, or after a disk was full, names turns that the files lack and lacks turns that they
have (measured, `docs/measured.md`).
"""

import mmap
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from anyio.to_thread import run_sync
from pydantic import BaseModel, ValidationError

from codex_bridge.marks import Mark, read_mark
from codex_bridge.wire.requests import Thread
from harness.lean_values import dataclass
from harness.projection import INTRO

_ITEM: Final = b'"type":"response_item"'
_WORDS: Final = b'"user.text"'
_QUOTED: Final = INTRO.encode()
_MESSAGE: Final = b'"type":"UserMessage"'
_ORDINAL: Final = re.compile(rb'"ordinal":(\d+)')
_HEAD: Final = 200
"""Bytes at the begin of a line in which its number and its type stand."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a thread holds of a turn."""

    words: bool = False
    """The message that it began with."""
    quoted: bool = False
    """What was quoted to it of the chat."""


NOTHING: Final = Kept()


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
    """The turn that it began."""
    mark: Mark | None
    """What it says of itself; None for one that is not ours."""


async def last_message(thread: Thread) -> Message | None:
    """Find the last message of a thread; None when its files show none, in a form that we know.

    Raises:
        OSError: They cannot be read.
    """
    return await run_sync(_last_message, thread)


async def kept(thread: Thread, turns: Iterable[str]) -> dict[str, Kept]:
    """What the files of a thread hold of each of these turns.

    Raises:
        OSError: They cannot be read.
    """
    return await run_sync(_kept, thread, tuple(turns))


def _last_message(thread: Thread) -> Message | None:
    for content, end in _files(thread):
        for line in _backwards(content):
            if _MESSAGE in line and _number(line) < end and (found := _message(line)) is not None:
                return found
    return None


def _kept(thread: Thread, turns: tuple[str, ...]) -> dict[str, Kept]:
    found = dict.fromkeys(turns, NOTHING)
    for content, end in _files(thread):
        left = [turn for turn in turns if not found[turn].words]
        if not left:
            break
        for turn in left:
            here = _in_file(content, turn, end)
            found[turn] = Kept(here.words, here.quoted or found[turn].quoted)
    return found


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


def _in_file(content: mmap.mmap, turn: str, end: float) -> Kept:
    words = quoted = False
    named = f'"turn_id":"{turn}"'.encode()
    at = content.find(named)
    while at >= 0 and not words:
        start, stop = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at)
        if stop < 0:
            break
        line = content[start:stop]
        if _ITEM in line[:_HEAD] and _number(line) < end:
            words, quoted = _WORDS in line, quoted or _QUOTED in line
        at = content.find(named, stop)
    return Kept(words, quoted)


def _number(line: bytes) -> int:
    found = _ORDINAL.search(line, 0, _HEAD)
    return int(found[1]) if found is not None else 0


def _message(line: bytes) -> Message | None:
    try:
        said = _Line.model_validate_json(line).payload
    except ValidationError:
        return None
    return Message(said.turn_id, read_mark(said.item.client_id)) if said.item.type == "UserMessage" else None
