"""What the lines of a `tasks:` list say: the fields of each entry, and the lines that say nothing a task can have.

Pure. The list looks like YAML but is read line by line (prompt-builder 10.5), so that people who indent it oddly are
understood as well; a line is either used or handed back.
"""

import re
import textwrap
from dataclasses import dataclass, field

FIELDS = ("name", "interval", "prompt")
"""What an entry must have."""

_KNOWN = re.compile(rf"\s*(?:-\s+)?(?:{'|'.join(FIELDS)}):.*")
_ITEM = re.compile(r"\s*-(?:\s+|$)")
_PAIR = re.compile(r"(?P<key>[A-Za-z][\w-]*):(?P<value>.*)")
_BLOCK = re.compile(r"(?P<sign>[|>])[-+\d]{0,2}(?:\s+#.*)?")
_PARAGRAPH_END = re.compile(r"\n\s*\n")


@dataclass(slots=True)
class _Open:
    """A field whose value may go on in the next line."""

    key: str
    """Empty for a field that tasks do not have: what stands below it belongs to it all the same."""
    column: int
    value: str
    sign: str
    """`|` or `>` where the value is a block of lines, else empty."""
    lines: list[str] = field(default_factory=list[str])

    def goes_on(self, line: str) -> bool:
        """Whether `line`, which is not blank, is part of the value: it is indented deeper than the field."""
        if _indent(line) <= self.column:
            return False
        return bool(self.sign) or (self.key in ("prompt", "") and not is_field(line))

    def text(self) -> str:
        below = textwrap.dedent("\n".join(self.lines))
        if self.sign == "|":
            return below.strip()
        return _unquoted(_folded(below if self.sign else f"{self.value}\n{below}"))


@dataclass(slots=True)
class TaskLines:
    """The entries of a list, read so far."""

    entries: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    strange: list[str] = field(default_factory=list[str])
    """Lines that say nothing that a task can have, and second values of a field."""
    _open: _Open | None = None

    def read(self, lines: list[str]) -> None:
        """Read all lines of the list."""
        for line in lines:
            self._take(line.expandtabs())
        self._close()

    def _take(self, line: str) -> None:
        if self._open is not None and (not line.strip() or self._open.goes_on(line)):
            self._open.lines.append(line)
            return
        self._close()
        item = _ITEM.match(line)
        column = item.end() if item else _indent(line)
        said = line[column:].strip()
        pair = _PAIR.fullmatch(said)
        key = pair["key"] if pair and pair["key"] in FIELDS else ""
        comment = said.startswith("#")
        if item or (said and not comment and not self.entries) or (key == "name" and self.entries[-1].get(key)):
            self.entries.append({})
        if not said or comment:
            return
        if not key or self.entries[-1].get(key):
            key = ""
            self.strange.append(line.strip())
        if pair is not None:
            value = pair["value"].strip()
            block = _BLOCK.fullmatch(value)
            self._open = _Open(key, column, value, block["sign"] if block else "")

    def _close(self) -> None:
        if self._open is not None and self._open.key:
            self.entries[-1][self._open.key] = self._open.text()
        self._open = None


def is_field(line: str) -> bool:
    """Say whether a line begins a field that tasks have, at whatever depth."""
    return _KNOWN.fullmatch(line) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _folded(text: str) -> str:
    """Join the lines of each paragraph by blanks."""
    paragraphs = _PARAGRAPH_END.split(text.strip())
    return "\n".join(" ".join(map(str.strip, paragraph.splitlines())) for paragraph in paragraphs)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip()
    return text
