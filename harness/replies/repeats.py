"""Whether an answer only says again what a tool of its turn has already put into the chat.

Pure.
"""

from collections.abc import Iterable
from typing import Final

from harness.tools import Sent

NEARLY: Final = 0.92
"""Of two texts, how much is the same when one is called a repetition of the other (G2); a changed number in a short
sentence is more of a change than that."""
_SHORTEST: Final = 24
"""Letters and digits below which nothing counts that is not the very same, or that is only a part."""
_LONGEST: Final = 4_000
"""Letters and digits above which two texts are not compared piece by piece: that takes the square of them."""


def is_repeated(text: str, sent: Iterable[Sent]) -> bool:
    """Whether a tool sent a text already, or nearly, or as a part of a longer one.

    Args:
        text: The answer.
        sent: What tools put into its chat.
    """
    said = [each.text for each in sent if each.text]
    if not said or not (mine := _plain(text)):
        return False
    return any(_is_same(mine, _plain(each)) for each in said)


def _is_same(mine: str, sent: str) -> bool:
    if mine == sent:
        return True
    if len(mine) < _SHORTEST:
        return False
    if mine in sent:
        return True
    if max(len(mine), len(sent)) > _LONGEST or _digits(mine) != _digits(sent):
        return False
    from difflib import SequenceMatcher  # few turns send anything by a tool

    match = SequenceMatcher(None, mine, sent, autojunk=False)
    return match.quick_ratio() >= NEARLY and match.ratio() >= NEARLY


def _plain(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
