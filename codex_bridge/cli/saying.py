"""How what was written for a gateway is said on a command line."""

import logging
from typing import Final

from harness.errors import THE_LOG
from harness.replies.gate import Silent, Way, decide
from harness.turns import Outcome, TurnResult

VERBOSE: Final = "codex-bridge -v shows the details"


def said(sentence: str) -> str:
    """The sentence, with the way to a log that nobody is shown."""
    return sentence if logging.getLogger().isEnabledFor(logging.WARNING) else sentence.replace(THE_LOG, VERBOSE)


def ended_well(result: TurnResult, way: Way = Way()) -> bool:  # noqa: B008 - frozen
    """Whether a turn did what it was to do: it answered, or it chose to say nothing more."""
    reply = decide(result, way=way)
    return result.outcome is Outcome.ANSWERED or (isinstance(reply, Silent) and reply.chosen)
