"""Which parts of a text are code, in which no tag and no directive means anything.

Pure.
"""

import re
from collections.abc import Iterator
from typing import Final

from harness.replies.chunks import Fence

_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_ANY_LENGTH: Final = 1 << 30
_TICKS: Final = re.compile("`+")


def outside(text: str) -> Iterator[tuple[int, int]]:
    """The lines that are in no code block and are not its edges: where each begins and ends, its line end included."""
    fence: Fence | None = None
    at = 0
    for line in _LINES.findall(text):
        if fence is not None:
            fence = None if fence.is_closed_by(line, _ANY_LENGTH) else fence
        elif (fence := Fence.opened_by(line)) is None:
            yield at, at + len(line)
        at += len(line)


def spans(line: str) -> list[tuple[int, int]]:
    """Where a line holds code between back quotes."""
    if "`" not in line:
        return []
    runs = [run.span() for run in _TICKS.finditer(line)]
    ends: dict[int, int] = {}
    closed_by: list[int | None] = []
    for start, end in reversed(runs):  # each by the next run of as many
        closed_by.append(ends.get(end - start))
        ends[end - start] = end
    found: list[tuple[int, int]] = []
    for (start, _), closed in zip(runs, reversed(closed_by), strict=True):
        if closed is not None and (not found or start >= found[-1][1]):
            found.append((start, closed))
    return found


def in_code(text: str) -> list[tuple[int, int]]:
    """Where a text is code, blocks and what stands between back quotes; in order."""
    found: list[tuple[int, int]] = []
    end = 0
    for start, stop in outside(text):
        if start > end:
            found.append((end, start))
        found += [(start + first, start + last) for first, last in spans(text[start:stop])]
        end = stop
    return [*found, (end, len(text))] if end < len(text) else found
