"""Words that are said into a running turn: sent, and followed until it is known whether the conversation has them.

What proves it is told in `codex_bridge.joining`. What Codex refuses, or lets go of, is nowhere, so that a new turn can
carry it; nothing is ever sent while it may be there already.
"""

import logging
from dataclasses import replace
from typing import Final

import anyio

from codex_bridge.active_turn import is_unfit
from codex_bridge.errors import CodexError, RpcError, TransportError
from codex_bridge.lanes import plan_join
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.params import mark_of, now_said, turn_steer
from codex_bridge.servers import Connection, Servers
from codex_bridge.steers import OnTheWay
from codex_bridge.threads import Threads
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.wire.requests import TURN_STEER
from harness.layers import Layer
from harness.turns import Outcome, Steered, Trigger

STEER_DEADLINE: Final = 5.0
"""Seconds to wait for the answer to turn/steer; measured are 2 ms."""
BEGIN_DEADLINE: Final = 60.0
"""Seconds that words wait for a turn which has yet to begin. A cold start takes one, a heartbeat that is in its
way ten at most."""

logger = logging.getLogger("codex_bridge")


class Steering:
    """Sends words into running turns.

    Args:
        servers: The server that they run on.
        threads: The threads of their conversations.
    """

    def __init__(self, servers: Servers, threads: Threads) -> None:
        self._servers = servers
        self._threads = threads

    async def steer(self, turn: CodexTurn, words: tuple[Layer, ...], key: str) -> Steered:
        """Add words to a turn, see `harness.turns.RunningTurn.steer`."""
        if turn.request.trigger is not Trigger.CHAT or turn.compacts:
            return Steered.UNFIT  # it may be taken out of the conversation again, and the words with it
        async with turn.steers.one_by_one:
            sent = await self._send(turn, words, key)
            if isinstance(sent, Steered):
                turn.steers.open = False
                return sent
        await sent.settled.wait()
        if sent.joined:
            return Steered.TAKEN
        result = turn.buffer.result
        if result is not None and result.outcome is Outcome.LOST:
            return await self._lost(turn, words, key)
        return Steered.OVER

    async def _send(self, turn: CodexTurn, words: tuple[Layer, ...], key: str) -> OnTheWay | Steered:
        running = await self._running(turn)
        if isinstance(running, Steered):
            return running
        ledger, connection = running
        thread = self._threads.of(turn)
        joins = plan_join(words)
        context_round = thread.context_round if thread is not None else 0
        mark = mark_of(key, words, turn.heard)
        params = turn_steer(
            mark,
            joins,
            turn.lanes,
            thread_id=ledger.thread_id,
            turn_id=ledger.turn_id,
            context_round=context_round,
        )
        shown = params
        if joins.pictures:
            from codex_bridge.pictures import with_pictures  # most messages bring none

            params, shown = await with_pictures(params, joins.pictures)
        client_id = str(mark)
        sent = turn.steers.expect(key, words)
        ledger.joining.expect(client_id, key)
        turn.sent.append(SentRequest(TURN_STEER.name, shown))
        # Once it is out, only what Codex shows tells what became of it, also to a caller who does not wait for that.
        with anyio.CancelScope(shield=True):
            try:
                await connection.server.client.call(TURN_STEER, params, deadline=STEER_DEADLINE)
            except RpcError as error:
                if sent.joined:
                    return sent
                logger.info("steering turn %s: %s", ledger.turn_id, error)
                ledger.joining.give_up(client_id)
                turn.steers.waiting.pop(key, None)
                return Steered.UNFIT if is_unfit(error) else Steered.OVER
            except TransportError:
                pass  # the end of the turn is told by the loss
            except CodexError as error:
                logger.warning("steering turn %s: %s", ledger.turn_id, error)
                turn.steers.open = False  # later words must not overtake these
        if thread is not None:
            said, _ = now_said(thread.holds.said, {**turn.lanes.standing, **joins.named}, context_round)
            thread.holds = replace(thread.holds, said=said)
        return sent

    async def _running(self, turn: CodexTurn) -> tuple[TurnLedger, Connection] | Steered:
        """The turn's account and server, as soon as Codex has it."""
        with anyio.move_on_after(BEGIN_DEADLINE):
            while turn.steers.open and turn.stopped is None:
                ledger, connection = turn.ledger, self._servers.current
                if ledger is not None and ledger.ends_by is not None:
                    break
                if ledger is not None and connection is not None and ledger.state is State.RUNNING:
                    return ledger, connection
                await turn.until_known()
        return Steered.OVER

    async def _lost(self, turn: CodexTurn, words: tuple[Layer, ...], key: str) -> Steered:
        """Find out whether words were taken in before their server went away."""
        from codex_bridge.reconcile import Fate, trace  # few servers are lost

        thread_id = turn.buffer.result.conversation if turn.buffer.result is not None else ""
        try:
            found = await trace((await self._servers.get()).server.client, thread_id, key)
        except CodexError as error:
            logger.warning("whether %s joined a turn that was lost is not known: %s", key, error)
            return Steered.UNKNOWN
        if found.fate is Fate.ABSENT:
            return Steered.OVER
        await self._threads.remembered.add_words(turn, words)
        return Steered.TAKEN
