"""What came of a summary that somebody asked for, see `harness.agent.Agent.compact`.

Pure.
"""

from enum import Enum
from typing import Protocol, runtime_checkable

from harness.errors import HarnessError
from harness.lean_values import dataclass
from harness.turns import Outcome, TurnRequest, TurnResult, TurnT


class NotOnRequestError(HarnessError):
    """The agent's backend summarises nothing on request."""

    def __init__(self) -> None:
        super().__init__("The backend of this agent summarises conversations by itself alone, and not on request.")


@runtime_checkable
class Compacts(Protocol[TurnT]):
    """A backend that can summarise a conversation when it is asked to."""

    def compact(self, request: TurnRequest) -> TurnT:
        """Begin to put a summary in place of what the conversation holds; the words of the request are not used.

        Returns at once. It takes its turn among the turns of the conversation, and can be stopped like one of them.
        """
        ...


class Summary(Enum):
    """How it ended."""

    DONE = "done"
    NOTHING = "nothing"
    """There was nothing to summarise; the conversation goes on, and no harm is done."""
    STOPPED = "stopped"
    """Somebody stopped it; the conversation is as it was."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The backend went away, and nobody knows whether it was done by then."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What came of it."""

    summary: Summary
    sentence: str
    """For the person who asked."""
    tokens: int | None = None
    """How many tokens the conversation holds now, as far as that is known."""


_SENTENCES = {
    Summary.DONE: "The conversation is summarised.",
    Summary.NOTHING: "There is nothing to summarise.",
    Summary.STOPPED: "The summary was stopped; the conversation is as it was.",
    Summary.FAILED: "The conversation could not be summarised.",
    Summary.UNKNOWN: "Whether the conversation is summarised is not known.",
}


def compaction_of(result: TurnResult) -> Compaction:
    """Read the result of a turn that was to summarise a conversation."""
    match result.outcome:
        case _ if result.compacted and result.outcome is not Outcome.FAILED:
            summary = Summary.DONE  # also one that was stopped, or lost, a moment too late
        case Outcome.INTERRUPTED:
            summary = Summary.STOPPED
        case Outcome.FAILED:
            summary = Summary.FAILED
        case Outcome.LOST:
            summary = Summary.UNKNOWN
        case Outcome.ANSWERED | Outcome.EMPTY:
            summary = Summary.NOTHING
    if summary is Summary.DONE:
        tokens = result.context_used
        held = "" if tokens is None else f" It holds about {tokens:,} tokens now."
        return Compaction(summary, f"{_SENTENCES[summary]}{held}", tokens)
    said = "" if summary is Summary.STOPPED else result.error or result.remark
    return Compaction(summary, f"{_SENTENCES[summary]} {said}".strip())
