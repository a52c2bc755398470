"""What is left of a workspace file that is too long: its beginning, its end, and a marker between them.

Pure. AGENTS.md also keeps a digest of its rules (`harness.workspace.digest`). All sizes are UTF-16 units, and all
cuts fall between whole characters, so a kept part may be a few units smaller than its share.
"""

from collections.abc import Callable

from harness.lean_values import dataclass
from harness.units import utf16_units
from harness.workspace.boundaries import boundary_at_or_after, head, tail
from harness.workspace.digest import DIGEST_HEADING, choose_lines, omitted_line

SMALLEST_ROOM = 16
"""Text beside the full marker below which the compact marker is used (prompt-builder 7.6)."""

_PASSES = 3
"""The marker states the sizes that depend on its own length; this many passes settle that (prompt-builder 7.6)."""

_Marker = Callable[[int, int], str]
"""Builds the marker for a kept beginning and a kept end, in units."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """A file's text within its limit. All sizes are UTF-16 units."""

    text: str
    units: int
    """Size of `text`."""
    raw_units: int
    """Size of the file's text without trailing white space."""
    head_units: int
    tail_units: int
    digest_units: int = 0
    """Size of the rules repeated from the whole file; they count neither as kept nor as removed."""

    @property
    def kept_units(self) -> int:
        """How much of the file stands in `text` at its place."""
        return self.head_units + self.tail_units

    @property
    def removed_units(self) -> int:
        """How much of the file is not in `text`, digest aside."""
        return self.raw_units - self.kept_units

    @property
    def truncated(self) -> bool:
        """Whether anything was removed."""
        return self.removed_units > 0


def truncate(text: str, *, name: str, limit: int) -> Truncation:
    """Fit `text` into `limit` units.

    Trailing white space does not count and is never sent. A text within the limit is otherwise returned as it is;
    the result is never longer than `limit`.

    Args:
        text: The content of the file.
        name: The file's name, for the marker; a name of AGENTS.md, in any case, selects the digest.
        limit: UTF-16 units, at least 1.
    """
    text = text.rstrip()
    raw = utf16_units(text)
    if raw <= limit:
        return Truncation(text, raw, raw, raw, 0)
    if name.lower() == "agents.md":
        with_digest = _with_digest(text, raw, name, limit)
        if with_digest is not None:
            return with_digest
    return _plain(text, raw, name, limit)


def _plain(text: str, raw: int, name: str, limit: int) -> Truncation:
    """Cut as prompt-builder 7.6 has it: three quarters of the room for the beginning, one for the end."""

    def full(head_units: int, tail_units: int) -> str:
        return f"\n\n{_read_line(name)}\n{_kept_line(name, f'{head_units}+{tail_units}', raw)}\n\n"

    def compact(head_units: int, tail_units: int) -> str:
        return f"[…truncated {head_units}+{tail_units}/{raw}]"

    shares = _shares(limit, full)
    marker: _Marker = full
    if limit - utf16_units(full(*shares)) < SMALLEST_ROOM:
        shares = _shares(limit, compact)
        marker = compact
    first, last = head(text, shares[0]), tail(text, shares[1])
    if not first and not last:
        first = _first_character(text, limit, compact)
    kept = utf16_units(first), utf16_units(last)
    between = marker(*kept)
    units = sum(kept) + utf16_units(between)
    if units > limit:
        between = head(between, limit)
        return Truncation(between, utf16_units(between), raw, 0, 0)
    return Truncation(first + between + last, units, raw, *kept)


def _shares(limit: int, marker: _Marker) -> tuple[int, int]:
    """Divide what the marker leaves of `limit`; an excess is taken off the end, then off the beginning."""
    first, last = limit * 3 // 4, limit // 4
    for _ in range(_PASSES):
        room = max(0, limit - utf16_units(marker(first, last)))
        first, last = room * 3 // 4, room // 4
    excess = max(0, first + last + utf16_units(marker(first, last)) - limit)
    shorter = max(0, last - excess)
    return max(0, first - (excess - (last - shorter))), shorter


def _first_character(text: str, limit: int, marker: _Marker) -> str:
    """Return the first character of `text` when a marker leaves room for that much, else nothing."""
    first = text[: boundary_at_or_after(text, 1)]
    units = utf16_units(first)
    return first if units + utf16_units(marker(units, 0)) <= limit else ""


def _with_digest(text: str, raw: int, name: str, limit: int) -> Truncation | None:
    """Cut as prompt-builder 7.7 has it; None when the limit holds no more than the markers.

    What the digest does not use of its share is left unused, so that the beginning and the end of a file do not
    move when a rule in its middle changes.
    """
    first, last = head(text, limit * 45 // 100), tail(text, limit * 15 // 100)
    lines, omitted = choose_lines(text, limit * 35 // 100)

    def parts() -> list[str]:
        digest = "\n".join(lines)
        sizes = f"{utf16_units(first)}+policy {utf16_units(digest)}+{utf16_units(last)}"
        policy = [DIGEST_HEADING, digest, *([omitted_line(omitted)] if omitted else [])] if digest else []
        return [first, _read_line(name), *policy, _kept_line(name, sizes, raw), *([last] if last else [])]

    def excess() -> int:
        pieces = parts()
        return sum(map(utf16_units, pieces)) + len(pieces) - 1 - limit

    if (over := excess()) > 0:
        last = tail(text, utf16_units(last) - over)
    if (over := excess()) > 0:
        first = head(text, max(1, utf16_units(first) - over))
    while lines and (over := excess()) > 0:
        lines, omitted = choose_lines(text, utf16_units("\n".join(lines)) - over)
    if (over := excess()) > 0 or not first:
        return None
    digest_units = utf16_units("\n".join(lines))
    return Truncation("\n".join(parts()), limit + over, raw, utf16_units(first), utf16_units(last), digest_units)


def _read_line(name: str) -> str:
    return f"[...truncated, read {name} for full content...]"


def _kept_line(name: str, sizes: str, raw: int) -> str:
    return f"…(truncated {name}: kept {sizes} chars of {raw})…"
