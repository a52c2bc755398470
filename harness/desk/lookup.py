"""Who has words of which nobody told: what is asked when a turn made way, or never says what became of a steer.

Everything here has an end, whatever the backend does: a chat waits for no answer that may never come.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

import anyio

from harness.delivery.advice import Fate, Looked, Reconciler
from harness.layers import Layer
from harness.store.admitted import Inbound
from harness.timing import Clock
from harness.turns import Evidence, Outcome, RunningTurn, Steered, TurnResult

STEER_GRACE: Final = 5.0
"""Seconds after the end of a turn in which it may still say what became of words that were said into it. Its contract
gives it none: `RunningTurn.steer` tells with the end."""
LOOK_DEADLINE: Final = 10.0
"""Seconds for the look whether a conversation has some words; measured on Codex are 10 ms."""

logger = logging.getLogger(__name__)


async def has_words(harness: object, lead: Inbound, result: TurnResult) -> bool:
    """Whether a conversation has the words that a turn was begun with which made way.

    One that said or did something has them, and one that never got as far as a conversation has not. Of any other the
    backend is asked; where it does not know, they are said again: nothing was said to them, and nothing was done.

    Args:
        harness: The backend; asked where it is a `Reconciler`, else a turn that has an id has its words.
        lead: The message that the turn is named after.
        result: How it ended.
    """
    if result.text or result.earlier or result.evidence != Evidence():
        return True
    if not result.conversation:
        return False
    if not isinstance(harness, Reconciler):
        return bool(result.turn)
    found = (await _asked(harness, lead, conversation=result.conversation)).found
    return isinstance(found, TurnResult) or found is Fate.RUNNING


def never_began(result: TurnResult) -> bool:
    """Whether a turn surely ended before its model had any words."""
    ended = result.outcome in (Outcome.FAILED, Outcome.INTERRUPTED)
    return ended and not (result.turn or result.text or result.earlier or result.evidence != Evidence())


async def steer_in_time(turn: RunningTurn, words: tuple[Layer, ...], key: str, clock: Clock) -> Steered | None:
    """Say words into a turn; None when it does not tell what became of them `STEER_GRACE` seconds after its end."""
    steered: Steered | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_give_up, turn, group.cancel_scope, clock)
        steered = await turn.steer(words, key)
        group.cancel_scope.cancel()
    return steered


async def _give_up(turn: RunningTurn, scope: anyio.CancelScope, clock: Clock) -> None:
    await turn.result()
    clock.call_at(clock.time() + STEER_GRACE, partial(scope.cancel))


async def said_into(harness: object, lead: Inbound, keys: Sequence[str], turn: RunningTurn) -> Steered:
    """What became of words of which their turn did not tell, as soon as that is over.

    Args:
        harness: The backend; asked where it is a `Reconciler`.
        lead: The message that the turn is named after.
        keys: The messages that were said into it, together.
        turn: The turn.
    """
    result = await turn.result()
    if not isinstance(harness, Reconciler):
        return Steered.UNKNOWN
    looked = await _asked(harness, lead, conversation=result.conversation, steered=tuple(keys))
    if looked.found is Fate.NEVER_BEGAN:
        return Steered.OVER
    if not isinstance(looked.found, TurnResult):
        return Steered.UNKNOWN
    return Steered.OVER if looked.lacking.issuperset(keys) else Steered.TAKEN


async def _asked(harness: Reconciler, lead: Inbound, *, conversation: str, steered: tuple[str, ...] = ()) -> Looked:
    with anyio.move_on_after(LOOK_DEADLINE):
        try:
            return await harness.reconcile(lead.session_key, lead.key, conversation=conversation, steered=steered)
        except Exception:  # a backend that breaks its word costs the chat nothing else
            logger.exception("who has the words of %s cannot be looked up", lead.key)
    return Looked(Fate.UNREACHABLE)
