"""What may be shown of an answer while it is being said.

Pure: a turn's events in, the text that may be shown out. Commentary and reasoning are never part of it, the last
message of the turn takes the place of those before, and nothing that may still become a token is shown. What the
preview shows last need not be the answer: the turn's result says that, see `harness.replies.gate`.
"""

from harness.replies.silence import showable
from harness.turns import Commentary, TextDelta, TextRetracted, TurnEvent


class Preview:
    """The answer of one turn as far as it was said."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}
        """The pieces of each message that is no commentary, in the order in which they began."""
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
            case _:
                return False
        return True

    @property
    def text(self) -> str:
        """What may be shown now; empty for nothing that is worth showing, also where something was shown before."""
        for pieces in reversed(self._said.values()):
            pieces[:] = ["".join(pieces)]
            if pieces[0].strip():
                return showable(pieces[0])
        return ""
