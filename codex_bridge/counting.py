"""How many tokens a turn used, and how full its conversation is.

Pure. A count names the thread's total and the last model request. Not every count is a request: the server repeats the
last count of the turn before under the id of the next one (measured, whenever the provider's limits come first, as in a
compaction or a failure), estimates the size after a compaction, and puts the whole window in place of a count when the
provider says that the conversation is too long. Only a total that grew is a request.
"""

from codex_bridge.wire.notifications import ThreadTokenUsage, TokenCount
from harness.turns import Usage, UsageCounted


class Counting:
    """The account of one turn.

    Args:
        before: The last count of its thread, where one is known; a repetition of it is nothing of this turn.
    """

    def __init__(self, before: ThreadTokenUsage | None = None) -> None:
        self.last: ThreadTokenUsage | None = None
        """The last count of the thread."""
        self._lasts: dict[int, TokenCount] = {}
        """What was told last of each total; the totals of a thread grow, so one that comes again is no request."""
        self.usage = Usage()
        """What the turn used."""
        self.used: int | None = None
        """Tokens that the conversation holds; None when that is not known."""
        self.window: int | None = None
        """Tokens that the model takes in at most; None when nobody says."""
        self._estimated = False
        if before is not None:
            self._know(before)

    def elsewhere(self, counted: ThreadTokenUsage) -> None:
        """Another turn of the thread was counted, as a resume tells it again: what comes now goes on from there."""
        self._know(counted)

    def count(self, counted: ThreadTokenUsage) -> UsageCounted | None:
        """Take in a count of this turn; None when it says nothing new."""
        total, last = counted.total.total_tokens, counted.last
        before = self._lasts.get(total) if total else None
        if before == last:
            return None
        self._estimated = before is not None
        if before is None:
            self.usage += Usage(
                last.input_tokens, last.cached_input_tokens, last.output_tokens, last.reasoning_output_tokens
            )
        self._know(counted)
        return self._told()

    def compacted(self) -> UsageCounted | None:
        """A summary took the place of the conversation: its size is what was estimated since, or is not known."""
        if self._estimated or self.used is None:
            return None
        self.used = None
        return self._told()

    def _know(self, counted: ThreadTokenUsage) -> None:
        self.last, self.used, self.window = counted, _held(counted), counted.model_context_window
        self._lasts[counted.total.total_tokens] = counted.last

    def _told(self) -> UsageCounted:
        return UsageCounted(self.usage, self.window, self.used)


def _held(counted: ThreadTokenUsage) -> int | None:
    """What the conversation held after the last request: that and its answer."""
    last, window = counted.last, counted.model_context_window
    if window and counted.total.total_tokens == window and not counted.total.input_tokens:
        return window  # not a request: the provider said that it is too long
    return last.total_tokens or (last.input_tokens + last.output_tokens) or None
