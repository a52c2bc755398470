"""When an app-server that has died may be started again, and which conversations seem to kill it.

Pure: the time is an argument. Servers are started by turns and not by a loop, so one death is answered at once:

    deaths in a row | the next start
    ----------------+-----------------------------------------------------------------------------
    0, 1            | at once
    2, 3, 4         | 0.5, 1 and 2 s after the last death
    5 and more      | after a rest of 30 s, then 1 min, 2 min; until then turns fail at once

A death counts when it came within a minute of the start, and before any turn had come to its end on that server;
another one begins the row anew.
"""

from typing import Final

from harness.lean_values import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how soon a server is started again. Our choice; nothing of it is measured."""

    budget: int = 5
    """Deaths in a row after which starts rest."""
    soon: float = 60.0
    """Seconds after its start within which a death counts."""
    first_wait: float = 0.5
    """Seconds after the second death; twice as many after each later one."""
    first_rest: float = 30.0
    """Seconds of the first rest; twice as many of each later one."""
    longest_rest: float = 120.0


class Restarts:
    """Counts the deaths of the servers of one home.

    Args:
        patience: How often and how soon.
    """

    def __init__(self, patience: Patience = Patience()) -> None:  # noqa: B008 - frozen
        self._patience = patience
        self.deaths = 0
        """In a row."""
        self._died_at = 0.0
        self._jitter = 0.0
        self.words = ""
        """How the last one ended, for the middle of a sentence."""

    @property
    def rests(self) -> bool:
        """Whether the budget is spent, so that nobody is to wait for the next start."""
        return self.deaths >= self._patience.budget

    def next_start(self) -> float:
        """The time from which on the next server may be started; in the past for at once."""
        over = self.deaths - self._patience.budget
        if over >= 0:
            wait = min(self._patience.first_rest * 2.0**over, self._patience.longest_rest)
        elif self.deaths > 1:
            wait = self._patience.first_wait * 2.0 ** (self.deaths - 2)
        else:
            return float("-inf")
        return self._died_at + wait * (1 + self._jitter / 2)

    def died(self, now: float, *, started: float, worked: bool, words: str, jitter: float) -> None:
        """A server ended, or could not be started, and nobody wanted that.

        Args:
            now: The time.
            started: When its start began.
            worked: Whether a turn had come to its end on it.
            words: How it ended.
            jitter: A number in [0, 1), which spreads the starts of several gateways.
        """
        counts = not worked and now - started < self._patience.soon
        self.deaths = self.deaths + 1 if counts else 1
        self._died_at, self._jitter, self.words = now, jitter, words


MOST_DEATHS: Final = 2
"""Deaths of servers during turns of one conversation, with none of its turns whole in between, after which its thread
is given up. Our choice: one may be chance, and a third would be the same again."""
DEADLY: Final = "Codex stopped twice in the middle of this conversation."
"""Why a thread is given up that seems to kill its server."""


class Suspects:
    """The conversations that were being begun, or had begun last, when their server died.

    The thread is given up once: if a fresh one fares no better, the thread was not the reason.
    """

    def __init__(self) -> None:
        self._deaths: dict[str, int] = {}
        self._renewed: set[str] = set()

    def died_with(self, session_key: str) -> bool:
        """A server died over a turn of this conversation, by all appearances; tells whether its thread is given up."""
        deaths = self._deaths[session_key] = self._deaths.get(session_key, 0) + 1
        if deaths < MOST_DEATHS or session_key in self._renewed:
            return False
        self._renewed.add(session_key)
        return True

    def clear(self, session_key: str) -> None:
        """A turn of it came to its end."""
        if self._deaths.pop(session_key, 0):
            self._renewed.discard(session_key)
