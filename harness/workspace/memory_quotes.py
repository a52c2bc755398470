"""Whether a text quotes an agent's memory: all of it, one line, or a good part of a line.

Pure. What counts is what a reader would know afterwards, so letter case, white space, line ends and punctuation make
no difference. What the workspace says outside its memory as well is no secret.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

WINDOW: Final = 24
"""Letters and digits in a row that two texts do not share by chance; our choice. A wide sign counts as three."""
SHORTEST: Final = 6
"""Letters and digits of the shortest line that is looked for as a whole; "tea" stands in many texts."""
_HEADING: Final = re.compile(r"\s*#{1,6}\s")
_NO_WORD: Final = re.compile(r"[\W_]+")
_REMEMBERED: Final = 8


@dataclass(frozen=True, slots=True)
class Telling:
    """What gives a memory away."""

    windows: frozenset[str]
    lines: frozenset[str]
    """Those that are shorter than a window."""

    def is_in(self, text: str) -> bool:
        """Whether `text` holds some of it."""
        bare = _bare(text)
        return not self.windows.isdisjoint(_windows(bare)) or any(line in bare for line in self.lines)


@lru_cache(maxsize=_REMEMBERED)
def telling(memories: Sequence[str], public: Sequence[str]) -> Telling:
    """Find out what gives some memories away.

    Args:
        memories: Their texts; a tuple, as for `public`.
        public: Texts of the workspace that may be read by anybody whom the agent talks to.
    """
    known = "\n".join(map(_bare, public))
    windows = {window for memory in memories for window in _windows(_bare(memory))}
    lines = {line for memory in memories for line in _short_lines(memory)}
    return Telling(
        windows=frozenset(windows - _windows(known)), lines=frozenset(line for line in lines if line not in known)
    )


def _short_lines(text: str) -> set[str]:
    """The lines that say something in a few words. A heading, or a single word, does not."""
    found: set[str] = set()
    for line in text.splitlines():
        words = _NO_WORD.sub(" ", unicodedata.normalize("NFKC", line)).split()
        says = len(words) > 1 or not line.isascii() or any(letter.isdigit() for letter in line)
        bare = _weighed("".join(words).casefold())
        if says and SHORTEST <= len(bare) < WINDOW and not _HEADING.match(line):
            found.add(bare)
    return found


def _windows(bare: str) -> set[str]:
    return {bare[start : start + WINDOW] for start in range(len(bare) - WINDOW + 1)}


def _bare(text: str) -> str:
    return _weighed(_NO_WORD.sub("", unicodedata.normalize("NFKC", text)).casefold())


def _weighed(bare: str) -> str:
    """Repeat each wide sign, as a few Chinese or Japanese signs say as much as a line of letters."""
    if bare.isascii():
        return bare
    return "".join(sign * 3 if unicodedata.east_asian_width(sign) in "WF" else sign for sign in bare)
