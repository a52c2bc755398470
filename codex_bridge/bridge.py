"""The Codex backend of a gateway: takes turn requests, runs them on an app-server, streams what happens.

One app-server serves all conversations of an agent. It is started with the first turn, and again with the next
turn after it died. What a notification means is the ledger's business, what a request holds that of
`params`; this module joins them and keeps turns of one conversation apart.
"""

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from codex_bridge.client import Client
from codex_bridge.errors import CallTimeoutError, CodexError, ConnectionLostError, NotSignedInError, RpcError
from codex_bridge.lanes import LanePlan, plan
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.params import ThreadSettings, thread_resume, thread_start, turn_start
from codex_bridge.process import Launch, Server, app_server
from codex_bridge.questions import reply
from codex_bridge.rpc import Json, JsonObject, Junk, Notified, Requested, Stray
from codex_bridge.wire.base import Sent
from codex_bridge.wire.notifications import ConfigWarned, ThreadClosed, Warned, Wire, read
from codex_bridge.wire.requests import (
    ACCOUNT_READ,
    THREAD_RESUME,
    THREAD_START,
    TURN_INTERRUPT,
    TURN_START,
    AccountReadParams,
    ThreadOpened,
    TurnInterruptParams,
)
from harness.errors import HarnessError
from harness.events import EventBuffer
from harness.store.bindings import Binding, Bindings
from harness.tasks import beside
from harness.turns import Notice, TurnEvent, TurnRequest, TurnResult

BACKEND: Final = "codex"
TURN_DEADLINE: Final = 48 * 3600.0
"""Seconds for a whole turn unless the configuration says otherwise."""
INTERRUPT_DEADLINE: Final = 5.0
"""Seconds to wait for the end of a turn that is interrupted; measured are 30 ms."""

logger = logging.getLogger("codex_bridge")


@dataclass(frozen=True, slots=True)
class CodexSettings:
    """How the bridge runs one agent."""

    launch: Launch
    agent: str = "main"
    threads: ThreadSettings = field(default_factory=ThreadSettings)
    turn_deadline: float = TURN_DEADLINE


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it went out."""

    method: str
    params: Sent

    def to_wire(self) -> JsonObject:
        """The parameters as JSON."""
        return self.params.to_wire()


class CodexTurn:
    """A turn on Codex, see `harness.turns.RunningTurn`."""

    def __init__(self, request: TurnRequest, harness: "CodexHarness") -> None:
        self.request = request
        self.lanes: LanePlan = plan(request.composition)
        self.sent: list[SentRequest] = []
        """The thread and turn requests of this turn, as they went out."""
        self.thread: ThreadOpened | None = None
        """The thread as the server opened it for this turn; None until then."""
        self.ledger: TurnLedger | None = None
        self.stopped = False
        """Whether somebody asked for the end."""
        self.buffer = EventBuffer()
        self.scope = anyio.CancelScope()
        self._harness = harness

    def events(self) -> AsyncIterator[TurnEvent]:
        """Stream what happens, up to and with `Finished`."""
        return self.buffer.read()

    async def result(self) -> TurnResult:
        """Wait for the end."""
        return await self.buffer.wait()

    async def interrupt(self) -> None:
        """Ask for the end; the turn then finishes as interrupted. Twice is harmless."""
        await self._harness.interrupt(self)


@dataclass(slots=True)
class _Connection:
    """A running app-server and what is known of it."""

    server: Server
    opened: dict[str, ThreadOpened] = field(default_factory=dict[str, ThreadOpened])
    """Threads that this server has loaded for us, by the conversation they belong to."""

    def close(self, thread_id: str) -> None:
        """Forget a thread that the server has unloaded."""
        for session_key, thread in self.opened.items():
            if thread.thread.id == thread_id:
                del self.opened[session_key]
                return


class CodexHarness:
    """Runs turns on an app-server of its own; make one with `codex_harness`."""

    def __init__(self, settings: CodexSettings, bindings: Bindings, group: TaskGroup, now: Callable[[], float]) -> None:
        self._settings = settings
        self._bindings = bindings
        self._group = group
        self._now = now
        home = settings.launch.home
        # Threads live in a home, so another home's bindings are another backend's.
        self._backend = BACKEND if home.owned else f"{BACKEND}@{home.path}"
        self._connection: _Connection | None = None
        self._starting = anyio.Lock()
        self._queues: dict[str, anyio.Lock] = {}
        self._turns: dict[str, CodexTurn] = {}

    @property
    def server(self) -> Server | None:
        """The running app-server, or None when there is none at the moment."""
        return self._connection.server if self._connection else None

    def start(self, request: TurnRequest) -> CodexTurn:
        """Begin a turn. Returns at once; whatever goes wrong is told by the turn's result."""
        turn = CodexTurn(request, self)
        self._group.start_soon(self._run, turn)
        return turn

    async def ready(self) -> Server:
        """Start the app-server if none runs, and return it. The first turn does the same by itself.

        Raises:
            ConnectError: It could not be started.
            ConnectionLostError: It ended at once; carries the masked tail of its stderr.
            ServerTooOldError: Its version is below the floor.
            NotSignedInError: Its home has no account and the provider wants one.
        """
        return (await self._connected()).server

    async def interrupt(self, turn: CodexTurn) -> None:
        """Stop a turn, wherever it is."""
        if turn.buffer.result is not None or turn.stopped:
            return
        turn.stopped = True
        if turn.ledger is None or turn.ledger.state is not State.RUNNING:
            turn.scope.cancel()  # if turn/start is out already, `_converse` sees the flag and stops it
        else:
            await self._stop(turn)

    async def _stop(self, turn: CodexTurn) -> None:
        """Send turn/interrupt, once, and wait for the end: until then a new turn/start would join the old turn.

        A second interrupt may stay without an answer on 0.163 (protocol reference, section 2).
        """
        ledger, connection = turn.ledger, self._connection
        if ledger is None or connection is None:
            return
        # Between the answer to turn/start and turn/started an exact id is refused, and an empty one is not.
        # One turn runs on a thread at a time, so it can only mean this one.
        turn_id = ledger.turn_id if ledger.began else ""
        params = TurnInterruptParams(thread_id=ledger.thread_id, turn_id=turn_id)
        with anyio.move_on_after(INTERRUPT_DEADLINE):
            try:
                await connection.server.client.call(TURN_INTERRUPT, params, deadline=INTERRUPT_DEADLINE)
            except (RpcError, CallTimeoutError, ConnectionLostError) as error:
                logger.info("interrupting turn %s: %s", ledger.turn_id, error)
            await turn.buffer.wait()

    # one turn

    async def _run(self, turn: CodexTurn) -> None:
        request = turn.request
        queue = self._queues.setdefault(request.session_key, anyio.Lock())
        try:
            with turn.scope:
                async with queue:
                    await self._run_in_time(turn)
        except ConnectionLostError as error:
            self._lose(turn, error)
        except (CodexError, HarnessError) as error:
            self._fail(turn, str(error))
        except anyio.get_cancelled_exc_class():
            self._fail(turn, "The gateway is shutting down.")
            raise
        except Exception:
            # The boundary of a turn: whatever breaks here must end this turn and no other.
            logger.exception("turn for %s", request.session_key)
            self._fail(turn, "The bridge had an internal error; the log has the details.")
        if turn.buffer.result is None:  # stopped before Codex knew of it
            self._push(turn, _ledger_of(turn).stop())
        if not queue.locked():
            self._queues.pop(request.session_key, None)

    async def _run_in_time(self, turn: CodexTurn) -> None:
        try:
            with anyio.move_on_after(self._settings.turn_deadline) as time_left:
                await self._converse(turn)
            if time_left.cancelled_caught:
                sentence = f"The turn was stopped after {self._settings.turn_deadline:g} s (turn deadline)."
                if turn.ledger is not None:
                    turn.ledger.give_up(sentence)
                    await self._stop(turn)
                self._fail(turn, sentence)
        finally:
            if turn.ledger is not None:
                del self._turns[turn.ledger.thread_id]

    async def _converse(self, turn: CodexTurn) -> None:
        connection = await self._connected()
        thread = turn.thread = await self._open_thread(connection, turn)
        ledger = turn.ledger = TurnLedger(thread.thread.id)
        self._turns[ledger.thread_id] = turn
        params = turn_start(turn.request, turn.lanes, thread)
        turn.sent.append(SentRequest(TURN_START.name, params))
        # Once the request is out, the turn is Codex's, and only turn/interrupt ends it.
        with anyio.CancelScope(shield=True):
            started = await connection.server.client.call(TURN_START, params)
            self._push(turn, ledger.accept(started.turn))
            if turn.stopped:
                await self._stop(turn)
        await turn.buffer.wait()

    async def _open_thread(self, connection: _Connection, turn: CodexTurn) -> ThreadOpened:
        request, lanes, client = turn.request, turn.lanes, connection.server.client
        loaded = connection.opened.get(request.session_key)
        if loaded is not None:
            return loaded
        bound = await self._bindings.get(self._backend, request.session_key)
        if bound is not None:
            resumed = await self._resume(client, bound.conversation, turn)
            if resumed is not None:
                connection.opened[request.session_key] = resumed
                return resumed
        params = thread_start(request, lanes, self._settings.threads)
        turn.sent.append(SentRequest(THREAD_START.name, params))
        opened = await client.call(THREAD_START, params)
        connection.opened[request.session_key] = opened
        await self._bindings.put(Binding(self._backend, request.session_key, opened.thread.id))
        return opened

    async def _resume(self, client: Client, thread_id: str, turn: CodexTurn) -> ThreadOpened | None:
        """Load a thread from an earlier process; None when Codex no longer has it."""
        params = thread_resume(thread_id, turn.request, turn.lanes, self._settings.threads)
        turn.sent.append(SentRequest(THREAD_RESUME.name, params))
        try:
            return await client.call(THREAD_RESUME, params)
        except RpcError as error:
            # The server has one code for every refusal, so only its words tell that the thread is gone.
            if "no rollout found" not in error.message and "thread not found" not in error.message:
                raise
            turn.buffer.push(Notice("Codex no longer has this conversation; a new one was started."))
            return None

    # the server

    async def _connected(self) -> _Connection:
        async with self._starting:
            connection = self._connection
            if connection is None:
                connection = self._connection = await self._group.start(self._serve)
            return connection

    async def _serve(self, *, task_status: TaskStatus[_Connection]) -> None:
        """Keep one app-server for as long as it lives."""
        try:
            async with app_server(
                self._settings.launch,
                on_notification=self._on_notification,
                on_request=self._on_request,
                diagnostics=_Log(),
            ) as server:
                await self._check_account(server.client)
                if server.version.untested:
                    logger.warning(
                        "Codex %s is newer than every version this bridge was tested on", server.version.text
                    )
                connection = _Connection(server)
                task_status.started(connection)
                await server.client.closed.wait()
                self._connection = None
                logger.warning("the app-server (process %d) is gone: %s", server.pid, server.client.lost)
                for turn in list(self._turns.values()):
                    self._lose(turn, server.client.lost)
        finally:
            self._connection = None

    async def _check_account(self, client: Client) -> None:
        if self._settings.launch.provider is not None:
            return
        account = await client.call(ACCOUNT_READ, AccountReadParams())
        if account.account is None and account.requires_openai_auth:
            raise NotSignedInError(str(self._settings.launch.home.path), self._settings.agent)

    def _on_notification(self, notification: Notified) -> None:
        wire = read(notification)
        match wire:
            case ThreadClosed(thread_id=thread_id):
                if self._connection is not None:
                    self._connection.close(thread_id)
            case ConfigWarned(summary=summary) | Warned(message=summary, thread_id=None):
                logger.warning("codex: %s", summary)
            case _:
                self._route(wire, notification.params.get("threadId"))

    def _route(self, wire: Wire, thread_id: Json) -> None:
        turn = self._turns.get(thread_id) if isinstance(thread_id, str) else None
        if turn is not None and turn.ledger is not None:
            self._push(turn, turn.ledger.see(wire))

    async def _on_request(self, request: Requested) -> Json:
        answer = reply(request, self._now)
        if answer.notice:
            logger.warning("%s", answer.notice)
            if turn := self._turns.get(answer.thread_id):
                turn.buffer.push(Notice(answer.notice))
        return answer.result

    # what a turn's reader hears

    def _push(self, turn: CodexTurn, events: Iterable[TurnEvent]) -> None:
        for event in events:
            turn.buffer.push(event)

    def _fail(self, turn: CodexTurn, sentence: str) -> None:
        self._push(turn, _ledger_of(turn).fail(sentence))

    def _lose(self, turn: CodexTurn, error: CodexError | None) -> None:
        detail = error.detail if isinstance(error, ConnectionLostError) else ""
        cause = error.cause if isinstance(error, ConnectionLostError) else str(error)
        self._push(turn, _ledger_of(turn).lose(f"Codex stopped in the middle of this turn: {cause}.", detail))


class _Log:
    def junk(self, junk: Junk) -> None:
        logger.warning(
            "the app-server wrote a line that is no message (%s, %d bytes); it was skipped", junk.reason, junk.size
        )

    def stray(self, stray: Stray) -> None:
        logger.log(
            logging.INFO if stray.abandoned else logging.WARNING,
            "the app-server answered request %r, which is not open%s",
            stray.id,
            " any more" if stray.abandoned else "",
        )


def _ledger_of(turn: CodexTurn) -> TurnLedger:
    """The turn's ledger; one that ends it when it never got as far as a thread."""
    return turn.ledger or TurnLedger("")


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
        yield CodexHarness(settings, bindings, group, now)
