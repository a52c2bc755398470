"""Which lines of a cut AGENTS.md are repeated, so that a rule in the part removed is not lost with it.

Pure. Headings, list items and lines that speak of policy are candidates; the weightier ones are chosen first, and
the chosen ones appear in the order of the file (prompt-builder 7.7).
"""

import re

from harness.units import utf16_units
from harness.workspace.boundaries import clamp

DIGEST_HEADING = "[Policy digest from AGENTS.md]"

LINE_LIMIT = 240
"""UTF-16 units of one line of the digest, ellipsis included (prompt-builder 7.7)."""

_STRUCTURE = re.compile(r"#{1,6}\s+\S|[-*+]\s+\S|\d+[.)]\s+\S")

_POLICY = re.compile(
    r"\b(?:agents\.md|read scoped|scoped|before subtree|required|must|never|do not"
    r"|(?:owner|secret|credential|test|validation|command|commit|pr)s?|security|push|github)\b"
)
"""Looked for in a lowercase line."""


def omitted_line(count: int) -> str:
    """Say how many lines had no room in the digest."""
    return f"[...{count} more policy lines omitted...]"


def choose_lines(text: str, budget: int) -> tuple[list[str], int]:
    """Choose lines of `text` that fit into `budget` UTF-16 units when joined by newlines.

    Lines with a policy word go first, then the other candidates, each group in the order of the file; a line that
    does not fit gives way to shorter ones after it.

    Returns:
        The lines chosen, in the order of the file, and the number of candidates left out.
    """
    candidates = _candidates(text)
    chosen: dict[int, str] = {}
    left = budget
    for wanted in (True, False):
        for position, (line, weighty) in enumerate(candidates):
            if weighty is not wanted:
                continue
            cost = utf16_units(line) + (1 if chosen else 0)
            if cost <= left:
                chosen[position] = line
                left -= cost
    return [chosen[position] for position in sorted(chosen)], len(candidates) - len(chosen)


def _candidates(text: str) -> list[tuple[str, bool]]:
    """Return each candidate line, shortened, and whether it holds a policy word."""
    found: list[tuple[str, bool]] = []
    for raw_line in text.splitlines():
        line = " ".join(raw_line.split())
        if not line:
            continue
        weighty = _POLICY.search(line.lower()) is not None
        if weighty or _STRUCTURE.match(line):
            found.append((clamp(line, LINE_LIMIT), weighty))
    return found
