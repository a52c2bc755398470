"""What a turn leaves in the transcript of its chat.

The words that people said and the answers to them, under the name of the turn; not what files, tools and the harness
added. What a heartbeat says is written there by whoever delivers it.
"""

from collections.abc import Iterable
from typing import Final

from codex_bridge.turn import CodexTurn
from harness.layers import Layer, LayerName
from harness.store.transcript import Occasion, Spoken
from harness.turns import Outcome, Trigger

_SAID: Final = (LayerName.USER_TEXT, LayerName.QUOTES)


def spoken(turn: CodexTurn) -> Spoken | None:
    """What a turn leaves in its chat's transcript; None for one that Codex never took, or that left no trace.

    A heartbeat is told by whoever delivers it: what it says to the chat is not what its turn ends with.
    """
    result, request = turn.buffer.result, turn.request
    if result is None or turn.vanished or turn.compacts or request.trigger is Trigger.HEARTBEAT:
        return None
    # A turn that is lost before it has a name may have begun all the same: its message tells.
    # One that was left before it had a name got one all the same.
    turn_id = result.turn or (turn.ledger.turn_id if turn.ledger is not None else "")
    turn_id = turn_id or (request.message_key if result.outcome is Outcome.LOST else "")
    if not turn_id:
        return None
    from harness.replies import told  # who only starts a server needs none of it

    return Spoken(
        said=words_of((*request.composition.layers, *turn.steers.joined)),
        answered="\n\n".join(filter(None, map(told, (*result.earlier, result.text)))),
        occasion=Occasion.SCHEDULED if request.trigger is Trigger.CRON else Occasion.CHAT,
        conversation=result.conversation,
        turn=turn_id,
    )


def words_of(layers: Iterable[Layer]) -> str:
    """What was said, of all that a turn was told; a message may be nothing but what somebody else wrote."""
    said = [layer for layer in layers if layer.text.strip() and layer.name in _SAID]
    spoken = {layer.source for layer in said if layer.name is LayerName.USER_TEXT}
    return "\n\n".join(layer.text for layer in said if layer.name is LayerName.USER_TEXT or layer.source not in spoken)
