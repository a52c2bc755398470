"""Where a text may be cut: between two characters as a reader sees them, at a size given in UTF-16 units.

Pure. An emoji joined of several parts, a letter with its accents, a surrogate pair and CR LF each stay whole.
Only the neighbourhood of a cut is segmented, so the cost does not grow with the size of the file.
"""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from harness.units import utf16_units

if TYPE_CHECKING:
    from regex import Pattern


class _Patterns(NamedTuple):
    cluster: "Pattern[str]"
    sure: "Pattern[str]"
    lone_surrogate: "Pattern[str]"


@cache
def _patterns() -> _Patterns:
    """The patterns, and the library with them: most workspaces have nothing to cut."""
    import regex

    return _Patterns(
        cluster=regex.compile(r"\X"),
        # Between two such code points there is always a boundary, whatever stands before them: none of them joins,
        # extends, or pairs up with a neighbour. (CR is left out on the left, since it joins a following LF.)
        sure=regex.compile(
            r"(?r)[\p{GCB=Other}\p{GCB=Control}\p{GCB=LF}](?=[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}])"
        ),
        lone_surrogate=regex.compile("[\ud800-\udfff]"),
    )


_SLICE = 32
"""Code points looked at for the end of one character; nearly all characters have fewer."""

ELLIPSIS = "…"
"""One UTF-16 unit."""


def index_of_units(text: str, units: int) -> int:
    """Return the largest index into `text` whose prefix measures at most `units` UTF-16 units."""
    if units <= 0:
        return 0
    if text.isascii():
        return min(units, len(text))
    # A prefix of n code points has at least n units, so nothing behind `units` code points can matter.
    near = text[:units]
    index = len(near)
    excess = utf16_units(near) - units
    while excess > 0:
        step = max(1, excess // 2)
        excess -= utf16_units(near[index - step : index])
        index -= step
    return index


def boundary_at_or_before(text: str, index: int) -> int:
    """Return the last place at or before `index` where `text` may be cut."""
    return _boundaries_around(text, index)[0]


def boundary_at_or_after(text: str, index: int) -> int:
    """Return the first place at or after `index` where `text` may be cut."""
    return _boundaries_around(text, index)[1]


def _boundaries_around(text: str, index: int) -> tuple[int, int]:
    if index <= 0:
        return 0, 0
    if index >= len(text):
        return len(text), len(text)
    if (pair := text[index - 1 : index + 1]).isascii():
        # Of these only CR LF joins, whatever stands around them; nearly every cut is spared the library.
        return (index - 1, index + 1) if pair == "\r\n" else (index, index)
    # The place found may be `index` itself: the pattern looks one code point ahead.
    sure = _patterns().sure.search(text, 0, index + 1)
    end = sure.end() if sure else 0
    before = end
    while end < index:
        before = end
        end = _end_of_character(text, end)
    return (end, end) if end == index else (before, end)


def _end_of_character(text: str, start: int) -> int:
    """Return where the character that begins at `start` ends.

    Only a slice is matched: in a row of flags the pattern counts all flags before the place it looks at, which over a
    whole text of flags takes minutes.
    """
    width = _SLICE
    while True:
        cluster = _patterns().cluster.match(text[start : start + width])
        assert cluster is not None, "every position inside a text starts a character"
        if cluster.end() < width or start + width >= len(text):
            return start + cluster.end()
        width *= 2


def head(text: str, units: int) -> str:
    """Return the longest whole-character beginning of `text` of at most `units` UTF-16 units."""
    return text[: boundary_at_or_before(text, index_of_units(text, units))]


def tail(text: str, units: int) -> str:
    """Return the longest whole-character end of `text` of at most `units` UTF-16 units."""
    if units <= 0:
        return ""
    near = text[-units:]
    start = len(text) - len(near)
    excess = utf16_units(near) - units
    if excess > 0:
        skipped = index_of_units(near, excess)
        # Half a pair cannot be skipped; skipping the whole of it keeps the result within `units`.
        start += skipped if utf16_units(near[:skipped]) == excess else skipped + 1
    return text[boundary_at_or_after(text, start) :]


def clamp(text: str, units: int) -> str:
    """Return `text`, or its beginning with an ellipsis, in at most `units` UTF-16 units.

    Budgets of three units and fewer hold no ellipsis (prompt-builder 7.8).
    """
    if utf16_units(text) <= units:
        return text
    return head(text, units) if units <= 3 else head(text, units - 1) + ELLIPSIS


def cut_with_line(text: str, units: int, line: str) -> str:
    """Return `text`, or its beginning with `line` below it, in at most `units` UTF-16 units."""
    if utf16_units(text) <= units:
        return text
    room = units - utf16_units(line) - 1
    return f"{head(text, room).rstrip()}\n{line}" if room > 0 else head(text, units)


def without_lone_surrogates(text: str) -> str:
    """Return `text` with each half of a broken surrogate pair replaced, so that it encodes to UTF-8."""
    return text if text.isascii() else _patterns().lone_surrogate.sub("\N{REPLACEMENT CHARACTER}", text)
