"""Which conversations can no longer go on in their thread, by how Codex fares with summarising them.

Pure. A thread whose history is too long, or broken, cannot be repaired from outside: every turn begins with a summary
that fails, or that has to be made anew with every message. A fresh thread that is told what was said last is the way
out, taken once: if that one fares no better, the thread was not the reason.

    a turn that ended                                  | what it counts as
    ---------------------------------------------------+------------------------------------------------------
    failed while Codex summarised                      | the next failure; the thread is given up at the second
    the same, and the provider may be the reason       | the next failure; the thread is given up at the third
    the same, and somebody else surely is the reason   | nothing: a limit, a login ends by itself
    summarised, and did no work                        | the next summary; the thread is given up at the third
    summarised, and worked                             | all is well: work may fill a window again and again
    answered without a summary                         | all is well, in a fresh thread from the second such turn on
    anything else                                      | nothing
"""

from typing import Final

from harness.lean_values import dataclass
from harness.turns import Evidence, Failure, Outcome, TurnResult

MOST_FAILURES: Final = 2
"""Failed summaries in a row after which a thread is given up. Our choice: the second shows that it was no accident."""
MOST_FAILURES_ELSEWHERE: Final = 3
"""The same, when the last one may as well be the provider's fault."""
MOST_SUMMARIES: Final = 3
"""Turns in a row that needed a summary before they could say anything. Our choice: a long text may need one each."""
STUCK: Final = "Codex could not summarise this conversation, several times in a row."
"""Why a thread is given up whose summaries fail."""
CIRCLING: Final = "Every message made Codex summarise this conversation once more."
"""Why a thread is given up whose summaries do not help."""
_ELSEWHERE: Final = frozenset(
    {
        Failure.USAGE_LIMIT,
        Failure.RATE_LIMIT,
        Failure.OVERLOADED,
        Failure.LOGIN,
        Failure.MODEL,
        Failure.POLICY,
        Failure.DISK,
        Failure.DEADLINE,
        Failure.SHUTDOWN,
        Failure.SERVER,
    }
)
"""Failures for which no thread can be blamed."""
_PERHAPS: Final = frozenset({Failure.OUTAGE, Failure.PROVIDER})
"""Failures that a request which is too large is told by as well, a stream that breaks off above all."""


@dataclass(slots=True)
class _Row:
    """What happened in a row."""

    failures: int = 0
    summaries: int = 0
    renewed: bool = False
    """Whether a thread was given up meanwhile, and it is not known yet whether the fresh one fares better."""
    calm: bool = False
    """Whether its last turn went well; the first one of a fresh thread has nothing to summarise anyway."""


class Strain:
    """The conversations of an agent with which something is not well; of all others nothing is kept."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}

    def see(self, key: str, result: TurnResult, *, summary_failed: bool) -> str:
        """Take in the end of a turn of a conversation.

        Args:
            key: The conversation.
            result: How the turn ended.
            summary_failed: Whether it failed while Codex summarised what came before.

        Returns:
            Why the conversation should go on in a fresh thread; empty when it should not.
        """
        if result.outcome is Outcome.FAILED and summary_failed:
            if result.failure in _ELSEWHERE:
                return ""
            row = self._rows.setdefault(key, _Row())
            row.calm = False
            row.failures += 1
            most = MOST_FAILURES_ELSEWHERE if result.failure in _PERHAPS else MOST_FAILURES
            return self._given_up(row, STUCK) if row.failures >= most else ""
        if result.outcome not in (Outcome.ANSWERED, Outcome.EMPTY):
            return ""
        if not result.compacted or worked(result.evidence):
            self._calm(key)
            return ""
        row = self._rows.setdefault(key, _Row())
        row.failures, row.calm = 0, False
        row.summaries += 1
        return self._given_up(row, CIRCLING) if row.summaries >= MOST_SUMMARIES else ""

    def forget(self, key: str) -> None:
        """The conversation begins anew."""
        self._rows.pop(key, None)

    def _calm(self, key: str) -> None:
        row = self._rows.get(key)
        if row is None:
            return
        if row.renewed and not row.calm:
            row.failures, row.summaries, row.calm = 0, 0, True
        else:
            del self._rows[key]

    @staticmethod
    def _given_up(row: _Row, why: str) -> str:
        row.failures = row.summaries = 0
        if row.renewed:
            return ""
        row.renewed = True
        return why


def worked(evidence: Evidence) -> bool:
    """Whether a turn did anything besides talking."""
    return bool(evidence.commands or evidence.changes or evidence.tools or evidence.others or evidence.children)
