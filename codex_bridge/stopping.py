"""The end of a turn that somebody wants to end: interrupt it, and its subagents, and wait until it is over.

Everything here is bounded, whatever the server does:

    the server                            | what is done
    --------------------------------------+-------------------------------------------------------------------
    ends the turn                         | nothing else
    says that the thread runs nothing     | the thread is looked at; if it is idle the turn counts as over
    says that another turn of it runs     | that one is interrupted, once
    refuses for another reason            | it is asked again until the time is up
    does not answer, or the turn runs on  | it is asked something trivial, and replaced if it does not answer that;
                                          | else the conversation goes on in a new thread
"""

import logging
from typing import Final

import anyio

from codex_bridge.active_turn import another_turn, is_idle
from codex_bridge.at_work import AtWork
from codex_bridge.errors import CodexError, RpcError
from codex_bridge.failures import Trouble, trouble_of
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.servers import Connection, Servers
from codex_bridge.threads import Threads
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import TURN_INTERRUPT, TurnInterruptParams
from harness.turns import EndedBy, Notice

INTERRUPT_DEADLINE: Final = 5.0
"""Seconds to wait for the end of a turn that is interrupted; measured are 30 ms."""
PROBE_DEADLINE: Final = 1.0
"""Seconds to wait meanwhile for an answer whether the thread is active at all; measured are 2 to 30 ms."""
INTERRUPT_PAUSE: Final = 0.05
"""Seconds before a refused interrupt is sent again."""

logger = logging.getLogger("codex_bridge")


class Stopping:
    """Ends turns before their time.

    Args:
        servers: The server that they run on.
        threads: The threads of their conversations.
        at_work: What runs.
    """

    def __init__(self, servers: Servers, threads: Threads, at_work: AtWork) -> None:
        self._servers = servers
        self._threads = threads
        self._at_work = at_work
        self._under_way: dict[CodexTurn, anyio.Event] = {}

    async def stop(self, turn: CodexTurn, *, idle: bool = False) -> None:
        """Send turn/interrupt and wait for the end: until then a new turn/start would join the old turn.

        Whoever asks meanwhile waits for the same end: on 0.163 a second request may stay unanswered.

        Args:
            turn: The turn.
            idle: Codex says that nothing runs on its thread, so that no word of its end has to come.
        """
        under_way = self._under_way.get(turn)
        if under_way is not None:
            await under_way.wait()
            return
        done = self._under_way[turn] = anyio.Event()
        try:
            await self._stop(turn, idle=idle)
        except Exception:
            # The boundary of a stop: whoever waits for it is told the end, and what may run on is not joined.
            logger.exception("stopping a turn for %s", turn.request.session_key)
            try:
                if not turn.aside:
                    await self._threads.remembered.drop(self._servers.current, turn.key)
            finally:
                turn.push(turn.ended_ledger().stop())
        finally:
            del self._under_way[turn]
            done.set()

    async def stop_what_is_left(self, session_key: str, by: EndedBy) -> int:
        """Stop the subagents that outlived the turns of a conversation; gives how many."""
        connection = self._servers.current
        if connection is None:
            return 0
        left = self._at_work.children.of_those(
            lambda turn: turn.request.session_key == session_key and turn.buffer.result is not None
        )
        await self._interrupt_all(left, by, connection)
        return len(left)

    async def _stop(self, turn: CodexTurn, *, idle: bool) -> None:
        ledger, connection = turn.ledger, self._servers.current
        if ledger is not None and turn.adrift:  # no server runs it any more
            ledger.will_end(turn.stopped or EndedBy.LOSS)
            turn.push(ledger.stop())
        if ledger is None or connection is None or turn.adrift:
            return
        if turn.stopped is not None:
            ledger.will_end(turn.stopped)
        with anyio.move_on_after(INTERRUPT_DEADLINE):
            idle = await self._interrupt(turn, ledger, connection, idle=idle)
        # They would go on working for a turn that was stopped (protocol reference, 3.6), and now it begins no others.
        await self._interrupt_all(self._at_work.children.of(turn), ledger.ends_by, connection)
        if idle:
            turn.push(ledger.stop())
        if ledger.state is State.ENDED:
            return
        # Whatever is sent to this thread now would join the turn that does not end.
        await self._servers.retire_if_hung(connection)
        with anyio.move_on_after(INTERRUPT_PAUSE) as waited:
            await turn.over.wait()  # the loss of a server that was closed is told by another task
        if waited.cancelled_caught:
            logger.warning("turn %s does not stop; its conversation goes on in a new thread", ledger.turn_id)
            if not turn.aside:  # else its thread is not the conversation's
                await self._threads.remembered.drop(connection, turn.key)
                turn.buffer.push(Notice("Codex did not stop this turn; the next message begins a new conversation."))
            turn.push(ledger.stop())

    async def _interrupt(self, turn: CodexTurn, ledger: TurnLedger, connection: Connection, *, idle: bool) -> bool:
        """Interrupt until the turn ends; tells whether Codex says that it runs none, `idle` if it does not answer."""
        another = ""
        while ledger.state is not State.ENDED:
            # Between the answer to turn/start and turn/started an exact id is refused, and an empty one is not.
            # One turn runs on a thread at a time, so it can only mean this one.
            turn_id = another or (ledger.turn_id if ledger.began else "")
            params = TurnInterruptParams(thread_id=ledger.thread_id, turn_id=turn_id)
            try:
                await connection.server.client.call(TURN_INTERRUPT, params, deadline=INTERRUPT_DEADLINE)
            except RpcError as error:
                logger.info("interrupting turn %s: %s", turn_id or ledger.turn_id, error)
                if trouble_of(error) is Trouble.GONE:
                    return False  # the server has let go of the thread, and of the turn with it
                if is_idle(error) and (idle or await self._runs_none(ledger, connection)):
                    return True
                runs = another_turn(error)
                if runs and not another and ledger.has_seen(runs):
                    another = runs  # the end of ours was not told
                else:
                    await anyio.sleep(INTERRUPT_PAUSE)
            except CodexError as error:
                logger.warning("interrupting turn %s: %s", ledger.turn_id, error)
                return idle
            else:
                if another:
                    await anyio.sleep(INTERRUPT_PAUSE)  # its end follows the answer within milliseconds (measured)
                if idle or another:
                    return True
                await turn.over.wait()
        return idle

    async def _runs_none(self, ledger: TurnLedger, connection: Connection) -> bool:
        """Whether a turn is over of which Codex says that it is not active, and has not said that it ended."""
        if ledger.state is State.OPENING:
            # It reads one request after the other: a turn/start before this one has begun its turn or never will.
            return True
        from codex_bridge.probe import is_active  # few turns are stopped

        return not await is_active(connection.server.client, ledger.thread_id, deadline=PROBE_DEADLINE)

    async def _interrupt_all(
        self, ledgers: tuple[TurnLedger, ...], why: EndedBy | None, connection: Connection
    ) -> None:
        if not ledgers:
            return
        async with anyio.create_task_group() as group:
            for ledger in ledgers:
                if why is not None:
                    ledger.will_end(why)
                group.start_soon(self._interrupt_subagent, ledger, connection)

    async def _interrupt_subagent(self, ledger: TurnLedger, connection: Connection) -> None:
        params = TurnInterruptParams(thread_id=ledger.thread_id, turn_id=ledger.turn_id)
        try:
            await connection.server.client.call(TURN_INTERRUPT, params, deadline=INTERRUPT_DEADLINE)
        except CodexError as error:
            logger.warning("interrupting the subagent on %s: %s", ledger.thread_id, error)
