"""The Codex backend of a gateway: takes turn requests, runs them on an app-server, streams what happens.

One app-server serves all conversations of an agent (`servers`), each conversation has a thread (`threads`), what a
notification means is the ledger's business and what a request holds that of `params`. This module joins them
and keeps turns of one conversation apart.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from codex_bridge.at_work import AtWork
from codex_bridge.catalogue_watch import CatalogueWatch
from codex_bridge.deadlines import TURN_SECONDS, Limits
from codex_bridge.endings import Endings
from codex_bridge.failures import SHUTTING_DOWN
from codex_bridge.following import Following
from codex_bridge.hearing import Hearing
from codex_bridge.hosts import Host, Life, Listener
from codex_bridge.idle import Idle, Rest
from codex_bridge.lanes import Standing
from codex_bridge.ledger import State
from codex_bridge.losses import Losses
from codex_bridge.params import ThreadSettings
from codex_bridge.process import Launch, Server, Source, login_of
from codex_bridge.requests_served import RequestsServed
from codex_bridge.restarts import DEADLY, Patience, Suspects
from codex_bridge.running import Running
from codex_bridge.servers import Servers
from codex_bridge.sources import Remote
from codex_bridge.steering import Steering
from codex_bridge.stopping import INTERRUPT_DEADLINE, Stopping
from codex_bridge.strain import Strain
from codex_bridge.telling import Telling
from codex_bridge.threads import Threads, backend_of
from codex_bridge.tool_serving import ToolServing
from codex_bridge.tools import Registrar
from codex_bridge.turn import CodexTurn
from codex_bridge.unfinished import Unfinished, fail
from codex_bridge.watching import Watching
from codex_bridge.wire.notifications import (
    Wire,
)
from harness.lean_values import dataclass
from harness.store.bindings import Bindings
from harness.tasks import beside, guarded, guarding
from harness.timing import Clock
from harness.turn_limit import TurnLimit
from harness.turns import (
    EndedBy,
    Failure,
    Notice,
    SubagentFinished,
    Trigger,
    TurnRequest,
)

if TYPE_CHECKING:
    from codex_bridge.asks_served import AsksServed
    from harness.asks import KeepsAsks
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
    asker: "KeepsAsks | None" = field(default=None, compare=False, repr=False)
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
        queues: dict[str, anyio.Lock] = {}
        self._at_work = AtWork(self._telling.tell)
        self._following = Following(settings.asker, self._at_work.any_on)
        self._servers = Servers(host, settings.agent)
        self._stopping = Stopping(self._servers, self._threads, self._at_work)
        self._steering = Steering(self._servers, self._threads)
        self._watching = Watching(
            group, self._servers, self._stopping, settings.limits, clock, on_thread=self._on_thread
        )
        begin = self._begin_beside = guarding(group)
        tools = ToolServing(self._servers, self._at_work, self._watching, begin, self.interrupt)
        self._requests = RequestsServed(tools, self._asks_served, now)
        self._strain, self._suspects = Strain(), Suspects()
        endings = Endings(self._servers, self._threads, self._at_work, self._strain, self._login, begin, now)
        self._hearing = Hearing(
            self._servers,
            self._threads,
            self._at_work,
            self._watching,
            endings,
            self._requests,
            self._following,
            self._telling,
            settings.on_late_subagent,
        )
        self._losses = Losses(
            self._servers,
            self._threads,
            begin,
            self._hearing.on_thread,
            endings.end,
            self._login,
            elsewhere=isinstance(source, Remote),
        )
        running = Running(
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
            endings.end,
        )
        self._idle = Idle(begin, self._servers, self._threads, self._at_work, queues, settings.rest, clock)
        self._unfinished = Unfinished(
            self._servers,
            self._threads,
            self._at_work,
            running,
            self._watching,
            self._idle,
            queues,
            limit,
            self._login,
            settings.turn_deadline,
        )
        self._bindings = bindings
        self._closed = False
        self._servers.listen(
            Listener(self._hearing.hear, self._requests.answer, self._on_loss, self._owns, lambda: self._at_work.any)
        )

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
            fail(turn, SHUTTING_DOWN, Failure.SHUTDOWN, by=EndedBy.SHUTDOWN)
            return turn
        if request.hooks:
            from harness.tool_hooks import missing_hook

            if missing := missing_hook(request.hooks, HOOKED):
                fail(turn, missing, Failure.POLICY)
                return turn
        if request.trigger is Trigger.CHAT:
            for other in [each for each in self._unfinished if _in_the_way(each, turn)]:
                if self._limit is not None and other.place is not None:
                    self._limit.attend(other.place)
                if other.request.trigger is Trigger.HEARTBEAT:
                    self._group.start_soon(guarded, self._make_way, other)
        if request.fresh and not turn.apart:
            self._strain.forget(turn.key)
        self._unfinished.add(turn)
        for problem in self._registrar.untold():
            logger.warning("agent %s: %s", self._settings.agent, problem)
            turn.buffer.push(Notice(problem))
        self._group.start_soon(self._unfinished.run, turn)
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

    # what the server says

    def _on_loss(self, life: Life) -> None:
        self._requests.lost()
        error, latest = life.server.client.lost, self._at_work.latest
        gone, children = self._at_work.lose()
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
        self._losses.lose([turn for turn in gone if not turn.compacts], error, children)

    def _on_thread(self, thread: str, wire: Wire) -> None:
        self._hearing.on_thread(thread, wire)

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
            await self._unfinished.all_over()
        async with anyio.create_task_group() as group:
            for turn in self._unfinished:
                group.start_soon(self.interrupt, turn, EndedBy.SHUTDOWN)
            await self._unfinished.all_over()

    def close(self) -> None:
        """Take no more turns, and let go of the server."""
        self._closed = True
        self._watching.close()
        self._idle.close()
        self._servers.release()


def _in_the_way(other: CodexTurn, message: CodexTurn) -> bool:
    return other.request.trigger is not Trigger.CHAT and other.key == message.key


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
