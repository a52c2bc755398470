"""The end of a turn as Codex tells it: whether it is the end for us too, and what it means for its conversation.

A turn may have to be tried again, and a thread that cannot take another turn is left behind. What is left to do of a
turn is decided by `replays`, whether a thread is outgrown by `strain`.
"""

import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from codex_bridge.at_work import AtWork
from codex_bridge.failures import Trouble, told
from codex_bridge.ledger import TurnLedger
from codex_bridge.replays import Pending, Step, Tried, next_step
from codex_bridge.servers import Servers
from codex_bridge.strain import Strain
from codex_bridge.threads import MOVES_ON, Threads
from codex_bridge.turn import CodexTurn
from harness.turns import Failure, Finished, TurnEvent, TurnResult

Begin: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]

logger = logging.getLogger("codex_bridge")


class Endings:
    """Takes in the ends of turns, and of what a conversation held when a summary took its place.

    Args:
        servers: The server that the turns run on.
        threads: What is loaded there.
        at_work: The turns that run.
        strain: What each conversation has been through.
        login: The command that signs the home in.
        begin: Has something done beside all that goes on.
        now: The time in Unix seconds.
    """

    def __init__(
        self,
        servers: Servers,
        threads: Threads,
        at_work: AtWork,
        strain: Strain,
        login: str,
        begin: Begin,
        now: Callable[[], float],
    ) -> None:
        self._servers = servers
        self._threads = threads
        self._at_work = at_work
        self._strain = strain
        self._login = login
        self._begin = begin
        self._now = now

    def end(self, turn: CodexTurn, ledger: TurnLedger, events: Iterable[TurnEvent]) -> None:
        """Hand on what came with the end of a turn, unless something is left to do of it first."""
        events = tuple(events)
        try:
            events = tuple(self._judged(turn, ledger, events))
        except Exception:  # what breaks here must not cost the turn its end
            logger.exception("the end of a turn for %s", turn.request.session_key)
        if turn.pending is not None:
            self._at_work.turns.pop(ledger.thread_id, None)
            turn.steers.release()
            turn.over.set()
            return
        turn.push(events)
        if ledger.goes_on:
            turn.steers.release()
            turn.over.set()

    def _judged(self, turn: CodexTurn, ledger: TurnLedger, events: Iterable[TurnEvent]) -> Iterable[TurnEvent]:
        """See whether a conversation can go on in its thread after what ended in it; a failure says so then."""
        for event in events:
            if not isinstance(event, Finished):
                continue
            result = event.result
            if not turn.aside:
                if result.compacted and not turn.summary_heard:
                    self.summarised(ledger.thread_id)  # only the end tells of it
                if result.failure is Failure.CONTEXT:
                    turn.outgrown = told(Trouble.OVERFLOW, self._login)
                elif result.failure is Failure.IMAGE:
                    turn.outgrown = result.error  # the picture stays in it, so every turn would fail
                elif turn.compacts and result.compacted:
                    self._strain.forget(turn.key)
                else:
                    turn.outgrown = self._strain.see(turn.key, result, summary_failed=ledger.summary_failed)
            step = self._next_step(turn, ledger, result)
            if step is not None:
                turn.pending = Pending(step[0], result, tuple(events), step[1])
            elif turn.outgrown and result.error:
                told_so = Finished(replace(result, error=f"{result.error} {MOVES_ON}"))
                return [told_so if each is event else each for each in events]
        return events

    def _next_step(self, turn: CodexTurn, ledger: TurnLedger, result: TurnResult) -> tuple[Step, float] | None:
        """What is left to do of a turn that Codex ended, and after how many seconds."""
        connection = self._servers.current
        if result.failure is None or turn.stopped or connection is None:
            return None
        thread = self._threads.of_chat(turn)
        tried = Tried(
            trigger=turn.request.trigger,
            said=ledger.said_anything or bool(result.earlier),
            joined=turn.steers.taken,
            tried_again=turn.tried_again,
            retried=ledger.retried,
            outgrown=bool(turn.outgrown),
            own_thread=not (turn.aside or turn.compacts) and thread is not None,
            # Pictures that were refused do not go into it.
            fresh_is_less=thread is not None and (thread.has_history or result.failure is Failure.IMAGE),
        )
        return next_step(result, tried, self._now())

    def summarised(self, thread_id: str) -> None:
        """A summary took the place of the conversation, the quoted files in it too: the next turn quotes them anew."""
        if (turn := self._at_work.turns.get(thread_id)) is not None:
            turn.summary_heard = True
        connection = self._servers.current
        key = connection.key_of(thread_id) if connection is not None else None
        if connection is not None and key is not None:
            self._threads.summarised(connection, key)
            self._begin(partial(self._threads.remembered.store, connection, key))
