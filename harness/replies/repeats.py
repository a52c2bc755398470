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
_LONGEST: Final = 1_000
"""Letters and digits between the first difference and the last one, above which two texts are not compared piece by
piece: that takes the square of them, and meanwhile nobody is answered."""


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
    return _digits(mine) == _digits(sent) and _is_near(mine, sent)


def _is_near(mine: str, sent: str) -> bool:
    whole = len(mine) + len(sent)
    begun = _begun(mine, sent)
    mine, sent = mine[begun:], sent[begun:]
    ended = _begun(mine[::-1], sent[::-1])
    mine, sent = mine[: len(mine) - ended], sent[: len(sent) - ended]
    if max(len(mine), len(sent)) > _LONGEST:
        return False
    from difflib import SequenceMatcher  # few turns send anything by a tool

    match, between = SequenceMatcher(None, mine, sent, autojunk=False), len(mine) + len(sent)

    def share(inner: float) -> float:
        return (2 * (begun + ended) + inner * between) / whole

    return share(match.quick_ratio()) >= NEARLY and share(match.ratio()) >= NEARLY


def _begun(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (each, another) in pairs if each != another), min(len(one), len(other)))


def _plain(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
