"""What a block of frontmatter says, read line by line.

Pure. This is the reading that forgives: people write `description: Use for: mail` and tabs, which YAML refuses.
It knows `key: value` at the start of a line, text that goes on in indented lines, `|` and `>` blocks, quotes, and a
bracket that closes at the start of a line; it never fails.
"""

import re
import textwrap
from dataclasses import dataclass
from typing import Final

_KEY: Final = re.compile(r"^([A-Za-z_][\w-]*):(?:[ \t]*)(.*)$")
_BLOCK: Final = re.compile(r"^([|>])[-+0-9]*$")
_CLOSING: Final = re.compile(r"^[\]}][\]},\s]*$")
_QUOTES: Final = ('"', "'")


@dataclass(frozen=True, slots=True)
class LineValue:
    """The value of one key."""

    text: str
    inline: str
    """What stands on the key's own line, as written."""


def read_lines(block: str) -> dict[str, LineValue]:
    """Read every `key: value` of `block`; of a key that comes twice the last one counts."""
    found: dict[str, LineValue] = {}
    key, inline, more = "", "", list[str]()
    for line in [*block.split("\n"), "end:"]:
        start = _KEY.match(line)
        if start is not None:
            if key:
                found[key] = LineValue(_joined(inline, more), inline)
            key, inline, more = start[1], start[2].strip(), []
        elif line[:1] in {" ", "\t", ""} or (_is_open(inline, more) and _CLOSING.match(line)):
            more.append(line)
    return found


def _is_open(inline: str, more: list[str]) -> bool:
    return (inline or "".join(more).strip()).startswith(("{", "["))


def _joined(inline: str, more: list[str]) -> str:
    below = textwrap.dedent("\n".join(more)).strip()
    style = _BLOCK.match(inline)
    if style is not None:
        return below if style[1] == "|" else " ".join(below.split())
    if not inline:
        return below
    if inline.startswith(("{", "[")):
        return f"{inline}\n{below}".strip()
    return _unquoted(" ".join([inline, *below.split()]) if below else inline)


def _unquoted(text: str) -> str:
    quoted = len(text) >= len("''") and text[0] == text[-1] and text[0] in _QUOTES
    return text[1:-1] if quoted else text
