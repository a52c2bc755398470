"""How texts and questions become words that match each other.

Pure. Case, accents, full-width forms and English endings do not matter. Scripts that put no blanks between words
are matched by pairs of characters. Whatever a model asks, the result is a valid full-text query.
"""

import re
import unicodedata
from itertools import pairwise

from harness.workspace.boundaries import without_lone_surrogates

MAX_TERMS = 32
"""How many different words of a question are looked for."""

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Chinese characters
    "\uac00-\ud7af"  # Korean
    "\U00020000-\U0003ffff"  # rare Chinese characters
)
_CHARACTER = re.compile(f"[{_UNSPACED}]")
_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}\\s]+")
_PLAIN = str.maketrans({"đ": "d", "ł": "l", "ø": "o", "\u0131": "i", "\0": " "})
_PREFIX_FROM = 3
"""From how many characters on a word also matches longer ones that begin with it."""


def folded(text: str) -> str:
    """Return `text` as it is indexed: plain small letters, unspaced scripts with blanks between the characters."""
    return _CHARACTER.sub(r" \g<0> ", _flat(text))


def query_terms(question: str) -> tuple[str, ...]:
    """Return a full-text expression for each different word of a question, `MAX_TERMS` at most.

    Every expression is a quoted phrase, so nothing in it is read as an operator.
    """
    terms: dict[str, None] = {}
    for run in _RUN.findall(_flat(question)):
        for term in _pairs(run) if _CHARACTER.match(run) else _word(run):
            terms[term] = None
            if len(terms) == MAX_TERMS:
                return tuple(terms)
    return tuple(terms)


def any_of(terms: tuple[str, ...]) -> str:
    """Return the full-text expression that matches a passage with any of the terms."""
    return " OR ".join(terms)


def _flat(text: str) -> str:
    return unicodedata.normalize("NFKC", without_lone_surrogates(text)).casefold().translate(_PLAIN)


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [f'"{run}"']
    return [f'"{first} {second}"' for first, second in pairwise(run)]


def _word(run: str) -> list[str]:
    word = run.replace('"', " ").strip()
    if not any(mark.isalnum() for mark in word):
        return []
    return [f'"{word}"*' if len(word) >= _PREFIX_FROM and word[-1].isalnum() else f'"{word}"']
