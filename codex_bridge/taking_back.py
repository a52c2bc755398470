"""A turn that is taken out of its thread again: one that was quiet, or one that failed and is to be tried once more."""

import logging
from typing import Final

import anyio

from codex_bridge.errors import CodexError, RpcError
from codex_bridge.frames import breaks_out
from codex_bridge.held import OpenThread, Reloaded, perhaps, taken_back
from codex_bridge.rules import UNFIT, found_rules
from codex_bridge.servers import Connection
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import THREAD_REVERT, ThreadRevertParams
from harness.store.bound import Holds
from harness.turns import TurnResult

REVERT_DEADLINE: Final = 5.0
"""Seconds to wait until a quiet turn is taken back; measured are 10 ms."""

logger = logging.getLogger("codex_bridge")


async def take_back(
    connection: Connection, thread: OpenThread, turn: CodexTurn, result: TurnResult, before: Holds
) -> bool:
    """Take a turn out of its thread again, while nobody else can begin one; tells whether it surely is.

    What is not known to be still there counts as taken, so that it is said once more and not missed.
    """
    params = ThreadRevertParams(thread_id=result.conversation, before_turn_id=result.turn)
    now, edits, rules = thread.holds, thread.edits, found_rules(turn.request.workspace, turn.request.composition)
    if thread.room and (rules is UNFIT or breaks_out(rules)):
        logger.warning("a quiet turn stays in its conversation: Codex would read rules that it must not")
        return False
    with anyio.CancelScope(shield=True):
        thread.holds, thread.reloaded, thread.edits = perhaps(before, now), Reloaded.PERHAPS, frozenset()
        try:
            await connection.server.client.call(THREAD_REVERT, params, deadline=REVERT_DEADLINE)
        except RpcError as error:
            logger.warning("a quiet turn stays in its conversation: %s", error)
            thread.holds, thread.reloaded, thread.edits = now, Reloaded.NO, edits
            return False
        except CodexError as error:
            logger.warning("whether a quiet turn stays in its conversation is not known: %s", error)
            return False
        taken_back(thread, before, None if rules is UNFIT else rules)
    return True
