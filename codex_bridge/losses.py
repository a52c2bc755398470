"""Turns whose server went away as they began, or in the middle: the next one is asked what became of each.

Between the loss and that answer nobody knows how such a turn ends, and its conversation waits. A server that somebody
else runs lives on, and goes on with its turns: one that has ended here, or that nobody can follow, is interrupted.
"""

import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio

from codex_bridge.errors import (
    CodexError,
    ConnectError,
    ConnectionLostError,
    RpcError,
    TransportError,
    cause_of,
    last_words_of,
)
from codex_bridge.failures import call_failure, told, trouble_of
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.servers import Connection, Servers
from codex_bridge.threads import MOVES_ON, Threads
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.notifications import ItemCompleted, Wire
from harness.errors import THE_LOG
from harness.turns import EndedBy, TurnEvent

LOOK_UP_WITHIN: Final = 10.0
"""Seconds for another server and its word on every turn that was lost; measured are 0.2."""

if TYPE_CHECKING:
    from codex_bridge.reconcile import Trace

logger = logging.getLogger("codex_bridge")
Begin: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
End: TypeAlias = Callable[[CodexTurn, TurnLedger, Iterable[TurnEvent]], None]


class Losses:
    """Ends the turns of servers that are gone, or goes on with them where only the way to the server was lost.

    Args:
        servers: Where another server, or another way to it, comes from.
        threads: What is loaded there.
        begin: Has something done beside all that goes on.
        on_thread: Takes in what Codex says of a thread.
        end: Takes in the end of a turn, as one that Codex has told.
        login: The command that signs the home in.
        elsewhere: Whether somebody else runs the server, so that it lives on when the way to it is lost.
    """

    def __init__(
        self,
        servers: Servers,
        threads: Threads,
        begin: Begin,
        on_thread: Callable[[str, Wire], None],
        end: End,
        login: str,
        *,
        elsewhere: bool,
    ) -> None:
        self._servers = servers
        self._threads = threads
        self._begin = begin
        self._on_thread = on_thread
        self._end = end
        self._login = login
        self._elsewhere = elsewhere

    def lose(
        self,
        turns: Iterable[CodexTurn],
        error: TransportError | None,
        children: Iterable[tuple[CodexTurn, TurnLedger]] = (),
    ) -> None:
        """The server of these turns is gone. Each ends now if no more can be known of it, else within a short time.

        Args:
            turns: The turns.
            error: How it was lost.
            children: The subagents that worked there, each by its turn. Nobody hears of them any more, so they go on
                only for a turn that is followed again.
        """
        open_ones: list[tuple[CodexTurn, TurnLedger]] = []
        for turn in turns:
            ledger = turn.ledger
            # Of a thread that ends with its turn nothing is written down.
            if ledger is None or ledger.sure_of_its_end or turn.aside:
                runs = ledger is not None and ledger.state is State.RUNNING
                try:
                    lost(turn, error, self._login)
                except Exception:
                    # As at every boundary: the turn ends, and so do the others.
                    logger.exception("the loss of a turn for %s", turn.request.session_key)
                    turn.push(
                        turn.ended_ledger().fail(f"The bridge had an internal error; {THE_LOG}.", by=EndedBy.LOSS)
                    )
                if runs and ledger is not None:
                    self.let_go(ledger.thread_id, ledger.turn_id)
            elif ledger.state is State.RUNNING:
                turn.adrift = True
                open_ones.append((turn, ledger))
        adrift, left = {turn for turn, _ in open_ones}, list(children)
        for parent, child in left:
            if parent not in adrift:
                self.let_go(child.thread_id, child.turn_id)
        if open_ones:
            self._begin(partial(self._look_up, open_ones, error, [each for each in left if each[0] in adrift]))

    async def of_start(
        self, turn: CodexTurn, thread_id: str, connection: Connection, error: ConnectionLostError
    ) -> "Trace":
        """What became of a turn whose server was lost while it was begun, whether the server had it or not.

        Args:
            turn: The turn.
            thread_id: Its thread.
            connection: The server that is lost.
            error: How it was lost.

        Raises:
            CodexError: No server tells, so nothing may be sent again.
        """
        from codex_bridge.reconcile import ABSENT, Fate, trace  # few servers are lost

        if turn.compacts:
            return ABSENT  # it says nothing; whether it was done is looked at before it is asked for again
        elsewhere = connection.server.process is None
        if elsewhere and turn.aside:
            # Nothing is written down of its thread, so nobody tells whether the server, which lives on, has had it.
            self.let_go(thread_id, "")
            raise error
        # A stop must not leave a turn to itself of which nobody knows yet that it runs.
        with anyio.move_on_after(LOOK_UP_WITHIN if elsewhere else None, shield=elsewhere):
            client = (await self._servers.get()).server.client
            found = await trace(client, thread_id, turn.request.message_key)
            if found.fate is Fate.RUNNING and found.turn is not None:
                self.let_go(thread_id, found.turn.id)
            return found
        raise error

    def let_go(self, thread_id: str, turn_id: str) -> None:
        """Have a turn interrupted that is over here, where its server may go on with it.

        Args:
            thread_id: Its thread.
            turn_id: Its id; empty for whatever runs there, of a thread that is that turn's alone.
        """
        if self._elsewhere:
            self._begin(partial(self._interrupt, thread_id, turn_id))

    async def _interrupt(self, thread_id: str, turn_id: str) -> None:
        from codex_bridge.leftover import interrupted  # few servers are lost

        try:
            with anyio.move_on_after(LOOK_UP_WITHIN):
                await interrupted((await self._servers.get()).server.client, thread_id, turn_id)
        except CodexError as problem:
            logger.warning("whether a turn on %s goes on without us: %s", thread_id, problem)
        except Exception:
            # As at every boundary: that turn may go on, and the gateway does.
            logger.exception("interrupting a turn on %s", thread_id)

    async def _look_up(
        self,
        turns: list[tuple[CodexTurn, TurnLedger]],
        error: TransportError | None,
        children: list[tuple[CodexTurn, TurnLedger]],
    ) -> None:
        try:
            with anyio.move_on_after(LOOK_UP_WITHIN):
                connection = await self._servers.get()
                for turn, ledger in turns:
                    try:
                        await self._settle(connection, turn, ledger)
                    except RpcError as refused:
                        logger.warning("what became of turn %s is not known: %s", ledger.turn_id, refused)
                    if turn.adrift:
                        self._lose(turn, ledger, error)
        except CodexError as problem:
            logger.warning("what became of the turns that were lost is not known: %s", problem)
        except Exception:
            # As at every boundary: the turns end as lost, and the gateway goes on.
            logger.exception("what became of the turns that were lost")
        finally:
            for turn, ledger in turns:
                if turn.adrift:
                    self._lose(turn, ledger, error)
            for parent, child in children:
                if parent.ledger is None or parent.ledger.state is not State.RUNNING:
                    self.let_go(child.thread_id, child.turn_id)

    def _lose(self, turn: CodexTurn, ledger: TurnLedger, error: TransportError | None) -> None:
        """End a turn of which no more is known, and that its server may go on with."""
        runs = ledger.state is State.RUNNING
        lost(turn, error, self._login)
        if runs:
            self.let_go(ledger.thread_id, ledger.turn_id)

    async def _settle(self, connection: Connection, turn: CodexTurn, ledger: TurnLedger) -> None:
        """End a turn by what is written down of it, or listen to it again."""
        from codex_bridge.reconcile import Fate, items_of, trace  # few servers are lost

        client, thread_id = connection.server.client, ledger.thread_id
        look = partial(trace, client, thread_id, turn.request.message_key, turn_id=ledger.turn_id)
        found = await look()
        goes_on = found.fate is Fate.RUNNING and await self._threads.rejoin(connection, turn)
        if goes_on:
            found = await look()  # its end may have been told before we listened
        if ledger.state is State.ENDED:  # somebody stopped it meanwhile, or its time was over
            if found.fate is Fate.RUNNING:
                self.let_go(thread_id, ledger.turn_id)
            return
        if found.turn is None:
            return
        for item in await items_of(client, thread_id, found.turn):
            if getattr(item, "status", "") != "inProgress":
                wire = ItemCompleted.model_construct(thread_id=thread_id, turn_id=ledger.turn_id, item=item)
                self._on_thread(thread_id, wire)
        turn.adrift = not goes_on or found.fate is not Fate.RUNNING
        if turn.adrift:
            self._end(turn, ledger, ledger.recall(found.turn))
            turn.adrift = turn.pending is None  # else it is run once more, see `replays`


def lost(turn: CodexTurn, error: TransportError | None, login: str) -> None:
    """End a turn that has no server any more; nothing happens to one that is over."""
    detail, cause, failure = last_words_of(error), cause_of(error), call_failure(error)
    if turn.ledger is not None:
        sentence = f"Codex stopped in the middle of this turn: {cause}." + (f" {MOVES_ON}" if turn.outgrown else "")
        turn.push(turn.ledger.lose(sentence, detail, failure))
    elif isinstance(error, ConnectError):
        turn.push(turn.ended_ledger().fail(str(error), detail, failure, by=EndedBy.LOSS))
    else:
        why = told(trouble_of(error), login) if error is not None else ""
        sentence = f"Codex could not be started: {cause}." + (f" {why}" if why else "")
        turn.push(turn.ended_ledger().fail(sentence, detail, failure, by=EndedBy.LOSS))
