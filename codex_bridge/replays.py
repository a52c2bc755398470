"""What is left to do of a turn that Codex ended badly, before the gateway is told: mostly nothing.

Pure. A turn is run again by itself at most once, whatever goes wrong how often, and only if nothing ran and nothing was
said (spec 5):

    what went wrong                                  | what is done
    -------------------------------------------------+----------------------------------------------------------------
    the conversation is too long, or its thread is   | FRESH: run again in a fresh thread that is told what was said
    of no use any more (`strain`)                    | before
    the provider refuses a picture                   | the same, and the pictures of the turn itself stay out
    the provider is overloaded, or wants a slower    | LATER: run again in the same thread, from which the failed turn
    pace, and Codex did not try again by itself      | is taken out first, after the pause that the provider asks for
    a usage limit, and nobody said when it is lifted | LOOK: nothing is run again; the server is asked for that moment
    the server went away before it had the turn      | run again on another one, which `running` knows of itself
    anything else                                    | nothing

Codex itself asks a provider again that fails: 30 times in 24 s for a status of 500 or above, 6 times for a stream that
breaks off. It does not for an overloaded one that says so in a stream, nor for 429 without Retry-After (measured, both
versions). Where it did, one more round of that would only be a storm.
"""

from enum import Enum
from typing import Final

from codex_bridge.strain import worked
from harness.lean_values import dataclass
from harness.turns import Failure, Outcome, Trigger, TurnEvent, TurnResult

PAUSE: Final = 5.0
"""Seconds before a second try when the provider names none. Our choice: what is over by then was a peak."""
MOST_PAUSE: Final = 60.0
"""Seconds that a second try is waited for at most; a person who waits longer should know. Our choice."""
_LATER: Final = frozenset({Failure.OVERLOADED, Failure.RATE_LIMIT})


class Step(Enum):
    """What is left to do."""

    FRESH = "in a fresh thread"
    LATER = "in the same thread, later"
    LOOK = "look when the limit is lifted"


@dataclass(frozen=True, slots=True)
class Pending:
    """An end that is not told yet."""

    step: Step
    result: TurnResult
    events: tuple[TurnEvent, ...]
    """What is told of it if nothing comes of that."""
    pause: float = 0.0
    """Seconds to wait before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What else counts of a turn that failed."""

    trigger: Trigger
    said: bool
    """Whether the agent said anything, commentary too."""
    joined: int
    """How often further words came into it; those run again as well."""
    tried_again: bool
    """Whether it had been run again before."""
    retried: bool
    """Whether Codex had asked the model again by itself."""
    outgrown: bool
    """Whether its conversation cannot go on in its thread."""
    own_thread: bool
    """Whether its thread is the conversation's, and not one that ends with the turn."""
    fresh_is_less: bool
    """Whether a fresh thread would hold less."""


def next_step(result: TurnResult, tried: Tried, now: float) -> tuple[Step, float] | None:
    """Say what is left to do, and after how many seconds; None for nothing.

    Args:
        result: How the turn ended, as far as Codex is concerned.
        tried: What else counts.
        now: The time in Unix seconds.
    """
    if result.failure is Failure.USAGE_LIMIT and result.retry_at is None:
        return Step.LOOK, 0.0
    if not _may_run_again(result, tried):
        return None
    if tried.outgrown:
        return (Step.FRESH, 0.0) if tried.fresh_is_less else None
    # A summary that was made meanwhile would be taken out with the try.
    if (
        result.failure in _LATER
        and not tried.retried
        and not result.compacted
        and tried.trigger is not Trigger.HEARTBEAT
    ):
        pause = PAUSE if result.retry_at is None else max(0.0, result.retry_at - now)
        return (Step.LATER, pause) if pause <= MOST_PAUSE else None
    return None


def _may_run_again(result: TurnResult, tried: Tried) -> bool:
    """Whether nothing would happen twice."""
    idle = not worked(result.evidence) and not result.text and not tried.said
    # Words that nobody here knows of are not in the request that would run again.
    once = not tried.tried_again and result.evidence.messages <= 1 + tried.joined
    return result.outcome is Outcome.FAILED and idle and once and tried.own_thread
