"""Whether a HEARTBEAT.md holds anything to do.

Pure: the text comes in as an argument.
"""

import re

_OPEN, _CLOSE = "<!--", "-->"
_IDLE_LINES = (
    re.compile(r"#{1,6}(?:\s.*)?"),  # a heading
    re.compile(r"(?:[-*+]|\d+[.)])(?:\s+\[[ xX]?\])?"),  # a bullet or checkbox that nobody filled in
    re.compile(r"(?:`{3,}|~{3,})[\w+-]*"),  # the edge of a code block
)


def without_comments(text: str) -> str:
    """Return `text` without its HTML comments; one that is never closed stays, as it may be content."""
    kept: list[str] = []
    rest = 0
    while (start := text.find(_OPEN, rest)) >= 0 and (end := text.find(_CLOSE, start + len(_OPEN))) >= 0:
        kept.append(text[rest:start])
        rest = end + len(_CLOSE)
    return "".join((*kept, text[rest:]))


def is_effectively_empty(text: str | None) -> bool:
    """Say whether a HEARTBEAT.md asks for nothing at all.

    Blank lines, comments, headings, empty bullets and checkboxes, and fence markers ask for nothing; anything else
    does (prompt-builder 10.4). A file that is not there, None, is not empty: the poll may then rest on its prompt
    alone.
    """
    if text is None:
        return False
    lines = (line.strip() for line in without_comments(text.removeprefix("\ufeff")).splitlines())
    return all(not line or any(idle.fullmatch(line) for idle in _IDLE_LINES) for line in lines)
