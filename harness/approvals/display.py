"""How text that a person decides on is shown: nothing in it can hide, reorder or leave its frame.

Pure. A command is shown exactly: what cannot be seen in it is written out. Of words, which are only to be understood,
it is left out.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from harness.lean_values import dataclass
from harness.masking import Hidden, masked
from harness.units import utf16_units
from harness.workspace.boundaries import head

_ANSI: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, and where the cursor goes
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # titles and the like
    r"|\x1b[ -/]*[0-~]"
)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_NO_INK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Printable, and drawn as nothing."""
_FENCE: Final = "```"
_TICKS: Final = re.compile("`{3,}")
_TOKEN: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9._+=:%-]{16,}")
_IN_ADDRESS: Final = re.compile(r"[A-Za-z0-9._~+=:%-]*")
"""What may be hidden without keeping from anybody what a command does: nothing that a shell acts on, or a person would
take for a command."""
LOOKED_AT: Final = 20_000
"""Characters of a text that are looked at one by one, far more than any card shows: a file that is to be written may
have millions, and meanwhile nobody is answered."""
LONGEST_WORDS: Final = 400
"""UTF-16 units of a line of somebody's words."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A text as it is shown."""

    text: str
    written_out: int = 0
    """How many characters of it stand there in another form."""
    missing: int = 0
    """How many are not shown at all, and might matter."""


def is_seen(character: str) -> bool:
    """Whether a character leaves ink, or is a plain space, and moves nothing else."""
    return character == " " or (character.isprintable() and character not in _NO_INK and not _is_selector(character))


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def exact(text: str, *, lines: bool = True, secrets: Iterable[str] = ()) -> Shown:
    """A text of which every character counts, with its secrets masked.

    Args:
        text: The text.
        lines: Whether it may have several lines; else a line end is written out too.
        secrets: Values that are masked as well.
    """
    kept, hidden = masked(text, secrets)
    kept, beyond = kept[:LOOKED_AT], max(0, len(kept) - LOOKED_AT)
    ends = {at for found in _TICKS.finditer(kept) for at in range(*found.span())}
    out = [
        each if at not in ends and (is_seen(each) or (lines and each in "\n\t")) else _written(each)
        for at, each in enumerate(kept)
    ]
    written_out = sum(len(each) > 1 for each in out)
    missing = sum(len(each.text) for each in hidden if not _may_be_hidden(each))
    return Shown("".join(out), written_out, missing + beyond)


def _may_be_hidden(hidden: Hidden) -> bool:
    return (_IN_ADDRESS if hidden.in_address else _TOKEN).fullmatch(hidden.text) is not None


def _written(character: str) -> str:
    code = ord(character)
    short = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(character)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def plain(text: str, limit: int = LONGEST_WORDS, *, secrets: Iterable[str] = ()) -> Shown:
    """Words as one line, of which what cannot be seen is dropped, with their secrets masked.

    Args:
        text: The words.
        limit: The most UTF-16 units of them.
        secrets: Values that are masked as well.
    """
    beyond = max(0, len(text) - LOOKED_AT)
    spaced = "".join(" " if _is_space(each) else each for each in _ANSI.sub("", text[:LOOKED_AT]))
    seen = "".join(filter(is_seen, spaced))
    line = masked(" ".join(seen.split()), secrets)[0]
    kept = head(line, limit)
    missing = len(line) - len(kept) + beyond
    return Shown(f"{kept} […]" if missing else kept, missing=missing)


def _is_space(character: str) -> bool:
    return character in "\t\n\v\f\r\x1c\x1d\x1e\x85" or unicodedata.category(character) in {"Zs", "Zl", "Zp"}


def is_mixed(text: str) -> bool:
    """Whether a word has Latin letters and others, which may look like these."""
    if text.isascii():
        return False
    for word in _LETTERS.findall(text):
        latin = {unicodedata.name(each, "").startswith("LATIN ") for each in word}
        if latin == {True, False}:
            return True
    return False


def block(text: str) -> str:
    """A shown text in a block that it cannot leave: there are no three of the sign that ends it in `exact`."""
    return f"{_FENCE}\n{text}\n{_FENCE}"


def inline(text: str) -> str:
    """A shown line within a line of ours, which it cannot leave."""
    return "`" + text.replace("`", "'") + "`" if text else ""


def cut(shown: Shown, room: int) -> Shown:
    """As much of it as there is room for, in UTF-16 units; what is missing is counted."""
    if utf16_units(shown.text) <= room:
        return shown
    kept = head(shown.text, max(room, 0))
    return Shown(kept, shown.written_out, shown.missing + len(shown.text) - len(kept))
