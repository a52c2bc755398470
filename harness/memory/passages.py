"""How a note is split into passages that can be found one by one.

Pure. A passage is a run of whole lines below one heading, small enough to be shown in full; a line longer than
that is split, and its parts share its number.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.units import utf16_units
from harness.workspace.boundaries import head

PASSAGE_UNITS = 700
"""The size of a passage in UTF-16 units: what one search result shows."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a note; lines count from 1, and both belong to it."""

    first_line: int
    last_line: int
    headings: str
    """The headings that it stands under, outermost first."""
    text: str


def note_lines(text: str) -> list[str]:
    """Return the lines of a note as an editor counts them, without their ends."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def split_note(text: str) -> tuple[Passage, ...]:
    """Split a note into passages, in reading order; blank ones are dropped."""
    return tuple(_passages(note_lines(text)))


def _passages(lines: list[str]) -> Iterator[Passage]:
    path: list[tuple[int, str]] = []
    start, size = 0, 0
    for number, line in enumerate(lines):
        heading = _HEADING.fullmatch(line)
        units = utf16_units(line) + 1
        if heading or size + units > PASSAGE_UNITS:
            yield from _passage(lines, start, number, path)
            start, size = number, 0
        if heading:
            level = len(heading[1])
            path = [*(entry for entry in path if entry[0] < level), (level, heading[2])]
        size += units
    yield from _passage(lines, start, len(lines), path)


def _passage(lines: list[str], start: int, stop: int, path: list[tuple[int, str]]) -> Iterator[Passage]:
    while start < stop and not lines[start].strip():
        start += 1
    while stop > start and not lines[stop - 1].strip():
        stop -= 1
    rest = "\n".join(lines[start:stop])
    headings = " > ".join(title for _, title in path)
    while rest.strip():
        # Only a single line can be too long: passages of several lines were kept within the size.
        piece = head(rest, PASSAGE_UNITS) or rest
        yield Passage(start + 1, stop, headings, piece)
        rest = rest[len(piece) :]
