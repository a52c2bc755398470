"""Cuts a text into messages of a size that a channel takes.

Pure. It is cut, if possible, between paragraphs, else between lines, sentences, words, and between characters as a
reader sees them in the end. A code block that goes on in the next message is closed, and opened again in the same way.
Only blanks at a cut are dropped, and of code only the line end there.
"""

import re
from typing import Final, NamedTuple

from harness.units import TextUnit

SMALLEST: Final = 64
"""A limit below this is taken for this: there has to be room for the lines that close a block and open it again."""
_FENCE: Final = re.compile(r"([ \t]*)(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)")
_BLANK_LINES: Final = re.compile(r"(?:[ \t]*\r?\n)+")
_SENTENCE: Final = re.compile(r"[.!?…][\"'”’)\]]*[ \t]+|[。！？]+")  # noqa: RUF001 - the stops of Chinese and Japanese
_WORD: Final = re.compile(r"[ \t]+")


class Fence(NamedTuple):
    """A code block that is open."""

    opening: str
    """The line that opened it."""
    closing: str
    """A line that closes it."""

    @classmethod
    def opened_by(cls, line: str) -> "Fence | None":
        """The block that a line opens outside of one, if it does."""
        if "```" not in line and "~~~" not in line:
            return None
        found = _FENCE.fullmatch(line.rstrip("\r\n"))
        return cls(found.group(0), found.group(1) + found.group(2)) if found else None

    def is_closed_by(self, line: str, longest: int) -> bool:
        """Whether a line inside of it, of at most `longest` characters, ends it."""
        marks, mine = line.strip(), self.closing.strip()
        return len(line) <= longest and marks.startswith(mine) and not marks.strip(mine[0])


class _Line(NamedTuple):
    """A line of what is left."""

    start: int
    end: int
    before: Fence | None
    """The block that is open where it begins."""
    after: Fence | None
    """The block that is open where the next one begins."""


class _Cut(NamedTuple):
    at: int
    """Index into what is left."""
    fence: Fence | None
    """The block that is open there."""


def chunks(text: str, limit: int | None, unit: TextUnit = TextUnit.UTF16) -> list[str]:
    """Cut a text into messages.

    Args:
        text: The text.
        limit: The size of a message at most; None for a channel that takes any. See `SMALLEST`.
        unit: What the limit counts.

    Returns:
        The messages in their order, none of them blank; the text alone where it fits.
    """
    if not text.strip():
        return []
    if limit is None or unit.size(text) <= limit:
        return [text]
    limit = max(limit, SMALLEST)
    made: list[str] = []
    fence: Fence | None = None
    rest = text
    while rest.strip():
        if fence is None:
            rest = _without_blank_lines(rest)
        elif (line := rest.partition("\n"))[0].strip() and fence.is_closed_by(line[0], limit // 4):
            rest, fence = line[2], None  # it was closed at the cut
            continue
        begun = f"{fence.opening}\n" if fence else ""
        if unit.size(begun) + unit.size(rest) <= limit:
            return [*made, begun + rest]
        cut = _cut(rest, begun, fence, limit, unit)
        if whole := _message(rest, begun, cut).rstrip():
            made.append(whole)
        rest, fence = rest[cut.at :], cut.fence
    return made


def _message(rest: str, begun: str, cut: _Cut) -> str:
    """The message that a cut makes, with a block closed that is open there."""
    body = begun + rest[: cut.at]
    return f"{body.removesuffix(chr(10))}\n{cut.fence.closing}" if cut.fence else body.rstrip()


def _cut(rest: str, begun: str, fence: Fence | None, limit: int, unit: TextUnit) -> _Cut:
    """Where to cut what does not fit."""
    room = limit - unit.size(begun)
    end = _index(rest, room, unit)
    half = end // 2
    lines = _lines(rest, end, fence, limit // 4)
    cuts = [_Cut(line.end, line.after) for line in lines[:-1] if line.after is None or line.after is line.before]
    fits = [cut for cut in cuts if unit.size(_message(rest, begun, cut)) <= limit]
    late = [cut for cut in fits if cut.at >= half]
    if paragraphs := [cut for cut in late if cut.fence is None and rest[cut.at - 2 : cut.at].endswith("\n\n")]:
        return paragraphs[-1]
    if late:
        return max(late, key=lambda cut: (cut.fence is None, cut.at))
    line = lines[-1]
    if line.before is not None:
        end = _index(rest, room - unit.size(line.before.closing) - 1, unit)
        line = next(each for each in reversed(lines) if each.start < end)
    if line.before is not line.after and line.start:  # what opens or closes a block is not cut through
        return _Cut(line.start, line.before)
    within = _Cut(_within_line(rest, line, end, half, whole=bool(fits)), line.before)
    return within if within.at or not fits else fits[-1]


def _within_line(rest: str, line: _Line, end: int, half: int, *, whole: bool) -> int:
    """Where to cut a line through.

    Args:
        rest: What is left.
        line: The line.
        end: Where the room ends.
        half: What is before this makes too short a message.
        whole: The line is rather left whole, if there is no good place, by 0.
    """
    for pattern in (_SENTENCE, _WORD):
        found = [each.end() for each in pattern.finditer(rest, line.start, end)]
        if (pattern is _WORD or line.before is None) and (good := _last_boundary(rest, found, half)):
            return good
    if whole:
        return 0
    words = [each.end() for each in _WORD.finditer(rest, line.start, end) if rest[line.start : each.end()].strip()]
    at = _last_boundary(rest, words, 1) or _between_characters(rest, end)
    return at + 1 if rest[at : at + 1] == "\n" else at


def _lines(rest: str, end: int, fence: Fence | None, longest: int) -> list[_Line]:
    """The lines that begin before `end`; one of more than `longest` characters opens and closes no block."""
    lines: list[_Line] = []
    at = 0
    while at < end:
        stop = rest.find("\n", at) + 1 or len(rest)
        line, after = rest[at:stop] if stop - at <= longest else "", fence
        if fence is None:
            after = Fence.opened_by(line)
        elif fence.is_closed_by(line, longest):
            after = None
        lines.append(_Line(at, stop, fence, after))
        at, fence = stop, after
    return lines


def _index(text: str, room: int, unit: TextUnit) -> int:
    """The most characters of a text that fit."""
    if unit is TextUnit.CODE_POINTS:
        return min(room, len(text))
    from harness.workspace.boundaries import index_of_units  # few texts are longer than one message

    return index_of_units(text, room)


def _last_boundary(text: str, places: list[int], least: int) -> int:
    """The last place from `least` on that lies between two characters as a reader sees them; 0 for none."""
    from harness.workspace.boundaries import boundary_at_or_before

    return next((at for at in reversed(places) if at >= least and boundary_at_or_before(text, at) == at), 0)


def _between_characters(text: str, end: int) -> int:
    """The last place up to `end` between two characters as a reader sees them; `end` where one of them is longer."""
    from harness.workspace.boundaries import boundary_at_or_before

    return boundary_at_or_before(text, end) or max(end, 1)


def _without_blank_lines(text: str) -> str:
    found = _BLANK_LINES.match(text)
    return text[found.end() :] if found else text
