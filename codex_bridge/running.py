"""One turn on its thread: begun, begun once more where that is safe, awaited, and taken back when it was quiet."""

import logging
from collections.abc import Callable, Iterable
from typing import Final

import anyio

from codex_bridge.at_work import AtWork
from codex_bridge.catalogue_watch import CatalogueWatch
from codex_bridge.errors import ConnectionLostError, RpcError
from codex_bridge.failures import RULES, Rule, Trouble, trouble_of
from codex_bridge.held import OpenThread
from codex_bridge.ledger import TurnLedger
from codex_bridge.loading import Loading
from codex_bridge.losses import Losses
from codex_bridge.opening import BUSY_PAUSE
from codex_bridge.params import ThreadSettings, saved_by_revert, without_words
from codex_bridge.replays import Pending, Step
from codex_bridge.restarts import DEADLY, Suspects
from codex_bridge.servers import Servers
from codex_bridge.starting import Starting
from codex_bridge.stopping import Stopping
from codex_bridge.telling import Telling
from codex_bridge.threads import NoThreadError, Threads
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.watching import Watching
from codex_bridge.wire.requests import TURN_START, TurnStartParams
from harness.store.bound import Holds
from harness.turns import Failure, Notice, Outcome, TurnEvent, TurnResult

IN_SUMMARY: Final = "turn_kind: Compact"
"""Words by which the server refuses a turn while it summarises the thread (measured on both versions)."""

logger = logging.getLogger("codex_bridge")


class Running:
    """Runs turns on the threads of their conversations.

    Args:
        servers: The server that they run on.
        threads: The threads of their conversations.
        at_work: What runs; a turn is in it from its request on.
        stopping: Ends a turn that Codex did not confirm, or that was stopped meanwhile.
        watching: Keeps the deadlines of those that it did.
        models: Watches the catalogue of the server.
        suspects: The conversations with which servers died.
        settings: What a thread may do.
        telling: Tells what the errors mean that they fail with.
        losses: Ends what goes on elsewhere without us.
        on_known: Hands on what came of a turn before it was confirmed, its end perhaps.
    """

    def __init__(
        self,
        servers: Servers,
        threads: Threads,
        at_work: AtWork,
        stopping: Stopping,
        watching: Watching,
        models: CatalogueWatch,
        suspects: Suspects,
        settings: ThreadSettings,
        telling: Telling,
        losses: Losses,
        on_known: "Callable[[CodexTurn, TurnLedger, Iterable[TurnEvent]], None]",
    ) -> None:
        self._servers = servers
        self._threads = threads
        self._at_work = at_work
        self._stopping = stopping
        self._watching = watching
        self._suspects = suspects
        self._loading = Loading(servers, threads, models, suspects)
        self._starting = Starting(threads.remembered, at_work, stopping, watching, settings, telling, on_known)
        self._telling = telling
        self._losses = losses
        self._on_known = on_known

    async def run(self, turn: CodexTurn) -> None:
        """Begin a turn on its thread and see it to its end.

        Raises:
            CodexError: Codex refused it, or went away before it had it.
        """
        if turn.request.fresh and not turn.apart:
            await self._threads.remembered.begin_anew(self._servers.current, turn)
        try:
            thread, before = await self._run_once(turn)
        except NoThreadError as nothing:
            turn.push(turn.ended_ledger().rest(str(nothing)))
            return
        await turn.over.wait()
        while turn.buffer.result is None:
            turn.over = anyio.Event()
            if turn.pending is not None:
                thread, before = await self._see_to(turn, turn.pending, thread, before)
            else:
                await self._go_on(turn, thread)
            await turn.over.wait()
        result = await turn.buffer.wait()
        allowed = None if turn.aside else turn.request.may_vanish
        connection = self._servers.current
        if result.outcome is not Outcome.LOST:
            self._suspects.clear(turn.key)
            if turn.outgrown == DEADLY:  # its server died, and its end was found written down
                turn.outgrown = ""
            if connection is not None:
                connection.life.worked = True
        if connection is None or allowed is None or self._at_work.outlasts(turn, result.conversation):
            return
        units = turn.ledger.units if turn.ledger is not None else 0
        if result.turn and allowed(result, *saved_by_revert(turn.lanes, before.said, thread.context_round, units)):
            from codex_bridge.taking_back import take_back  # few turns are taken back

            turn.vanished = await take_back(connection, thread, turn, result, before)
            if turn.vanished and turn.ledger is not None:
                self._at_work.recount(result.conversation, turn.ledger.counted_before)

    async def _see_to(
        self, turn: CodexTurn, pending: Pending, thread: OpenThread, before: Holds
    ) -> tuple[OpenThread, Holds]:
        """Do what is left of a turn that Codex ended badly, see `replays`; gives its thread, and what that held before.

        Raises:
            CodexError: Codex refused it, or went away before it had it.
        """
        ended, turn.ledger, turn.pending = turn.ledger, None, None
        self._watching.reopen(turn)
        connection = self._servers.current
        if pending.step is Step.FRESH:
            # Its thread is of no use any more, so a fresh one gets it, and what fits of before.
            why, turn.outgrown = turn.outgrown, ""
            turn.pictures_refused = pending.result.failure is Failure.IMAGE
            await self._threads.remembered.drop(connection, turn.key, why)
            turn.begin_anew()
            return await self._run_once(turn)
        if pending.step is Step.LATER and await self._taken_out(turn, ended, pending.result, thread, before):
            told = f"The model provider is too busy; the turn is tried once more in {pending.pause:g} s."
            turn.buffer.push(Notice(told))
            await anyio.sleep(pending.pause)
            turn.begin_anew()
            return await self._run_once(turn)
        events = pending.events
        try:
            if pending.step is Step.LOOK and connection is not None and ended is not None:
                from codex_bridge.limits import with_reset  # few limits are reached

                zone, client = turn.request.zone, connection.server.client
                events = await with_reset(client, pending, ended.error, self._telling, zone)
        finally:
            turn.push(events)
            turn.ledger = ended
        return thread, before

    async def _taken_out(
        self, turn: CodexTurn, ended: TurnLedger | None, result: TurnResult, thread: OpenThread, before: Holds
    ) -> bool:
        """Take a failed try out of its thread, where its words would stand twice; tells whether it surely is out."""
        connection = self._servers.current
        if connection is None or self._at_work.outlasts(turn, result.conversation):
            return False
        from codex_bridge.taking_back import take_back  # few turns are taken back

        if not await take_back(connection, thread, turn, result, before):
            return False
        self._at_work.recount(result.conversation, ended.counted_before if ended is not None else None)
        return True

    async def _run_once(self, turn: CodexTurn) -> tuple[OpenThread, Holds]:
        """Begin the turn; gives its thread, and what that held before."""
        connection, thread = await self._loading.loaded(turn)
        before = thread.holds
        try:
            await self._starting.begin(connection, thread, turn)
        except ConnectionLostError as error:
            if trouble_of(error) is not Trouble.CONNECTION:
                raise
            await self._loading.suspect(turn, connection)
            thread_id = thread.opened.thread.id
            self._at_work.turns.pop(thread_id, None)
            found = await self._losses.of_start(turn, thread_id, connection, error)
            ledger = turn.ledger
            if found.turn is not None and ledger is not None:
                self._on_known(turn, ledger, ledger.recall(found.turn))
                if turn.buffer.result is None and turn.pending is None:
                    raise
                return thread, before
            if turn.tried_again:
                raise
            turn.tried_again = True
            logger.warning("the app-server went away before it had the turn (%s); once more", error)
            connection, thread = await self._loading.loaded(turn)
            before = thread.holds
            await self._starting.begin(connection, thread, turn)
        except RpcError as error:
            trouble = trouble_of(error)
            if trouble is not Trouble.GONE and RULES[trouble] is not Rule.AGAIN:
                raise
            self._at_work.turns.pop(thread.opened.thread.id, None)
            if trouble is Trouble.GONE:
                # The server unloaded the thread without our noticing; nothing of this turn ran.
                if connection.threads.get(turn.key) is thread:  # and not one that ends with the turn
                    del connection.threads[turn.key]
                thread = await self._threads.open(connection, turn)
            elif IN_SUMMARY in error.message:
                from codex_bridge.compaction import until_free  # another client of the server asked for it

                await until_free(connection, thread.opened.thread.id)
            else:
                await anyio.sleep(BUSY_PAUSE)
            before = thread.holds
            await self._starting.begin(connection, thread, turn)
        return thread, before

    async def _go_on(self, turn: CodexTurn, thread: OpenThread) -> None:
        """Settle a summary that was lost, or have the words answered that came in just as Codex ended the turn.

        See `CodexTurn.lost` and `TurnLedger.goes_on`.

        Raises:
            CodexError: Codex refused, or went away.
        """
        if turn.lost is not None:
            from codex_bridge.compaction import settle_lost  # few conversations are summarised on request

            summary, cause = turn.lost
            try:
                await settle_lost(self._servers, turn, summary, cause)
            except anyio.get_cancelled_exc_class():  # somebody stopped it, and nobody hears of its end
                self._losses.let_go(summary.thread_id, summary.turn_id)
                raise
            return
        ledger = turn.ledger
        assert ledger is not None
        ledger.goes_on = False
        if turn.stopped is not None:
            # Whoever stops it found it over, and would not hear of another one.
            ledger.will_end(turn.stopped)
            turn.push(ledger.stop())
            return
        begun = [each.params for each in turn.sent if isinstance(each.params, TurnStartParams)][-1]
        params = without_words(begun, turn.lanes, context_round=thread.context_round)
        turn.sent.append(SentRequest(TURN_START.name, params))
        self._watching.reopen(turn)
        with anyio.CancelScope(shield=True):
            connection = self._servers.current
            if connection is None:
                raise ConnectionLostError("it went away as the turn went on", doing=TURN_START.name)
            await self._starting.ask_for(connection, turn, ledger, params)
            self._watching.confirm(turn)
            if turn.stopped:
                await self._stopping.stop(turn)
