"""Which parts of AGENTS.md are said again after a conversation was compacted.

Pure: the file's text, the day and the time are arguments. Compaction may have summed the rules up or dropped
them, so the sections that the configuration names come back word for word.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from harness.workspace.boundaries import cut_with_line

USUAL_SECTIONS = ("Session Startup", "Red Lines")
EARLIER_SECTIONS = ("Every Session", "Safety")
"""What the usual sections were called in older workspaces (prompt-builder 7.15)."""

CUT = "[...more in AGENTS.md...]"
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_USUAL_OPENING = (
    "The conversation was just compacted, and a summary may have lost what you do at the start of one. Do it again "
    "now, by these parts of AGENTS.md:"
)
_CUSTOM_OPENING = "The conversation was just compacted. These parts of AGENTS.md still hold in full ({names}):"
_USUAL_POINTER = (
    "The conversation was just compacted, and a summary may have lost what you do at the start of one. AGENTS.md "
    "stands above in full: do again now what it asks for under {names}. Where it says YYYY-MM-DD, today is {today}."
)
_CUSTOM_POINTER = (
    "The conversation was just compacted. AGENTS.md stands above in full, and these parts of it hold as before: "
    "{names}. Where it says YYYY-MM-DD, today is {today}."
)


@dataclass(frozen=True, slots=True)
class _Heading:
    line: int
    level: int
    title: str


def post_compaction_text(
    agents_md: str,
    sections: Sequence[str],
    *,
    quoted: bool = True,
    today: date,
    max_units: int,
    time_lines: str = "",
) -> str | None:
    """Return the reminder for a compacted conversation, or None when there is nothing to say.

    Args:
        agents_md: The text of AGENTS.md.
        sections: `compaction.postCompactionSections`: titles of level 2 or 3; empty means off.
        quoted: Quote the sections. False where the backend itself gives the whole file again: then they are only named.
        today: The date in the person's time zone; stands in for `YYYY-MM-DD`.
        max_units: The size of the quoted sections, in UTF-16 units (`contextLimits.postCompactionMaxChars`).
        time_lines: What time it is, appended last.
    """
    usual = _same_titles(sections, USUAL_SECTIONS)
    parts = _sections(agents_md, sections)
    if not parts and usual:
        sections = EARLIER_SECTIONS
        parts = _sections(agents_md, sections)
    if not parts:
        return None
    body = "\n\n".join(parts).replace("YYYY-MM-DD", today.isoformat())
    names = ", ".join(dict.fromkeys(" ".join(title.split()) for title in sections))
    if not quoted:
        pointer = (_USUAL_POINTER if usual else _CUSTOM_POINTER).format(names=names, today=today.isoformat())
        return f"{pointer}\n\n{time_lines}".rstrip()
    opening = _USUAL_OPENING if usual else _CUSTOM_OPENING.format(names=names)
    return f"{opening}\n\n{cut_with_line(body, max_units, CUT)}\n\n{time_lines}".rstrip()


def _same_titles(one: Sequence[str], other: Sequence[str]) -> bool:
    return Counter(map(_folded, one)) == Counter(map(_folded, other))


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


def _sections(text: str, titles: Sequence[str]) -> list[str]:
    """Return the sections of these titles in the order of the list; one inside another is not repeated."""
    lines = text.splitlines()
    headings = _headings(lines)
    taken: list[range] = []
    for title in dict.fromkeys(map(_folded, titles)):
        for number, heading in enumerate(headings):
            if title and heading.level in (2, 3) and _folded(heading.title) == title:
                after = (later.line for later in headings[number + 1 :] if later.level <= heading.level)
                taken.append(range(heading.line, next(after, len(lines))))
    outer = [part for part in taken if not any(_inside(part, other) for other in taken)]
    return ["\n".join(lines[part.start : part.stop]).strip() for part in outer]


def _inside(part: range, other: range) -> bool:
    return part != other and other.start <= part.start and part.stop <= other.stop


def _headings(lines: list[str]) -> list[_Heading]:
    headings: list[_Heading] = []
    fence = ""
    for number, line in enumerate(lines):
        if match := _FENCE.fullmatch(line):
            fence = _after_fence(fence, match[1], match[2])
        elif not fence and (match := _HEADING.fullmatch(line)):
            headings.append(_Heading(number, len(match[1]), match[2] or ""))
    return headings


def _after_fence(open_fence: str, marks: str, rest: str) -> str:
    """Return the fence that is open after a fence line: a block ends at marks of its kind, as many, alone."""
    if not open_fence:
        # Backticks with further backticks behind them are a span of code in a line, not the start of a block.
        return "" if marks[0] == "`" and "`" in rest else marks
    closes = marks[0] == open_fence[0] and len(marks) >= len(open_fence) and not rest.strip()
    return "" if closes else open_fence
