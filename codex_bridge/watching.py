"""Sees to it that no turn outlives its deadlines, see `deadlines`.

One timer serves all turns of a harness, and no task waits with a turn: what comes from Codex only leaves the time
behind. Who looks as often as the shortest limit is late for none, and only a limit that is over gets a task.
"""

import logging
from collections.abc import Callable
from typing import Final

from anyio.abc import TaskGroup

from codex_bridge.deadlines import PROBED, Limit, Limits, Watch, named, over, taken_as_answer
from codex_bridge.errors import CodexError
from codex_bridge.ledger import State
from codex_bridge.servers import Servers
from codex_bridge.stopping import Stopping
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.notifications import TurnEnded, Wire
from harness.errors import THE_LOG
from harness.tasks import guarded
from harness.timing import Clock, Timer
from harness.turns import EndedBy, Notice

_OPEN: Final = frozenset({"", "inProgress"})
"""Statuses of a turn that is not known to be over."""

logger = logging.getLogger("codex_bridge")


class Watching:
    """Keeps the deadlines of turns.

    Args:
        group: Where what is over is seen to.
        servers: The server that the turns run on.
        stopping: Ends them.
        limits: How long is waited for what.
        clock: The time.
        on_thread: Takes in what Codex says of a thread, when it had to be asked for it.
    """

    def __init__(
        self,
        group: TaskGroup,
        servers: Servers,
        stopping: Stopping,
        limits: Limits,
        clock: Clock,
        *,
        on_thread: Callable[[str, Wire], None],
    ) -> None:
        self._group = group
        self._servers = servers
        self._stopping = stopping
        self._limits = limits
        self._clock = clock
        self._time = clock.time
        self._on_thread = on_thread
        self._turns: dict[CodexTurn, Watch] = {}
        self._timer: Timer | None = None
        self._looks_at = 0.0

    def begin(self, turn: CodexTurn, seconds: float, key: str) -> None:
        """From now on a turn has so many seconds, as `key` of the configuration says."""
        now = self._clock.time()
        turn.watch = self._turns[turn] = Watch(self._limits, seconds, key, now, compacts=turn.compacts)
        self._look_by(now + min(seconds, self._limits.shortest))

    def release(self, turn: CodexTurn) -> None:
        """A turn is over."""
        self._turns.pop(turn, None)

    def reopen(self, turn: CodexTurn) -> None:
        """A turn is asked for now, the first time or once more."""
        if turn.watch is not None:
            turn.watch.reopen()

    def confirm(self, turn: CodexTurn) -> None:
        """Codex has answered that it has a turn."""
        if turn.watch is not None and turn.ledger is not None and turn.ledger.turn_id:
            turn.watch.begin(turn.ledger.turn_id, self._clock.time())

    def see(self, turn: CodexTurn, wire: Wire) -> None:
        """Codex said something of the thread that a turn runs on, and its ledger has taken it in."""
        watch, ledger = turn.watch, turn.ledger
        if watch is not None and ledger is not None:
            watch.see(wire, ledger.turn_id, self._time())

    def ask(self, turn: CodexTurn) -> int:
        """Codex waits for something that it has asked for in a turn; gives in which try of the turn it does."""
        return turn.watch.ask(self._clock.time()) if turn.watch is not None else 0

    def answer(self, turn: CodexTurn, asked_in: int) -> None:
        """It has what it asked for in that try."""
        if turn.watch is not None:
            turn.watch.answer(self._clock.time(), asked_in)

    def close(self) -> None:
        """Look at nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._turns.clear()

    def _look_by(self, when: float) -> None:
        """Look at the turns at that time, or earlier."""
        if self._timer is not None and when < self._looks_at:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._looks_at = when
            self._timer = self._clock.call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self._clock.time()
        at = now + self._limits.shortest
        for turn, watch in self._turns.items():
            if turn.buffer.result is not None:
                continue  # over, and about to be released
            try:
                due, limit = watch.due()
            except Exception:  # it must keep no other turn from its deadlines, nor end the looks
                logger.exception("the deadlines of a turn for %s", turn.request.session_key)
                due, limit = watch.whole, Limit.WHOLE
            at = min(each for each in (at, due, watch.whole) if each > now)
            if due <= now and not watch.busy:
                watch.busy = True
                self._group.start_soon(guarded, self._over, turn, watch, limit)
        if self._turns:
            self._look_by(at)

    async def _over(self, turn: CodexTurn, watch: Watch, limit: Limit) -> None:
        try:
            await self._see_to(turn, watch, limit)
        except Exception:
            # The boundary of a deadline: it ends this turn, which nobody else would, and no other one.
            logger.exception("a deadline of a turn for %s", turn.request.session_key)
            await self._break_off(turn)
        finally:
            watch.busy = False

    async def _see_to(self, turn: CodexTurn, watch: Watch, limit: Limit) -> None:
        idle = False
        if turn.adrift and limit in PROBED:
            return  # no server has it, and whoever looks up what became of it ends it
        if limit in PROBED:
            before = watch.due()
            idle = await self._is_idle(turn, watch)
            if turn.buffer.result is not None or watch.due() != before:
                return
        if turn.stopped is None:  # whoever stops it sees to its end
            await self._end(turn, watch, limit, idle=idle)

    async def _break_off(self, turn: CodexTurn) -> None:
        sentence, ledger = f"The bridge had an internal error; {THE_LOG}.", turn.ledger
        turn.stopped = turn.stopped or EndedBy.DEADLINE
        if ledger is not None and ledger.state is State.RUNNING:
            ledger.will_end(EndedBy.DEADLINE, sentence)
            await self._stopping.stop(turn)
        else:
            turn.push(turn.ended_ledger().fail(sentence, by=EndedBy.DEADLINE))
            turn.scope.cancel()

    async def _is_idle(self, turn: CodexTurn, watch: Watch) -> bool:
        """Whether Codex says that nothing runs on the thread; a turn that is active, or has ended, is told of it."""
        from codex_bridge.probe import ACTIVE, last_turn, status_of  # few turns are silent for so long

        ledger, connection = turn.ledger, self._servers.current
        if ledger is None or connection is None:
            return False
        client, seconds = connection.server.client, self._limits.probe
        status = await status_of(client, ledger.thread_id, deadline=seconds)
        if status is None:
            return False
        if status.type == ACTIVE:
            watch.renew(self._clock.time())
            return False
        last = None
        if not turn.aside:
            try:
                last = await last_turn(client, ledger.thread_id, deadline=seconds)
            except CodexError as error:
                logger.warning("how turn %s ended: %s", ledger.turn_id, error)
        if turn.buffer.result is None and last is not None and last.id == ledger.turn_id and last.status not in _OPEN:
            logger.warning("turn %s is %s, and Codex did not say so", last.id, last.status)
            self._on_thread(ledger.thread_id, TurnEnded.model_construct(thread_id=ledger.thread_id, turn=last))
        return True

    async def _end(self, turn: CodexTurn, watch: Watch, limit: Limit, *, idle: bool) -> None:
        turn.stopped, turn.limit = EndedBy.DEADLINE, named(limit, watch, self._limits)
        ledger = turn.ledger
        if ledger is not None and limit in PROBED and watch.has_answer:
            turn.buffer.push(Notice(taken_as_answer(limit, self._limits)))
            ledger.will_end(EndedBy.DEADLINE, answered=True)
        else:
            sentence, failure = over(limit, watch, self._limits, compacts=turn.compacts)
            if ledger is None:
                turn.push(turn.ended_ledger().fail(sentence, failure=failure, by=EndedBy.DEADLINE))
            else:
                ledger.will_end(EndedBy.DEADLINE, sentence, failure)
        if ledger is None or ledger.state is not State.RUNNING:
            turn.scope.cancel()  # if turn/start is out already, `Running` sees the flag and stops it
        else:
            await self._stopping.stop(turn, idle=idle)
