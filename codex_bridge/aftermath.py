"""What the next turn of a conversation is told of how the one before it really ended.

Pure. Codex notes of every turn that was interrupted that the user did so on purpose, whoever did it and why (measured),
and of one whose server was killed it notes nothing. What is to be told is kept with the conversation, `Holds.ended`, as
the turn's id and the text; of a turn that a person stopped the id alone, lest it be taken for one that broke off.
"""

from datetime import UTC, datetime
from typing import Final

from codex_bridge.marks import read_mark
from codex_bridge.wire.items import AgentMessageItem, UserMessageItem
from codex_bridge.wire.requests import Turn
from codex_bridge.wording import ANSWER_IN_DOUBT, BROKE_OFF, ENDED, HOW
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.turns import EndedBy, Outcome, TurnResult

_CUT_SHORT: Final = frozenset({Outcome.INTERRUPTED, Outcome.FAILED, Outcome.LOST})


def left_by(result: TurnResult, *, at: float, limit: str = "", interrupted: bool = False) -> str | None:
    """What to keep of a turn that is over; None where the conversation does not have it.

    Args:
        result: How it ended.
        at: When, in Unix seconds.
        limit: Which deadline ended it, if one did, and how long it was.
        interrupted: Whether Codex says that it was interrupted.
    """
    if not result.turn:
        return None
    by = result.ended_by
    if by is EndedBy.PERSON:
        return result.turn
    ended_well = result.outcome not in _CUT_SHORT or (by is EndedBy.ITSELF and result.outcome is Outcome.FAILED)
    if ended_well and not interrupted:
        return ""
    how = HOW[by].format(limit=f" for {limit}" if limit else "")
    told = ENDED.format(when=_time(at), how=how)
    return f"{result.turn} {told}" if ended_well else f"{result.turn} {told} {ANSWER_IN_DOUBT}"


def after_restart(ended: str, last: Turn | None, *, at: float) -> str:
    """What to keep of a thread that is loaded again: a turn that broke off with its gateway was noted by nobody.

    Args:
        ended: What is kept of it so far.
        last: Its last turn, as Codex has it written down.
        at: The time, in Unix seconds.
    """
    if last is None or last.status != "interrupted" or ended.partition(" ")[0] == last.id:
        return ended
    said = (item for item in last.items if isinstance(item, UserMessageItem))
    if all(read_mark(item.client_id) is None for item in said):
        return ended  # another program began it, which may know why
    if any(isinstance(item, AgentMessageItem) and item.phase == "final_answer" for item in last.items):
        return ended  # it had said its answer, and that is all that is missing
    return f"{last.id} {BROKE_OFF.format(when=_time(at))} {ANSWER_IN_DOUBT}"


def told_of(ended: str) -> Layer | None:
    """What the next turn says of it; None for nothing."""
    text = ended.partition(" ")[2]
    return Layer(LayerName.LAST_TURN, "codex_bridge", Lifetime.TURN, Trust.OPERATOR, text) if text else None


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
