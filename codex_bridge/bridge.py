"""The Codex backend of a gateway: takes turn requests, runs them on an app-server, streams what happens.

One app-server serves all conversations of an agent (`servers`), each conversation has a thread (`threads`), what a
notification means is the ledger's business and what a request holds that of `params`. This module joins them
and keeps turns of one conversation apart.
"""

import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import Final

import anyio
from anyio.abc import TaskGroup

from codex_bridge.capabilities import ServerCapabilities
from codex_bridge.children import Children
from codex_bridge.client import CALL_DEADLINE
from codex_bridge.commands import Commands
from codex_bridge.errors import (
    CallTimeoutError,
    CodexError,
    ConnectionLostError,
    RpcError,
    TransportError,
    UnreadableAnswerError,
)
from codex_bridge.failures import RULES, Rule, Trouble, refusal, told, trouble_of
from codex_bridge.home import login_command
from codex_bridge.lanes import LANE_OF, Lane, Standing
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.masking import mask
from codex_bridge.params import ThreadSettings, now_said, of_round, saved_by_revert, turn_start
from codex_bridge.process import Launch, Server
from codex_bridge.rpc import Json, Notified, Requested
from codex_bridge.rules import OVERRIDE, is_overridden
from codex_bridge.servers import Connection, OpenThread, Servers
from codex_bridge.threads import BUSY_PAUSE, Threads, backend_of, changes, holds_of
from codex_bridge.tools import Registrar
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.wire.items import CompactionItem
from codex_bridge.wire.notifications import ConfigWarned, ItemCompleted, ItemStarted, ThreadClosed, Warned, Wire, read
from codex_bridge.wire.requests import (
    THREAD_REVERT,
    TURN_INTERRUPT,
    TURN_START,
    ThreadRevertParams,
    TurnInterruptParams,
)
from harness.errors import THE_LOG, HarnessError
from harness.lean_values import dataclass
from harness.store.bindings import Bindings
from harness.store.bound import Holds
from harness.tasks import beside
from harness.turns import Evidence, Finished, Notice, SubagentFinished, Trigger, TurnEvent, TurnRequest, TurnResult

TURN_DEADLINE: Final = 48 * 3600.0
"""Seconds for a whole turn unless the configuration says otherwise."""
HEARTBEAT_GRACE: Final = 10.0
"""Seconds that a person's message waits for a heartbeat of the same conversation (spec 2)."""
INTERRUPT_DEADLINE: Final = 5.0
"""Seconds to wait for the end of a turn that is interrupted; measured are 30 ms."""
INTERRUPT_PAUSE: Final = 0.05
"""Seconds before a refused interrupt is sent again."""

START_DEADLINE: Final = CALL_DEADLINE
"""Seconds to wait for the answer to turn/start; measured are 2 ms."""
ADOPTION_DEADLINE: Final = 2.0
"""Seconds to wait for turn/started when its answer is lost; on the wire they are a millisecond apart."""
NOT_THERE: Final = -32601
"""Code by which the server says that a thread has no turns to tell of (protocol reference, section 1)."""
NO_TURN: Final = "no active turn"
"""Words by which the server says that a thread runs nothing (measured on both versions)."""

REVERT_DEADLINE: Final = 5.0
"""Seconds to wait until a quiet turn is taken back; measured are 10 ms."""

logger = logging.getLogger("codex_bridge")


def _ignore(request: TurnRequest, event: SubagentFinished) -> None:
    """Do nothing with a late subagent: the log has it."""


@dataclass(frozen=True, slots=True)
class CodexSettings:
    """How the bridge runs one agent."""

    launch: Launch
    agent: str = "main"
    threads: ThreadSettings = field(default_factory=ThreadSettings)
    turn_deadline: float = TURN_DEADLINE
    on_late_subagent: Callable[[TurnRequest, SubagentFinished], None] = _ignore
    """Hears of a subagent that ended after the turn that it worked for, whose stream is over by then."""
    heartbeat_grace: float = HEARTBEAT_GRACE


class CodexHarness:
    """Runs turns on an app-server of its own; make one with `codex_harness`."""

    def __init__(self, settings: CodexSettings, bindings: Bindings, group: TaskGroup, now: Callable[[], float]) -> None:
        self._settings = settings
        self._group = group
        self._now = now
        backend = backend_of(settings.launch.home)
        provider = settings.launch.provider
        self._login = login_command(settings.launch.home, settings.agent)
        # Only the configuration of a person's own home may name another tier.
        threads = replace(settings.threads, loads_standard_tier=settings.launch.home.owned)
        self._threads = Threads(bindings, backend, threads, login=self._login, provider=provider.id if provider else "")
        self._servers = Servers(
            group,
            settings.launch,
            settings.agent,
            on_notification=self._on_notification,
            on_request=self._on_request,
            on_loss=self._on_loss,
        )
        self._registrar = Registrar(direct=settings.threads.direct_tools, exclude=settings.threads.without_tools)
        self._queues: dict[str, anyio.Lock] = {}
        self._turns: dict[str, CodexTurn] = {}
        self._children: Children[CodexTurn] = Children(self._turn_of, self._login)
        self._commands = Commands()
        self._unfinished: dict[CodexTurn, None] = {}
        self._closed = False

    @property
    def server(self) -> Server | None:
        """The running app-server, or None when there is none at the moment."""
        return self._servers.current.server if self._servers.current else None

    def start(self, request: TurnRequest) -> CodexTurn:
        """Begin a turn. Returns at once; whatever goes wrong is told by the turn's result."""
        tools = self._registrar.registered(request.tools)
        standing = Standing(tools.names, self._settings.threads.subagents)
        turn = CodexTurn(request, tools, standing, self.interrupt)
        if self._closed:
            _fail(turn, "The gateway is shutting down.")
            return turn
        if request.trigger is Trigger.CHAT:
            for beat in [each for each in self._unfinished if _in_the_way(each, turn)]:
                self._group.start_soon(self._make_way, beat)
        self._unfinished[turn] = None
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
        await self._threads.clear(self._servers.current, session_key)

    async def adopt(self, session_key: str, thread_id: str) -> None:
        """Let a conversation go on in a thread of this Codex home that somebody else began.

        Raises:
            AdoptionError: Codex does not have the thread, or it is another chat's.
            CodexError: The server cannot be used; see `ready`.
            StoreError: The store cannot be used.
        """
        await self._threads.adopt(await self._servers.get(), session_key, thread_id)

    async def interrupt(self, turn: CodexTurn) -> None:
        """Stop a turn, wherever it is, and wait for its end."""
        if turn.buffer.result is None and not turn.stopped:
            turn.stopped = True
            if turn.ledger is None or turn.ledger.state is not State.RUNNING:
                turn.scope.cancel()  # if turn/start is out already, `_converse` sees the flag and stops it
            else:
                self._group.start_soon(self._stop, turn)  # a caller that is cancelled does not take the stop back
        await turn.buffer.wait()

    async def _make_way(self, beat: CodexTurn) -> None:
        """Give a heartbeat a little time to end by itself, as a person waits behind it."""
        with anyio.move_on_after(self._settings.heartbeat_grace):
            await beat.buffer.wait()
        await self.interrupt(beat)

    # one turn

    async def _run(self, turn: CodexTurn) -> None:
        request = turn.request
        queue = self._queues.setdefault(turn.key, anyio.Lock(fast_acquire=True))
        try:
            with turn.scope:
                async with queue:
                    await self._run_in_time(turn)
        except TransportError as error:
            _lose(turn, error, self._login)
        except RpcError as error:
            _fail(turn, refusal(error, self._login), str(error))
        except (CodexError, HarnessError) as error:
            _fail(turn, str(error))
        except anyio.get_cancelled_exc_class():
            _fail(turn, "The gateway is shutting down.")
            raise
        except Exception:
            # The boundary of a turn: whatever breaks here must end this turn and no other.
            logger.exception("turn for %s", request.session_key)
            _fail(turn, f"The bridge had an internal error; {THE_LOG}.")
        finally:
            self._unfinished.pop(turn, None)
            if not queue.locked():
                self._queues.pop(turn.key, None)
        if turn.buffer.result is None:  # stopped before Codex knew of it
            turn.push(turn.ended_ledger().stop())
        result = turn.buffer.result
        if result is not None and result.error:
            logger.warning("turn for %s: %s %s", request.session_key, result.error, mask(result.detail))

    async def _run_in_time(self, turn: CodexTurn) -> None:
        try:
            deadline = turn.request.seconds or self._settings.turn_deadline
            with anyio.move_on_after(deadline) as time_left:
                await self._converse(turn)
            if time_left.cancelled_caught:
                sentence = f"The turn was stopped after {deadline:g} s (turn deadline)."
                if turn.ledger is not None:
                    turn.ledger.give_up(sentence)
                    await self._stop(turn)
                _fail(turn, sentence)
        finally:
            if turn.ledger is not None:
                self._turns.pop(turn.ledger.thread_id, None)
            for call in tuple(turn.calls):
                call.cancel()
            # Not before the end: a server that is killed right after it accepted a turn has written nothing down. But
            # also when the gateway shuts down just then.
            with anyio.CancelScope(shield=True):
                await self._threads.finish(self._servers.current, turn)

    async def _converse(self, turn: CodexTurn) -> None:
        if turn.request.fresh and not turn.apart:
            await self._threads.begin_anew(self._servers.current, turn)
        thread, before = await self._run_once(turn)
        await turn.over.wait()
        if turn.buffer.result is None:
            turn.over = anyio.Event()
            # Nothing of it ran. The thread is too long for the model, so a fresh one gets it, and what fits of before.
            turn.buffer.push(Notice(f"{told(Trouble.OVERFLOW, self._login)} It goes on in a new thread."))
            await self._threads.drop(self._servers.current, turn.key)
            thread, before = await self._run_once(turn)
        result = await turn.buffer.wait()
        allowed = None if turn.aside else turn.request.may_vanish
        connection = self._servers.current
        if connection is None or allowed is None or self._is_at_work(turn, result.conversation):
            return
        units = turn.ledger.units if turn.ledger is not None else 0
        if result.turn and allowed(result, *saved_by_revert(turn.lanes, before.said, thread.context_round, units)):
            turn.vanished = await self._take_back(connection, thread, result, before)

    def _is_at_work(self, turn: CodexTurn, thread_id: str) -> bool:
        """Whether something of the conversation goes on after its turns: a revert ends its commands (measured)."""
        return self._commands.any_on(thread_id) or self._children.work_for(lambda parent: parent.key == turn.key)

    async def _run_once(self, turn: CodexTurn) -> tuple[OpenThread, Holds]:
        """Begin the turn; gives its thread, and what that held before."""
        connection, thread = await self._opened(turn)
        before = thread.holds
        try:
            await self._begin(connection, thread, turn)
        except ConnectionLostError as error:
            if trouble_of(error) is not Trouble.CONNECTION or await self._was_taken(turn, thread):
                raise
            logger.warning("the app-server went away before it had the turn (%s); once more", error)
            connection, thread = await self._opened(turn)
            before = thread.holds
            await self._begin(connection, thread, turn)
        except RpcError as error:
            trouble = trouble_of(error)
            if trouble is not Trouble.GONE and RULES[trouble] is not Rule.AGAIN:
                raise
            self._turns.pop(thread.opened.thread.id, None)
            if trouble is Trouble.GONE:
                # The server unloaded the thread without our noticing; nothing of this turn ran.
                connection.threads.pop(turn.key, None)
                thread = await self._threads.open(connection, turn)
            else:
                await anyio.sleep(BUSY_PAUSE)
            before = thread.holds
            await self._begin(connection, thread, turn)
        return thread, before

    async def _was_taken(self, turn: CodexTurn, thread: OpenThread) -> bool:
        """Whether Codex had begun a turn before its server was lost, by what it has written down.

        A message that stands in no turn has started nothing: it is written before the model is asked.

        Raises:
            CodexError: No server tells, so nothing may be sent again.
        """
        from codex_bridge.marks import read_mark  # few servers are lost
        from codex_bridge.wire.besides import TURNS_LIST, TurnsListParams
        from codex_bridge.wire.items import UserMessageItem

        self._turns.pop(thread.opened.thread.id, None)
        connection = await self._servers.get()
        params = TurnsListParams(thread_id=thread.opened.thread.id, limit=1)
        try:
            last = await connection.server.client.call(TURNS_LIST, params)
        except RpcError as error:
            if trouble_of(error) in (Trouble.GONE, Trouble.UNREADABLE) or error.code == NOT_THERE:
                return False  # a thread of which nothing was written down has had no turn
            raise
        said = [item for each in last.data for item in each.items if isinstance(item, UserMessageItem)]
        marks = [read_mark(item.client_id) for item in said]
        return any(mark is not None and mark.key == turn.request.message_key for mark in marks)

    async def _opened(self, turn: CodexTurn) -> tuple[Connection, OpenThread]:
        """A server and the turn's thread on it. A server that is lost before the turn begins costs a second try."""
        for last in (False, True):
            connection = None
            try:
                connection = await self._servers.get()
                if self._has_other_variables(connection, turn) and not last:
                    await self._servers.retire(connection, "the environment of the agent's skills has changed")
                    await connection.server.client.closed.wait()
                    connection = await self._servers.get()
                if connection.untold:
                    turn.buffer.push(Notice(connection.untold))
                    connection.untold = ""
                return connection, await self._threads.open(connection, turn)
            except ConnectionLostError as error:
                if last or trouble_of(error) is not Trouble.CONNECTION:
                    raise
                logger.warning("the app-server went away before a turn could begin (%s); once more", error)
            except CallTimeoutError:
                if connection is not None:
                    await self._servers.retire_if_hung(connection)
                raise
        raise AssertionError("the second try returns or raises")

    def _has_other_variables(self, connection: Connection, turn: CodexTurn) -> bool:
        """Whether the turn's thread has to be loaded anew, which another server does, while nobody needs this one."""
        loaded = connection.threads.get(turn.request.session_key)
        if loaded is None or loaded.environment == turn.request.environment:
            return False
        if not self._turns and not self._children.any:
            return True
        turn.buffer.push(Notice("The environment of the agent's skills has changed; commands of this turn lack that."))
        return False

    async def _begin(self, connection: Connection, thread: OpenThread, turn: CodexTurn) -> None:
        turn.thread = thread.opened
        ledger = turn.ledger = TurnLedger(thread.opened.thread.id, self._login)
        self._turns[ledger.thread_id] = turn
        capabilities, model = connection.server.capabilities, turn.request.model or thread.opened.model
        if not capabilities.honours_mode_text(model):
            turn.route(copied=turn.lanes.copied, hears_mode=False)
        before = thread.holds
        said, ended = now_said(before.said, turn.lanes.standing, thread.context_round)
        now = holds_of(turn.lanes, tools=before.tools, heard=turn.heard, said=said)
        changed = changes(thread, now, turn.lanes)
        with_context = bool(now.context) and now.context != before.context
        params = turn_start(
            turn.request,
            turn.lanes,
            thread.opened,
            self._settings.threads,
            with_context=with_context,
            changed=changed,
            ended=ended,
            context_round=thread.context_round,
            heard=turn.heard,
        )
        _tell_detours(turn, thread, model)
        _tell_override(turn, thread)
        _tell_changes(turn, before, changed)
        turn.sent.append(SentRequest(TURN_START.name, params))
        # Once the request is out, the turn is Codex's, and only turn/interrupt ends it.
        with anyio.CancelScope(shield=True):
            # Not after the answer: a compaction that follows it takes this back.
            is_told = with_context or now.context == before.context
            thread.holds = now if is_told else replace(now, context=before.context)
            try:
                started = await connection.server.client.call(TURN_START, params, deadline=START_DEADLINE)
            except (CallTimeoutError, UnreadableAnswerError) as error:
                if not await self._adopted(turn, ledger):
                    thread.holds = _perhaps(before, now)
                    ledger.give_up(f"Codex did not begin this turn: {error}.")
                    await self._stop(turn)  # it may run all the same
                    raise
                logger.warning("a turn for %s is followed though %s", turn.request.session_key, error)
            except CodexError:
                thread.holds = before
                raise
            else:
                turn.push(ledger.accept(started.turn))
            if turn.stopped:
                await self._stop(turn)

    async def _adopted(self, turn: CodexTurn, ledger: TurnLedger) -> bool:
        """Whether Codex runs the turn although its answer to turn/start did not reach us."""
        turn.known = anyio.Event()
        turn.push(ledger.adopt())
        with anyio.move_on_after(ADOPTION_DEADLINE):
            await turn.known.wait()
        return ledger.state is not State.OPENING

    async def _take_back(self, connection: Connection, thread: OpenThread, result: TurnResult, before: Holds) -> bool:
        """Take a turn out of its thread again, while nobody else can begin one; tells whether it surely is.

        What is not known to be still there counts as taken, so that it is said once more and not missed.
        """
        params = ThreadRevertParams(thread_id=result.conversation, before_turn_id=result.turn)
        now = thread.holds
        with anyio.CancelScope(shield=True):
            thread.holds = _perhaps(before, now)
            try:
                await connection.server.client.call(THREAD_REVERT, params, deadline=REVERT_DEADLINE)
            except RpcError as error:
                logger.warning("a quiet turn stays in its conversation: %s", error)
                thread.holds = now
                return False
            except CodexError as error:
                logger.warning("whether a quiet turn stays in its conversation is not known: %s", error)
                return False
            thread.holds = before
        return True

    async def _stop(self, turn: CodexTurn) -> None:
        """Send turn/interrupt and wait for the end: until then a new turn/start would join the old turn."""
        ledger, connection = turn.ledger, self._servers.current
        if ledger is None or connection is None:
            return
        idle = False
        with anyio.move_on_after(INTERRUPT_DEADLINE):
            idle = await self._interrupt(turn, ledger, connection)
        await self._stop_subagents(turn, connection)
        if idle:
            turn.push(ledger.stop())
        if turn.buffer.result is not None:
            return
        # Whatever is sent to this thread now would join the turn that does not end.
        await self._servers.retire_if_hung(connection)
        with anyio.move_on_after(INTERRUPT_PAUSE):
            await turn.buffer.wait()  # the loss of a server that was closed is told by another task
        if turn.buffer.result is None:
            logger.warning("turn %s does not stop; its conversation goes on in a new thread", ledger.turn_id)
            if not turn.apart:
                await self._threads.drop(connection, turn.key)
                turn.buffer.push(Notice("Codex did not stop this turn; the next message begins a new conversation."))
            turn.push(ledger.stop())

    async def _interrupt(self, turn: CodexTurn, ledger: TurnLedger, connection: Connection) -> bool:
        """Interrupt until the turn ends; tells whether Codex says that it runs none, of one that it never spoke of."""
        while turn.buffer.result is None:
            # Between the answer to turn/start and turn/started an exact id is refused, and an empty one is not.
            # One turn runs on a thread at a time, so it can only mean this one.
            turn_id = ledger.turn_id if ledger.began else ""
            params = TurnInterruptParams(thread_id=ledger.thread_id, turn_id=turn_id)
            try:
                await connection.server.client.call(TURN_INTERRUPT, params, deadline=INTERRUPT_DEADLINE)
            except RpcError as error:
                logger.info("interrupting turn %s: %s", ledger.turn_id, error)
                if trouble_of(error) is Trouble.GONE:
                    return False  # the server has let go of the thread, and of the turn with it
                # It reads one request after the other: a turn/start before this one has begun its turn or never will.
                if ledger.state is State.OPENING and NO_TURN in error.message:
                    return True
                await anyio.sleep(INTERRUPT_PAUSE)
            except CodexError as error:
                logger.warning("interrupting turn %s: %s", ledger.turn_id, error)
                return False
            else:
                await turn.buffer.wait()
        return False

    async def _stop_subagents(self, turn: CodexTurn, connection: Connection) -> None:
        """They would go on working for a turn that was stopped (protocol reference, 3.6)."""
        for ledger in self._children.of(turn):
            params = TurnInterruptParams(thread_id=ledger.thread_id, turn_id=ledger.turn_id)
            try:
                await connection.server.client.call(TURN_INTERRUPT, params, deadline=INTERRUPT_DEADLINE)
            except CodexError as error:
                logger.warning("interrupting a subagent of %s: %s", turn.request.session_key, error)

    # what the server says

    def _on_loss(self, error: TransportError | None) -> None:
        self._children.lose()
        self._commands.lose()
        for turn in list(self._turns.values()):
            # Of a turn that Codex has not confirmed, `_run_once` finds out whether it has begun.
            if turn.ledger is None or turn.ledger.state is not State.OPENING:
                _lose(turn, error, self._login)

    def _on_notification(self, notification: Notified) -> None:
        try:
            self._take_in(notification)
        except Exception:
            # One word of the server that breaks something here must not end the connection, and every chat with it.
            logger.exception("a notification of Codex: %s", notification.method)

    def _take_in(self, notification: Notified) -> None:
        wire = read(notification)
        match wire:
            case ThreadClosed(thread_id=thread_id):
                self._commands.end(thread_id)
                connection = self._servers.current
                if connection is not None and (key := connection.key_of(thread_id)) is not None:
                    del connection.threads[key]
            case ConfigWarned(summary=summary) | Warned(message=summary, thread_id=None):
                logger.warning("codex: %s", mask(summary))
            case _:
                thread = notification.params.get("threadId")
                if isinstance(thread, str):
                    self._on_thread(thread, wire)
                if isinstance(wire, ItemStarted | ItemCompleted):
                    self._commands.see(wire)
                if isinstance(wire, ItemCompleted) and isinstance(wire.item, CompactionItem):
                    self._on_compaction(wire.thread_id)

    def _on_thread(self, thread: str, wire: Wire) -> None:
        turn = self._turns.get(thread)
        if turn is not None and turn.ledger is not None:
            events = turn.ledger.see(wire)
            if turn.ledger.trouble is Trouble.OVERFLOW and self._may_begin_anew(turn, events):
                self._turns.pop(thread)
                turn.ledger = None
                turn.over.set()
            else:
                turn.push(events)
        elif (told := self._children.see(thread, wire)) is not None:
            parent, event = told
            if isinstance(event, SubagentFinished):
                self._on_subagent(parent, event)
            parent.buffer.push(event)

    def _may_begin_anew(self, turn: CodexTurn, events: Iterable[TurnEvent]) -> bool:
        """Whether a turn that did not fit into its thread can run in a fresh one without anything happening twice."""
        ends = [event.result for event in events if isinstance(event, Finished)]
        connection = self._servers.current
        if turn.aside or turn.stopped or connection is None or not ends:
            return False
        (result,) = ends
        thread = connection.threads.get(turn.key)
        idle = replace(result.evidence, messages=0) == Evidence() and not result.text
        return idle and thread is not None and thread.has_history

    def _on_subagent(self, parent: CodexTurn, event: SubagentFinished) -> None:
        if parent.ledger is not None:
            parent.ledger.count_subagent(event.result.usage)
        if parent.buffer.result is not None:  # nobody reads the turn's events any more
            logger.info("a subagent of %s ended after its turn: %s", parent.request.session_key, event.result.usage)
            try:
                self._settings.on_late_subagent(parent.request, event)
            except Exception:  # the gateway's own code must not end the connection
                logger.exception("on_late_subagent")

    def _turn_of(self, turn_id: str) -> CodexTurn | None:
        turns = self._turns.values()
        return next((turn for turn in turns if turn.ledger is not None and turn.ledger.turn_id == turn_id), None)

    def _on_compaction(self, thread_id: str) -> None:
        """A summary took the place of the conversation, the quoted files in it too: the next turn quotes them anew."""
        connection = self._servers.current
        key = connection.key_of(thread_id) if connection is not None else None
        if connection is not None and key is not None:
            thread = connection.threads[key]
            said = thread.holds.said
            if not connection.server.capabilities.remembers_context:
                # It says none of it again, save what is new to the turn that begins with the compaction (measured).
                said = of_round(said, thread.context_round)
                thread.context_round += 1
            thread.holds = replace(thread.began, heard=thread.holds.heard, said=said)
            self._group.start_soon(self._threads.store, connection, key)

    async def _on_request(self, request: Requested) -> Json:
        from codex_bridge.questions import reply, tool_call, tool_refusal  # few turns are asked anything

        call = tool_call(request)
        if call is None:
            answer = reply(request, self._now)
            if answer.notice:
                notice = mask(answer.notice)
                logger.warning("%s", notice)
                if turn := self._turns.get(answer.thread_id):
                    turn.buffer.push(Notice(notice))
            return answer.result
        turn = self._turns.get(call.thread_id)
        if turn is None or turn.ledger is None or turn.ledger.turn_id not in ("", call.turn_id):
            return tool_refusal("This tool belongs to the main conversation and answers only there.").to_wire()
        from codex_bridge.tool_calls import serve

        scope = anyio.CancelScope()  # ends with the turn: nobody would read the answer any more
        turn.calls.add(scope)
        try:
            with scope:
                tools = {tool.name: tool for tool in turn.request.tools}
                units, ceiling = self._result_limits(turn)
                served = await serve(
                    call,
                    tools,
                    stop=lambda: self._group.start_soon(self.interrupt, turn),
                    units=units,
                    ceiling=ceiling,
                )
                return served.to_wire()
        finally:
            turn.calls.discard(scope)
        return tool_refusal("The turn is over.").to_wire()

    def _result_limits(self, turn: CodexTurn) -> tuple[int, int]:
        """How long a tool's result may be: in UTF-16 units for the agent, and in bytes for Codex."""
        connection, thread, model = self._servers.current, turn.thread, turn.request.model or ""
        can = connection.server.capabilities if connection is not None else ServerCapabilities()
        model = model or (thread.model if thread is not None else "")
        excerpts, ceiling = turn.request.excerpts, can.tool_result_bytes(model)
        return ceiling if excerpts is None else excerpts.tool_result_units(can.context_tokens(model)), ceiling

    def close(self) -> None:
        """Take no more turns; `codex_harness` calls this at the end of its block."""
        self._closed = True


def _perhaps(before: Holds, now: Holds) -> Holds:
    """What a conversation holds for sure that was told what `now` says, or was not; and all that may have to end."""
    return replace(before, said=" ".join(sorted({*before.said.split(), *now.said.split()})))


def _in_the_way(beat: CodexTurn, message: CodexTurn) -> bool:
    return beat.request.trigger is Trigger.HEARTBEAT and beat.key == message.key


def _fail(turn: CodexTurn, sentence: str, detail: str = "") -> None:
    turn.push(turn.ended_ledger().fail(sentence, detail))


def _lose(turn: CodexTurn, error: TransportError | None, login: str) -> None:
    detail = error.detail if isinstance(error, ConnectionLostError) else ""
    cause = error.cause if isinstance(error, ConnectionLostError) else str(error)
    if turn.ledger is None:
        why = told(trouble_of(error), login) if error is not None else ""
        _fail(turn, f"Codex could not be started: {cause}." + (f" {why}" if why else ""), detail)
    else:
        turn.push(turn.ledger.lose(f"Codex stopped in the middle of this turn: {cause}.", detail))


def _tell_detours(turn: CodexTurn, thread: OpenThread, model: str) -> None:
    """Say, once for each change, which layers travel another way because the model does not see their usual one."""
    names = tuple(
        each.layer.name.value.rpartition("/")[2].replace("-", " ")
        for each in turn.lanes.placed
        if each.lane is Lane.TURN_ADDED and LANE_OF[each.layer.name] is not Lane.TURN_ADDED
    )
    told = (model, *names) if names else ()
    if told and told != thread.told:
        text = f"{model} ignores turn-scoped instructions, so it gets these as additional context: {', '.join(names)}."
        turn.buffer.push(Notice(text))
    thread.told = told


_EDITED: Final = {"rules": "AGENTS.md", "instructions": "the standing instructions (TOOLS.md is one of them)"}


def _tell_override(turn: CodexTurn, thread: OpenThread) -> None:
    """Say, once for each time that it appears, that Codex's own override file is not obeyed."""
    overridden = is_overridden(turn.request.workspace)
    if overridden and not thread.told_override:
        path = turn.request.workspace / OVERRIDE
        turn.buffer.push(Notice(f"{path} is not read: the rules of an agent stand in AGENTS.md; remove it."))
    thread.told_override = overridden


def _tell_changes(turn: CodexTurn, before: Holds, changed: Iterable[str]) -> None:
    # Rules of which the conversation holds no version are only said to it again, see `threads.holds_of`.
    names = " and ".join(_EDITED[name] for name in changed if name != "rules" or before.rules)
    if names:
        text = (
            f"{names[0].upper()}{names[1:]} changed since this conversation was told; this turn tells the new version."
        )
        turn.buffer.push(Notice(text))


@asynccontextmanager
async def codex_harness(
    settings: CodexSettings, bindings: Bindings, *, now: Callable[[], float] = time.time
) -> AsyncGenerator[CodexHarness]:
    """Offer Codex as a backend for as long as the block lasts.

    At its end running turns finish as failed, and the app-server is shut down within a few seconds.

    Args:
        settings: What to run.
        bindings: Where conversations are remembered.
        now: The time in Unix seconds.
    """
    async with beside() as group:
        harness = CodexHarness(settings, bindings, group, now)
        try:
            yield harness
        finally:
            harness.close()
