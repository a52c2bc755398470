"""The turns that are not over: each waits behind those of its conversation and for a place, and comes to an end.

What a turn does between is the business of `running`; whatever breaks there ends this turn and no other.
"""

import logging
from collections.abc import Iterator
from typing import Final

import anyio

from codex_bridge.at_work import AtWork
from codex_bridge.deadlines import TURN_KEY
from codex_bridge.errors import CallTimeoutError, CodexError, RpcError, TransportError
from codex_bridge.failures import SHUTTING_DOWN, Trouble, call_failure, refusal, told
from codex_bridge.idle import Idle
from codex_bridge.losses import lost
from codex_bridge.running import Running
from codex_bridge.servers import Servers
from codex_bridge.threads import Threads
from codex_bridge.turn import CodexTurn
from codex_bridge.watching import Watching
from harness.errors import THE_LOG, HarnessError
from harness.masking import mask
from harness.turn_limit import TurnLimit
from harness.turns import EndedBy, Failure, Notice, Trigger

PLACES_KEY: Final = "agents.defaults.maxConcurrent"
"""Of the configuration, for how many turns run at once."""

logger = logging.getLogger("codex_bridge")


class Unfinished:
    """The turns that run or wait for their turn, in the order in which they were asked for.

    Args:
        servers: The server that they run on.
        threads: What is loaded there.
        at_work: Those that run there.
        running: Runs one.
        watching: Keeps their deadlines.
        idle: Hears which conversation was used.
        queues: Of each conversation that has turns, what they wait in; shared with `idle`.
        limit: How many run at once; None for as many as come.
        login: The command that signs the home in.
        seconds: For a whole turn, where its request names none.
    """

    def __init__(
        self,
        servers: Servers,
        threads: Threads,
        at_work: AtWork,
        running: Running,
        watching: Watching,
        idle: Idle,
        queues: dict[str, anyio.Lock],
        limit: TurnLimit | None,
        login: str,
        seconds: float,
    ) -> None:
        self._servers = servers
        self._threads = threads
        self._at_work = at_work
        self._running = running
        self._watching = watching
        self._idle = idle
        self._queues = queues
        self._limit = limit
        self._login = login
        self._seconds = seconds
        self._turns: dict[CodexTurn, None] = {}
        self._over: anyio.Event | None = None
        """Set with the end of each turn, for who waits for the last one."""

    def __iter__(self) -> Iterator[CodexTurn]:
        return iter(tuple(self._turns))

    def add(self, turn: CodexTurn) -> None:
        """Take in a turn that `run` is called for."""
        self._turns[turn] = None

    async def all_over(self) -> None:
        """Wait for the end of the last one."""
        while self._turns:
            if self._over is None or self._over.is_set():
                self._over = anyio.Event()
            await self._over.wait()

    async def run(self, turn: CodexTurn) -> None:
        """Run a turn to its end, when it is its turn; whatever breaks is told by its result."""
        request = turn.request
        queue = self._queues.setdefault(turn.key, anyio.Lock(fast_acquire=True))
        try:
            with turn.scope:
                async with queue:
                    await self._run_in_place(turn)
        except TransportError as error:
            lost(turn, error, self._login)
        except RpcError as error:
            fail(turn, refusal(error, self._login), call_failure(error), str(error))
        except CallTimeoutError as error:
            fail(turn, told(Trouble.SILENCE, self._login), call_failure(error), str(error))
        except (CodexError, HarnessError) as error:
            fail(turn, str(error), call_failure(error))
        except anyio.get_cancelled_exc_class():
            fail(turn, SHUTTING_DOWN, Failure.SHUTDOWN, by=EndedBy.SHUTDOWN)
            raise
        except Exception:
            # The boundary of a turn: whatever breaks here must end this turn and no other.
            logger.exception("turn for %s", request.session_key)
            fail(turn, f"The bridge had an internal error; {THE_LOG}.", Failure.OTHER)
        finally:
            self._turns.pop(turn, None)
            if self._over is not None:
                self._over.set()
            if not queue.locked():
                self._queues.pop(turn.key, None)
        if turn.buffer.result is None:  # stopped before Codex knew of it
            turn.push(turn.ended_ledger().stop())
        result = turn.buffer.result
        if result is not None and result.error:
            logger.warning("turn for %s: %s %s", request.session_key, result.error, mask(result.detail))

    async def _run_in_place(self, turn: CodexTurn) -> None:
        if self._limit is None:
            await self._run_in_time(turn)
            return
        place = turn.place = self._limit.come(attended=turn.request.trigger is Trigger.CHAT)
        try:
            if not place.held:
                turn.buffer.push(Notice(f"{self._limit.running} turns run already, so this one waits ({PLACES_KEY})."))
                await self._limit.wait(place)
            await self._run_in_time(turn)
        finally:
            self._limit.leave(place)

    async def _run_in_time(self, turn: CodexTurn) -> None:
        request = turn.request
        self._watching.begin(turn, request.seconds or self._seconds, request.limit_key or TURN_KEY)
        try:
            await self._running.run(turn)
        finally:
            self._watching.release(turn)
            if turn.ledger is not None:
                self._at_work.turns.pop(turn.ledger.thread_id, None)
            for call in tuple(turn.calls):
                call.cancel()
            # Not before the end: a server that is killed right after it accepted a turn has written nothing down. But
            # also when the gateway shuts down just then.
            with anyio.CancelScope(shield=True):
                await self._threads.finish(self._servers.current, turn)
            self._idle.used(turn.key)


def fail(turn: CodexTurn, sentence: str, failure: Failure, detail: str = "", *, by: EndedBy = EndedBy.ITSELF) -> None:
    """End a turn that Codex does not run, as a sentence says."""
    turn.push(turn.ended_ledger().fail(sentence, detail, failure, by=by))
