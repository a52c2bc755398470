"""A conversation that is summarised because somebody asked for it.

Codex does that as a turn of its own, which takes no words in, so it is one here too: it waits in the conversation's
queue, messages that come meanwhile wait behind it, and it can be stopped. What is particular stands in this module: how
it begins, that nothing is done where nothing is to do, and that the next server is asked when its own went away. What
Codex summarises by itself happens inside of ordinary turns and needs nothing of this.
"""

import logging
from typing import Final

import anyio

from codex_bridge.errors import (
    CallTimeoutError,
    CodexError,
    TransportError,
    UnreadableAnswerError,
    cause_of,
    last_words_of,
)
from codex_bridge.held import OpenThread
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.leftover import stopped
from codex_bridge.opening import BUSY_PAUSE
from codex_bridge.probe import is_active, last_turn
from codex_bridge.servers import Connection, Servers
from codex_bridge.stopping import Stopping
from codex_bridge.threads import NoThreadError
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.wire.besides import THREAD_COMPACT, ThreadCompactParams
from codex_bridge.wire.items import UserMessageItem
from codex_bridge.wire.notifications import TurnEnded
from codex_bridge.wire.requests import Thread, Turn
from harness.turns import EndedBy, Failure

BEGIN_DEADLINE: Final = 30.0
"""Seconds until Codex tells of the turn that it began; measured are 10 ms."""
FREE_DEADLINE: Final = 30.0
"""Seconds to wait for a summary that another client of the server asked for (harness reference, 7.5)."""
NOTHING_SAID: Final = "Nothing was said in this conversation yet."
NOTHING_NEW: Final = "Nothing was said in this conversation since it was summarised last."

logger = logging.getLogger("codex_bridge")


async def begin_compaction(
    connection: Connection, thread: OpenThread, turn: CodexTurn, ledger: TurnLedger, stopping: Stopping
) -> None:
    """Have Codex begin to summarise a loaded thread that runs no turn.

    Args:
        connection: The server that has it loaded.
        thread: The thread.
        turn: The turn that stands for it, which everybody finds under the thread by now.
        ledger: The account of that.
        stopping: Ends it if Codex does not tell whether it began, or if somebody stopped it meanwhile.

    Raises:
        CodexError: Codex refused, or went away before it had begun.
        NoThreadError: There is nothing to summarise.
    """
    if not thread.has_history:
        raise NoThreadError(NOTHING_SAID)
    last = await last_turn(connection.server.client, ledger.thread_id)
    if last is None:
        raise NoThreadError(NOTHING_SAID)
    params = ThreadCompactParams(thread_id=ledger.thread_id)
    if is_summary(last):
        if all(each.method != THREAD_COMPACT.name for each in turn.sent):
            raise NoThreadError(NOTHING_NEW)
        # This is the second try, after a server that was lost had done it.
        turn.push([*ledger.accept(last), *ledger.see(TurnEnded.model_construct(thread_id=ledger.thread_id, turn=last))])
        return
    turn.thread = thread.opened
    turn.sent.append(SentRequest(THREAD_COMPACT.name, params))
    # Once the request is out, the turn is Codex's, and only turn/interrupt ends it.
    with anyio.CancelScope(shield=True):
        # The answer says nothing of the turn, and 0.171 may tell of it before (measured). One turn runs on a thread at
        # a time, so the next one that begins is this one.
        turn.push(ledger.adopt())
        try:
            await connection.server.client.call(THREAD_COMPACT, params)
        except (CallTimeoutError, UnreadableAnswerError) as error:
            logger.warning("whether %s is summarised: %s", turn.request.session_key, error)
        if ledger.state is State.OPENING:
            await _hear(connection, turn)
        if ledger.state is State.OPENING:
            if connection.server.client.lost is not None:
                raise connection.server.client.lost
            sentence = "Codex did not begin to summarise this conversation."
            ledger.will_end(EndedBy.DEADLINE, sentence, Failure.SERVER)
            await stopping.stop(turn)
        elif turn.stopped:
            await stopping.stop(turn)


async def _hear(connection: Connection, turn: CodexTurn) -> None:
    """Wait until it is known whether Codex has the turn, its server is gone, or the time for that is over."""
    with anyio.move_on_after(BEGIN_DEADLINE):
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await connection.server.client.closed.wait()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await turn.until_known()
            group.cancel_scope.cancel()


async def settle_lost(servers: Servers, turn: CodexTurn, ledger: TurnLedger, cause: TransportError | None) -> None:
    """End a summary whose server went away in the middle, by what the next server says of it."""
    cut = f"Codex stopped while it summarised this conversation: {cause_of(cause)}."
    try:
        connection = await servers.get()
        last = await last_turn(connection.server.client, ledger.thread_id)
        if last is not None and last.status == "inProgress":
            # Only a server that is not ours goes on without us; nobody would hear of the end.
            await stopped(connection.server.client, Thread(id=ledger.thread_id))
            last = await last_turn(connection.server.client, ledger.thread_id)
    except CodexError as error:
        logger.warning("whether %s is summarised: %s", turn.request.session_key, error)
        turn.push(ledger.lose(f"{cut} Whether it was done by then is not known.", last_words_of(cause)))
        return
    if last is not None and last.id == ledger.turn_id and is_summary(last):
        turn.push(ledger.see(TurnEnded.model_construct(thread_id=ledger.thread_id, turn=last)))
    else:
        sentence = f"{cut} The conversation is as it was before."
        turn.push(ledger.fail(sentence, last_words_of(cause), Failure.SERVER, by=EndedBy.LOSS))


async def until_free(connection: Connection, thread_id: str) -> None:
    """Wait until a thread runs nothing, while somebody else has it summarised; not for ever, nor if nobody tells."""
    with anyio.move_on_after(FREE_DEADLINE):
        while True:
            await anyio.sleep(BUSY_PAUSE)
            if not await is_active(connection.server.client, thread_id):
                return


def is_summary(turn: Turn) -> bool:
    """Whether a turn did nothing but summarise its thread, and did that to the end."""
    spoken = any(isinstance(item, UserMessageItem) for item in turn.items)
    return turn.status == "completed" and not spoken
