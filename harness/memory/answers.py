"""What the memory tools say.

Pure: results in, the text that a model reads out, within a size in UTF-16 units.
"""

from collections.abc import Sequence

from harness.memory.arguments import GetCall
from harness.memory.found import Found, Hit, RefusedNote
from harness.units import utf16_units
from harness.workspace.boundaries import clamp, head


def refusal(reason: str) -> str:
    """Say that this turn may not hear from the memory."""
    return f"Memory is not available here: {reason}. Do not guess what it may hold."


def unavailable(problem: str) -> str:
    """Say that the index is out of order, and the way around it."""
    return f"Memory search is out of order: {problem}. memory_get still reads MEMORY.md and memory/NAME.md."


def no_note(asked: str) -> str:
    """Say which paths are notes."""
    return f"{head(asked, 200)!r} is no note: ask for MEMORY.md or memory/NAME.md, spelled exactly so."


def not_read(path: str, reason: str) -> str:
    """Say why a note was not read."""
    return f"{path} was not read: {reason}."


def not_there(path: str) -> str:
    """Say that a note does not exist, which is an ordinary thing for a daily one."""
    return f"{path} does not exist: nothing has been written there."


def search_text(found: Found, *, cite: bool, max_units: int) -> str:
    """Return the passages that were found, as many as fit, and what could not be searched."""
    refused = _refused(found.refused, max_units // 4)
    if not found.hits:
        nothing = f"Nothing found in {_count(found.notes, 'note')}." if found.notes else "There are no notes yet."
        return clamp(nothing + refused, max_units)
    heading = "Passages from the notes, best first:"
    room = max_units - utf16_units(heading) - utf16_units(refused)
    blocks = ["\n\n" + _hit(number, hit, cite=cite) for number, hit in enumerate(found.hits, 1)]
    return clamp(heading + _as_many_as_fit(blocks, room) + refused, max_units)


def _as_many_as_fit(blocks: list[str], room: int) -> str:
    for count in range(len(blocks), 0, -1):
        text = "".join(blocks[:count]) + _left_out(len(blocks) - count)
        if utf16_units(text) <= room:
            return text
    rest = _left_out(len(blocks) - 1)
    return head(blocks[0], room - utf16_units(rest) - 1) + "…" + rest


def _refused(notes: Sequence[RefusedNote], room: int) -> str:
    sentences = "".join(f"\nNot searched: {not_read(note.path, note.reason)}" for note in notes)
    if not sentences or utf16_units(sentences) < room:
        return f"\n{sentences}" if sentences else ""
    return f"\n\nNot searched: {_count(len(notes), 'note')} that could not be read."


def get_text(path: str, lines: Sequence[str], asked: GetCall, *, cite: bool, max_units: int) -> str:
    """Return the lines that were asked for, as many as fit, and how to read on."""
    total = len(lines)
    first = asked.first_line
    if first > total:
        held = f"{path} has {_count(total, 'line')}" if total else f"{path} is empty"
        return clamp(f"{held}; there is no line {first}.", max_units)
    last = min(total, first + asked.lines - 1)
    whole = _excerpt(path, lines, first, last, cite=cite)
    if utf16_units(whole) <= max_units:
        return whole
    last = _last_that_fits(path, lines, first, last, cite=cite, max_units=max_units)
    if last >= first:
        return _excerpt(path, lines, first, last, cite=cite)
    frame = f"{path}, line {first} of {total}, which is longer than a result may be; its beginning:\n"
    return clamp(frame + head(lines[first - 1], max(0, max_units - utf16_units(frame) - 1)) + "…", max_units)


def _last_that_fits(path: str, lines: Sequence[str], first: int, last: int, *, cite: bool, max_units: int) -> int:
    low, high = first - 1, last
    while low < high:
        middle = (low + high + 1) // 2
        if utf16_units(_excerpt(path, lines, first, middle, cite=cite)) <= max_units:
            low = middle
        else:
            high = middle - 1
    return low


def _excerpt(path: str, lines: Sequence[str], first: int, last: int, *, cite: bool) -> str:
    total = len(lines)
    span = f"line {first}" if first == last else f"lines {first}-{last}"
    text = "\n".join(lines[first - 1 : last])
    more = f"\n[{_count(total - last, 'more line')}: go on with from={last + 1}]" if last < total else ""
    anchor = f"L{first}" if first == last else f"L{first}-L{last}"
    source = f"\nSource: {path}#{anchor}" if cite else ""
    return f"{path}, {span} of {total}:\n{text}{more}{source}"


def _hit(number: int, hit: Hit, *, cite: bool) -> str:
    span = f"line {hit.first_line}" if hit.first_line == hit.last_line else f"lines {hit.first_line}-{hit.last_line}"
    source = f"\nSource: {hit.source}" if cite else ""
    return f"{number}. {hit.path}, {span}, score {hit.score:.2f}\n{hit.text}{source}"


def _left_out(count: int) -> str:
    if count == 0:
        return ""
    return f"\n\n[{_count(count, 'more passage')} found, left out to keep this short: ask more narrowly]"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
