"""What is said of a turn that ended without an answer: one sentence for a person, for every way to end so.

Pure. Heartbeats, scheduled runs, chats and the command line say it alike.
"""

from typing import Final

from harness.turns import Outcome, Silence, TurnResult

_SILENCES: Final = {
    Silence.REASONING: "No response was produced: the {what} ended with thoughts alone.",
    Silence.PLAN: "No response was produced: the {what} ended with a plan alone.",
    Silence.TOOLS: "No response was produced: the {what} did its work and ended without a word about it.",
    Silence.COMMENTARY: "No response was produced: the {what} ended with remarks on its work alone.",
}
_UNSAID: Final = {
    Outcome.EMPTY: "No response was produced: the {what} ended without an answer.",
    Outcome.INTERRUPTED: "The {what} was stopped.",
    Outcome.FAILED: "The {what} failed.",
    Outcome.LOST: "The backend stopped in the middle of the {what}.",
}


def ending(result: TurnResult, what: str = "turn") -> str:
    """Return the sentence about the end of a turn; empty when it was answered.

    What exists of an answer is in `result.text`, and is no whole one (`TurnResult.partial`).

    Args:
        result: How the turn ended.
        what: What a person calls it, in the middle of a sentence.
    """
    if result.outcome is Outcome.ANSWERED:
        return ""
    if result.error:
        return result.error
    silent = _SILENCES.get(result.silence) if result.silence is not None else None
    return (silent or _UNSAID[result.outcome]).format(what=what)
