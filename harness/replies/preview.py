"""What may be shown of an answer while it is being said.

Pure: a turn's events in, the text that may be shown out. Commentary and reasoning are never part of it, the last
message of the turn takes the place of those before, and nothing that may still become a token is shown. What the
preview shows last need not be the answer: the turn's result says that, see `harness.replies.gate`.

A message cannot be moved under another one that it answers, so what an answer says of that counts from the moment when
it is first shown. It begins with it (prompt-builder 11.3), and nothing is shown before it is whole.
"""

from harness.replies.directives import directed
from harness.replies.silence import showable, told
from harness.replies.thoughts import without_thoughts
from harness.turns import Commentary, Joined, TextDelta, TextRetracted, TurnEvent


class Preview:
    """What one turn said so far."""

    def __init__(self) -> None:
        self._answers: list[str] = []
        """Those that stand: further words came in after them."""
        self._answering: list[str] = []
        """Which messages they answer."""
        self._said: dict[str, list[str]] = {}
        """The pieces of each message since then that is no commentary, in the order in which they began."""
        self._commentary: set[str] = set()

    def see(self, event: TurnEvent) -> bool:
        """Take in an event; tells whether it changes what was said."""
        match event:
            case TextDelta(item=item, text=text):
                if item in self._commentary:
                    return False
                self._said.setdefault(item, []).append(text)
            case TextRetracted(item=item):
                return self._said.pop(item, None) is not None
            case Commentary(item=item):
                self._commentary.add(item)
                return self._said.pop(item, None) is not None
            case Joined(answered=answered):
                if not answered:
                    return False
                self._said.clear()
                if text := told(answered):
                    self._answers.append(text)
                    self._answering.append(_answering(answered))
            case _:
                return False
        return True

    @property
    def text(self) -> str:
        """What may be shown of the answer that is being said; empty for nothing, also where something was before."""
        return showable(self._last)

    @property
    def _last(self) -> str:
        """What was said last."""
        for pieces in reversed(self._said.values()):
            pieces[:] = ["".join(pieces)]
            if pieces[0].strip():
                return pieces[0]
        return ""

    def answering(self, number: int) -> str:
        """The channel's id of the message that one of `texts` answers; empty for the one that the turn is about."""
        return self._answering[number] if number < len(self._answering) else _answering(self._last)

    @property
    def texts(self) -> list[str]:
        """The answers that stand, and what may be shown of the one that is being said, if anything."""
        text = self.text
        return [*self._answers, text] if text else self._answers[:]


def _answering(said: str) -> str:
    return directed(without_thoughts(said)).reply_to if "[[" in said else ""
