"""The Codex backend of a gateway: takes turn requests, runs them on an app-server, streams what happens.

One app-server serves all conversations of an agent (`servers`), each conversation has a thread (`threads`), what a
notification means is the ledger's business and what a request holds that of `params`. This module joins them
and keeps turns of one conversation apart.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from codex_bridge.at_work import AtWork
from codex_bridge.catalogue_watch import CatalogueWatch
from codex_bridge.deadlines import TURN_KEY, TURN_SECONDS, Limits
from codex_bridge.errors import (
    CallTimeoutError,
    CodexError,
    RpcError,
    TransportError,
)
from codex_bridge.failures import SHUTTING_DOWN, Trouble, call_failure, refusal, told
from codex_bridge.following import Following
from codex_bridge.hosts import Host, Life, Listener
from codex_bridge.idle import Idle, Rest
from codex_bridge.lanes import Standing
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.losses import Losses, lost
from codex_bridge.params import ThreadSettings
from codex_bridge.process import Launch, Server, Source, login_of
from codex_bridge.replays import Pending, Step, Tried, next_step
from codex_bridge.requests_served import RequestsServed
from codex_bridge.restarts import DEADLY, Patience, Suspects
from codex_bridge.rpc import Json, Notified, Requested
from codex_bridge.running import Running
from codex_bridge.servers import Servers
from codex_bridge.sources import Remote
from codex_bridge.steering import Steering
from codex_bridge.stopping import INTERRUPT_DEADLINE, Stopping
from codex_bridge.strain import Strain
from codex_bridge.telling import LIMITS_TOLD, Telling
from codex_bridge.threads import MOVES_ON, Threads, backend_of
from codex_bridge.tool_serving import ToolServing
from codex_bridge.tools import Registrar
from codex_bridge.turn import CodexTurn
from codex_bridge.watching import Watching
from codex_bridge.wire.items import CompactionItem
from codex_bridge.wire.notifications import (
    ConfigWarned,
    Delta,
    ItemCompleted,
    ItemStarted,
    ThreadClosed,
    TokenUsageUpdated,
    TurnEnded,
    Warned,
    Wire,
    read,
)
from harness.errors import THE_LOG, HarnessError
from harness.lean_values import dataclass
from harness.masking import mask
from harness.store.bindings import Bindings
from harness.tasks import beside, guarded, guarding
from harness.timing import Clock
from harness.turn_limit import TurnLimit
from harness.turns import (
    EndedBy,
    Failure,
    Finished,
    Notice,
    SubagentFinished,
    Trigger,
    TurnEvent,
    TurnRequest,
    TurnResult,
)

if TYPE_CHECKING:
    from codex_bridge.asks_served import AsksServed
    from harness.asks import Asker
    from harness.delivery.advice import Looked
    from harness.session_facts import SessionFacts

HEARTBEAT_GRACE: Final = 10.0
"""Seconds that a person's message waits for a heartbeat of the same conversation (spec 2)."""
COMPACTION_DEADLINE: Final = 300.0
"""Seconds for a summary that somebody asked for, unless the configuration says otherwise. Our choice: a model that
writes 50 tokens a second needs one minute for a long one, and messages of the chat wait behind it."""
DRAIN: Final = 10.0
"""Seconds that running turns have when the gateway shuts down, unless the configuration says otherwise."""
HOOKED: Final = frozenset({"tools"})
"""What hooks of a turn are asked about here: Codex runs its own commands unasked, see `harness.tool_hooks`."""
PLACES_KEY: Final = "agents.defaults.maxConcurrent"
"""Of the configuration, for how many turns run at once."""
COMPACTION_KEY: Final = "appServer.compactionTimeoutMs"
"""Of the configuration, for that."""


logger = logging.getLogger("codex_bridge")


def _ignore(request: TurnRequest, event: SubagentFinished) -> None:
    """Do nothing with a late subagent: the log has it."""


@dataclass(frozen=True, slots=True)
class CodexSettings:
    """How the bridge runs one agent."""

    launch: Source
    """What its turns run on: a server that we start, or one that somebody else runs."""
    agent: str = "main"
    threads: ThreadSettings = field(default_factory=ThreadSettings)
    turn_deadline: float = TURN_SECONDS
    """Seconds for a whole turn."""
    limits: Limits = Limits()
    """Seconds of silence, by what a turn is waited for in."""
    asker: "Asker | None" = field(default=None, compare=False, repr=False)
    """The way to who may answer what a turn asks that an earlier process of the gateway began, on a server that
    outlived it; None: it is declined at once. Other turns bring their own, see `TurnRequest.asker`."""
    on_late_subagent: Callable[[TurnRequest, SubagentFinished], None] = _ignore
    """Hears of a subagent that ended after the turn that it worked for, whose stream is over by then."""
    heartbeat_grace: float = HEARTBEAT_GRACE
    compaction_deadline: float = COMPACTION_DEADLINE
    patience: Patience = Patience()
    """How often and how soon a server that died is started again."""
    rest: Rest = Rest()
    """When threads are unloaded that nobody uses."""
    drain: float = DRAIN
    """Seconds that running turns have when the gateway shuts down."""


class CodexHarness:
    """Runs an agent's turns on the app-server of its home; made by `codex_harness`, or by a `pool.CodexPool`."""

    def __init__(
        self,
        settings: CodexSettings,
        bindings: Bindings,
        group: TaskGroup,
        host: Host,
        now: Callable[[], float],
        clock: Clock,
        limit: TurnLimit | None,
    ) -> None:
        self._settings = settings
        self._limit = limit
        self._group = group
        self._now = now
        source, threads = settings.launch, settings.threads
        launch = source if isinstance(source, Launch) else None
        if isinstance(source, Remote):
            threads = replace(threads, reads_rules=False, workdir=source.workdir)
        else:
            # Only the configuration of a person's own home may name another tier.
            threads = replace(threads, loads_standard_tier=source.home.owned)
        self._reads_rules = threads.reads_rules
        self._login = login_of(source, settings.agent)
        self._telling = Telling(self._login, now)
        provider = launch.provider.id if launch and launch.provider else ""
        self._threads = Threads(bindings, backend_of(source), threads, login=self._login, provider=provider, now=now)
        self._registrar = Registrar(direct=settings.threads.direct_tools, exclude=settings.threads.without_tools)
        self._queues: dict[str, anyio.Lock] = {}
        self._at_work = AtWork(self._telling.tell)
        self._following = Following(settings.asker)
        listener = Listener(
            self._on_notification, self._on_request, self._on_loss, self._owns, lambda: self._at_work.any
        )
        self._servers = Servers(host, settings.agent, listener)
        self._stopping = Stopping(self._servers, self._threads, self._at_work)
        self._steering = Steering(self._servers, self._threads)
        self._watching = Watching(
            group, self._servers, self._stopping, settings.limits, clock, on_thread=self._on_thread
        )
        begin = self._begin_beside = guarding(group)
        tools = ToolServing(self._servers, self._at_work, self._watching, begin, self.interrupt)
        self._requests = RequestsServed(tools, self._asks_served, now)
        self._suspects = Suspects()
        self._losses = Losses(
            self._servers,
            self._threads,
            begin,
            self._on_thread,
            self._end,
            self._login,
            elsewhere=isinstance(source, Remote),
        )
        self._running = Running(
            self._servers,
            self._threads,
            self._at_work,
            self._stopping,
            self._watching,
            CatalogueWatch(begin, launch, now),
            self._suspects,
            settings.threads,
            self._telling,
            self._losses,
            self._end,
        )
        self._idle = Idle(begin, self._servers, self._threads, self._at_work, self._queues, settings.rest, clock)
        self._strain = Strain()
        self._bindings = bindings
        self._unfinished: dict[CodexTurn, None] = {}
        self._over: anyio.Event | None = None
        """Set with the end of each turn, for who waits for the last one."""
        self._closed = False

    @property
    def server(self) -> Server | None:
        """The running app-server, or None when there is none at the moment."""
        return self._servers.current.server if self._servers.current else None

    def start(self, request: TurnRequest) -> CodexTurn:
        """Begin a turn. Returns at once; whatever goes wrong is told by the turn's result."""
        return self._begin(request)

    def compact(self, request: TurnRequest) -> CodexTurn:
        """Begin to put a summary in place of what a conversation holds. Returns at once.

        Waits for the turns of the conversation that were asked for before, and those that come meanwhile wait for it.
        What came of it is told by `harness.compaction.compaction_of` its result.

        Args:
            request: As for a turn of the conversation; its words are not used. A thread that is not loaded has to be,
                and the summary would be without what Codex is not told then.
        """
        if request.seconds is None:
            request = replace(request, seconds=self._settings.compaction_deadline, limit_key=COMPACTION_KEY)
        return self._begin(replace(request, may_vanish=None, fresh=False), compacts=True)

    def _begin(self, request: TurnRequest, *, compacts: bool = False) -> CodexTurn:
        tools = self._registrar.registered(request.tools)
        standing = Standing(tools.names, self._settings.threads.subagents)
        turn = CodexTurn(
            request,
            tools,
            standing,
            self.interrupt,
            self._steering.steer,
            reads_rules=self._reads_rules,
            compacts=compacts,
        )
        if self._closed:
            _fail(turn, SHUTTING_DOWN, Failure.SHUTDOWN, by=EndedBy.SHUTDOWN)
            return turn
        if request.hooks:
            from harness.tool_hooks import missing_hook

            if missing := missing_hook(request.hooks, HOOKED):
                _fail(turn, missing, Failure.POLICY)
                return turn
        if request.trigger is Trigger.CHAT:
            for other in [each for each in self._unfinished if _in_the_way(each, turn)]:
                if self._limit is not None and other.place is not None:
                    self._limit.attend(other.place)
                if other.request.trigger is Trigger.HEARTBEAT:
                    self._group.start_soon(guarded, self._make_way, other)
        if request.fresh and not turn.apart:
            self._strain.forget(turn.key)
        self._unfinished[turn] = None
        for problem in self._registrar.untold():
            logger.warning("agent %s: %s", self._settings.agent, problem)
            turn.buffer.push(Notice(problem))
        self._group.start_soon(self._run, turn)
        return turn

    @property
    def unfinished(self) -> tuple[TurnRequest, ...]:
        """The turns that run or wait for their turn, in the order in which they were asked for."""
        return tuple(turn.request for turn in self._unfinished)

    async def ready(self) -> Server:
        """Start the app-server if none runs, and return it. The first turn does the same by itself.

        Raises:
            ConnectError: It could not be started.
            ConnectionLostError: It ended at once; carries the masked tail of its stderr.
            CallTimeoutError: It does not answer.
            ServerTooOldError: Its version is below the floor.
            NotSignedInError: Its home has no account and the provider wants one.
            StateFolderError: Its home cannot be made.
        """
        return (await self._servers.get()).server

    async def forget(self, session_key: str) -> None:
        """Let the next turn of a conversation begin a new one; what was said in it is deleted here.

        Raises:
            StoreError: The store cannot be written.
        """
        self._strain.forget(session_key)
        await self._threads.remembered.clear(self._servers.current, session_key)

    async def adopt(self, session_key: str, thread_id: str) -> None:
        """Let a conversation go on in a thread of this Codex home that somebody else began.

        Raises:
            AdoptionError: Codex does not have the thread, or it is another chat's.
            CodexError: The server cannot be used; see `ready`.
            StoreError: The store cannot be used.
        """
        await self._threads.adopt(await self._servers.get(), session_key, thread_id)

    async def reconcile(
        self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
    ) -> "Looked":
        """Say what became of a turn that an earlier process began, see `harness.delivery.advice.Reconciler`."""
        from codex_bridge.left_open import LeftOpen  # for a start, if at all

        backend = backend_of(self._settings.launch)
        left = LeftOpen(self._servers, self._bindings, backend, self._telling.tell, self._following)
        return await left.reconcile(session_key, message_key, conversation=conversation, steered=steered)

    async def session_facts(self, session_key: str, message_key: str = "") -> "SessionFacts":
        """What is known of a conversation, see `harness.session_facts.TellsSessions`."""
        from codex_bridge.session import session_facts  # few turns ask

        return await session_facts(self._servers.current, self._at_work, self._telling, session_key, message_key)

    def cannot_run(self, model: str) -> str:
        """Say why a model cannot be run, see `harness.session_facts.TellsSessions`.

        A catalogue tells only of the vendor's own provider.
        """
        launch, connection = self._settings.launch, self._servers.current
        if connection is None or not isinstance(launch, Launch) or launch.provider is not None:
            return ""
        from codex_bridge.session import unknown  # few turns ask

        return unknown(model, connection.server.capabilities.catalogue.models)

    async def interrupt(self, turn: CodexTurn, by: EndedBy = EndedBy.PERSON) -> None:
        """Stop a turn, wherever it is, and wait for its end. `by` says in its result who wanted that.

        When a person stops one that is over, the subagents are stopped that still work for the conversation.
        """
        if turn.buffer.result is not None:
            if by is EndedBy.PERSON:
                await self._stopping.stop_what_is_left(turn.request.session_key, by)
        elif turn.stopped is None:
            turn.stopped = by
            if turn.ledger is not None and turn.ledger.state is State.RUNNING:
                # A caller that is cancelled does not take the stop back.
                self._group.start_soon(guarded, self._stopping.stop, turn)
            else:
                turn.scope.cancel()
                if turn.ledger is not None and by is not EndedBy.GIVEN_WAY:
                    # turn/start is out, and its answer may take long. `Running` stops the turn when it comes, before
                    # another one of the conversation can begin; what made it give way waits for that, and for whether
                    # the thread has its words.
                    turn.push(turn.ledger.leave(by))
        await turn.buffer.wait()

    async def stop(self, session_key: str) -> int:
        """Stop whatever runs or waits in a conversation, see `harness.turns.Stops`."""
        in_it = (each for each in self._unfinished if each.request.session_key == session_key)
        turns = [each for each in in_it if each.buffer.result is None]
        async with anyio.create_task_group() as group:
            for turn in turns:
                group.start_soon(self.interrupt, turn)
        return len(turns) + await self._stopping.stop_what_is_left(session_key, EndedBy.PERSON)

    async def _make_way(self, beat: CodexTurn) -> None:
        """Give a heartbeat a little time to end by itself, as a person waits behind it; none if it did not begin."""
        grace = 0.0 if beat.place is not None and not beat.place.held else self._settings.heartbeat_grace
        with anyio.move_on_after(grace):
            await beat.buffer.wait()
        await self.interrupt(beat, EndedBy.GIVEN_WAY)

    # one turn

    async def _run(self, turn: CodexTurn) -> None:
        request = turn.request
        queue = self._queues.setdefault(turn.key, anyio.Lock(fast_acquire=True))
        try:
            with turn.scope:
                async with queue:
                    await self._run_in_place(turn)
        except TransportError as error:
            lost(turn, error, self._login)
        except RpcError as error:
            _fail(turn, refusal(error, self._login), call_failure(error), str(error))
        except CallTimeoutError as error:
            _fail(turn, told(Trouble.SILENCE, self._login), call_failure(error), str(error))
        except (CodexError, HarnessError) as error:
            _fail(turn, str(error), call_failure(error))
        except anyio.get_cancelled_exc_class():
            _fail(turn, SHUTTING_DOWN, Failure.SHUTDOWN, by=EndedBy.SHUTDOWN)
            raise
        except Exception:
            # The boundary of a turn: whatever breaks here must end this turn and no other.
            logger.exception("turn for %s", request.session_key)
            _fail(turn, f"The bridge had an internal error; {THE_LOG}.", Failure.OTHER)
        finally:
            self._unfinished.pop(turn, None)
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
        self._watching.begin(turn, request.seconds or self._settings.turn_deadline, request.limit_key or TURN_KEY)
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

    # what the server says

    def _on_loss(self, life: Life) -> None:
        self._requests.lost()
        error, latest, gone = life.server.client.lost, self._at_work.latest, self._at_work.lose()
        for turn in gone:
            # What a turn kills its server with, it does soon: of several, the one that began last is the likely one.
            blamed = turn is latest and not life.retired and not turn.aside
            if blamed and self._suspects.died_with(turn.key):
                turn.outgrown = DEADLY
            if turn.compacts and turn.ledger is not None:
                # It may have been done by then, and the next server knows.
                self._at_work.turns.pop(turn.ledger.thread_id)
                turn.lost, turn.ledger = (turn.ledger, error), None
                turn.over.set()
        self._losses.lose([turn for turn in gone if not turn.compacts], error)

    def _on_notification(self, notification: Notified) -> None:
        try:
            self._take_in(notification)
        except Exception:
            # One word of the server that breaks something here must not end the connection, and every chat with it.
            logger.exception("a notification of Codex: %s", notification.method)

    async def _on_request(self, request: Requested) -> Json:
        return await self._requests.answer(request)

    def _owns(self, thread_id: str) -> bool:
        return self._at_work.owns(thread_id) or self._following.at(thread_id) is not None

    def _asks_served(self) -> "AsksServed":
        from codex_bridge.asks_served import AsksServed  # few turns ask anything

        return AsksServed(
            self._at_work,
            self._following,
            self._watching,
            self._begin_beside,
            self.interrupt,
            # A server of ours that listens lives on for a while, but the next start of the gateway ends it.
            outlives=isinstance(self._settings.launch, Remote),
            limit=self._limit,
        )

    def _take_in(self, notification: Notified) -> None:
        wire = read(notification)
        if not isinstance(wire, Delta):
            self._requests.see(wire)
        match wire:
            case ThreadClosed(thread_id=thread_id):
                self._at_work.commands.end(thread_id)
                self._at_work.counted.pop(thread_id, None)
                connection = self._servers.current
                if connection is not None and (key := connection.key_of(thread_id)) is not None:
                    del connection.threads[key]
                if connection is not None:
                    connection.left.discard(thread_id)
            case ConfigWarned(summary=summary) | Warned(message=summary, thread_id=None):
                logger.warning("codex: %s", mask(summary))
            case _:
                thread = notification.params.get("threadId")
                if isinstance(thread, str):
                    self._on_thread(thread, wire)
                elif notification.method == LIMITS_TOLD:
                    self._telling.hear(notification.params)
                if isinstance(wire, TurnEnded):
                    self._following.over(wire.thread_id)
                if isinstance(wire, ItemStarted | ItemCompleted):
                    self._at_work.commands.see(wire)
                if isinstance(wire, ItemCompleted) and isinstance(wire.item, CompactionItem):
                    self._on_compaction(wire.thread_id)

    def _on_thread(self, thread: str, wire: Wire) -> None:
        if isinstance(wire, TokenUsageUpdated):
            self._at_work.counted[thread] = wire.token_usage
        turn = self._at_work.turns.get(thread)
        if turn is not None and turn.ledger is not None:
            events = turn.ledger.see(wire)
            self._watching.see(turn, wire)
            if isinstance(wire, TurnEnded):
                self._end(turn, turn.ledger, events)
            else:
                turn.push(events)
        elif (told := self._at_work.children.see(thread, wire)) is not None:
            parent, event = told
            if isinstance(event, SubagentFinished):
                self._on_subagent(parent, event)
            else:
                self._threads.has_child(self._servers.current, parent, event.agent)
            parent.buffer.push(event)

    def _end(self, turn: CodexTurn, ledger: TurnLedger, events: Iterable[TurnEvent]) -> None:
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
                    self._on_compaction(ledger.thread_id)  # only the end tells of it
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

    def _on_subagent(self, parent: CodexTurn, event: SubagentFinished) -> None:
        if parent.ledger is not None:
            parent.ledger.count_subagent(event.result.usage)
        if parent.buffer.result is not None:  # nobody reads the turn's events any more
            logger.info("a subagent of %s ended after its turn: %s", parent.request.session_key, event.result.usage)
            try:
                self._settings.on_late_subagent(parent.request, event)
            except Exception:  # the gateway's own code must not end the connection
                logger.exception("on_late_subagent")

    def _on_compaction(self, thread_id: str) -> None:
        """A summary took the place of the conversation, the quoted files in it too: the next turn quotes them anew."""
        if (turn := self._at_work.turns.get(thread_id)) is not None:
            turn.summary_heard = True
        connection = self._servers.current
        key = connection.key_of(thread_id) if connection is not None else None
        if connection is not None and key is not None:
            self._threads.summarised(connection, key)
            self._group.start_soon(guarded, self._threads.remembered.store, connection, key)

    async def drain(self, seconds: float | None = None) -> None:
        """Take no more turns, and see to the end of those that there are.

        Those that wait end at once as not begun, so that they can be offered again. Those that run may come to their
        end; after so many seconds they are interrupted. When this returns all have left what they leave in the store.

        Args:
            seconds: How long the running ones have; None for what the settings say.
        """
        self._closed = True
        for turn in [each for each in self._unfinished if each.watch is None]:
            turn.stopped = turn.stopped or EndedBy.SHUTDOWN
            turn.scope.cancel()
        with anyio.move_on_after(self._settings.drain if seconds is None else seconds):
            await self._all_over()
        async with anyio.create_task_group() as group:
            for turn in tuple(self._unfinished):
                group.start_soon(self.interrupt, turn, EndedBy.SHUTDOWN)
            await self._all_over()

    async def _all_over(self) -> None:
        while self._unfinished:
            if self._over is None or self._over.is_set():
                self._over = anyio.Event()
            await self._over.wait()

    def close(self) -> None:
        """Take no more turns, and let go of the server."""
        self._closed = True
        self._watching.close()
        self._idle.close()
        self._servers.release()


def _in_the_way(other: CodexTurn, message: CodexTurn) -> bool:
    return other.request.trigger is not Trigger.CHAT and other.key == message.key


def _fail(turn: CodexTurn, sentence: str, failure: Failure, detail: str = "", *, by: EndedBy = EndedBy.ITSELF) -> None:
    turn.push(turn.ended_ledger().fail(sentence, detail, failure, by=by))


@asynccontextmanager
async def codex_harness(
    settings: CodexSettings,
    bindings: Bindings,
    *,
    now: Callable[[], float] = time.time,
    clock: Clock | None = None,
    limit: TurnLimit | None = None,
) -> AsyncGenerator[CodexHarness]:
    """Offer Codex as a backend for as long as the block lasts.

    At its end turns that run get a short time, see `CodexHarness.drain`, and the app-server is shut down within a few
    seconds. A block that ends with an error, or is cancelled, does not wait for them.

    Args:
        settings: What to run.
        bindings: Where conversations are remembered.
        now: The time in Unix seconds.
        clock: What deadlines and pauses go by; the running loop by default.
        limit: How many turns run at once, shared with other harnesses of the gateway; None for as many as come.
    """
    clock = clock or asyncio.get_running_loop()
    async with beside() as group:
        host = Host(group, settings.launch, now, clock, settings.patience)
        async with leased(settings, bindings, host, now=now, clock=clock, limit=limit) as harness:
            yield harness


@asynccontextmanager
async def leased(
    settings: CodexSettings,
    bindings: Bindings,
    host: Host,
    *,
    now: Callable[[], float],
    clock: Clock,
    limit: TurnLimit | None,
) -> AsyncGenerator[CodexHarness]:
    """Offer Codex as a backend, on a server that others may share, for as long as the block lasts."""
    async with beside() as group:
        harness = CodexHarness(settings, bindings, group, host, now, clock, limit)
        try:
            yield harness
            await harness.drain()
        finally:
            # A server that lives on without us goes on with its turns, and nobody would hear of them any more.
            if isinstance(settings.launch, Remote) or host.leases > 1:
                with anyio.move_on_after(INTERRUPT_DEADLINE, shield=True):
                    await harness.drain(0)
            harness.close()
