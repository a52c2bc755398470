"""The only place that waits on the wire: a `Peer` pumped over a `Transport`.

Answers wake the callers, notifications go to one plain function at once and in order, and each request of the server is
handled in a task of its own, so that a slow approval holds up nothing else. A transport that cannot hand over its
messages by itself gets a task to read and one to write.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup
from pydantic import ValidationError

from codex_bridge.errors import (
    CallTimeoutError,
    ConnectionLostError,
    OverloadedError,
    RefusalError,
    RpcError,
    TransportError,
    UnneededError,
    UnreadableAnswerError,
)
from codex_bridge.rpc import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    OVERLOADED,
    Answered,
    Event,
    Json,
    Junk,
    Notified,
    Peer,
    Refused,
    Requested,
    RequestId,
    Stray,
)
from codex_bridge.transports.base import DirectTransport, Transport
from codex_bridge.wire.base import Method, Received, Sent
from harness.tasks import beside

logger = logging.getLogger("codex_bridge")

Params = TypeVar("Params", bound=Sent)
Result = TypeVar("Result", bound=Received)

CALL_DEADLINE: Final = 30.0
"""Seconds to wait for an answer, retries included, unless the call or the connection says otherwise. The slowest call
measured is a cold thread/start at 0.7 s (protocol reference, section 8); a loaded machine may need many times that."""
MOST_IN_FLIGHT: Final = 64
"""Over about 100 open requests the app-server drops some without a word (protocol reference, section 8)."""
MOST_RETRIES: Final = 6
"""How often a request is sent again to an overloaded server."""
FIRST_RETRY: Final = 0.1
"""Seconds before the first retry; each later wait is at least twice the one before it was planned."""


class Diagnostics(Protocol):
    """Hears of what is odd on the wire but ends nothing."""

    def junk(self, junk: Junk) -> None:
        """A message was not JSON-RPC and was skipped."""
        ...

    def stray(self, stray: Stray) -> None:
        """An answer belonged to no open request."""
        ...


class Silent:
    """Diagnostics that nobody reads."""

    def junk(self, junk: Junk) -> None:
        """Ignore it."""

    def stray(self, stray: Stray) -> None:
        """Ignore it."""


NotificationHandler = Callable[[Notified], None]
RequestHandler = Callable[[Requested], Awaitable[Json]]


async def refuse_all(request: Requested) -> Json:
    """Request handler of a client that offers the server nothing."""
    raise RefusalError(METHOD_NOT_FOUND, f"{request.method} is not supported by this client")


def ignore_all(notification: Notified) -> None:
    """Notification handler of a client that only makes calls."""


def retry_delay(attempt: int, jitter: float) -> float:
    """Seconds before retry number `attempt` (from 0), for a `jitter` in [0, 1).

    The ranges of two attempts do not overlap, so the waits always grow.
    """
    return FIRST_RETRY * 2.0**attempt * (1 + jitter / 2)


_Outcome: TypeAlias = Answered | Refused | TransportError | None
"""What became of a request; None: its time is up."""


class Client:
    """A connection to an app-server. Make one with `connected`."""

    def __init__(
        self,
        transport: Transport,
        group: TaskGroup,
        *,
        on_notification: NotificationHandler,
        on_request: RequestHandler,
        diagnostics: Diagnostics,
        sleep: Callable[[float], Awaitable[None]],
        jitter: Callable[[], float],
        deadline: float = CALL_DEADLINE,
    ) -> None:
        self._transport = transport
        self._group = group
        self._peer = Peer()
        self._waiting: dict[RequestId, asyncio.Future[_Outcome]] = {}
        # A free slot is taken without giving way first, which would cost each turn a pass through the event loop.
        self._slots = anyio.Semaphore(MOST_IN_FLIGHT, fast_acquire=True)
        self._on_notification = on_notification
        self._on_request = on_request
        self._diagnostics = diagnostics
        self._sleep = sleep
        self._jitter = jitter
        self._deadline = deadline
        self._lost: TransportError | None = None
        self._direct = transport if isinstance(transport, DirectTransport) else None
        self._to_send = anyio.Event()
        self.closed = anyio.Event()
        """Set when the connection is over, for whatever reason."""

    @property
    def transport(self) -> Transport:
        """What carries the messages."""
        return self._transport

    @property
    def deadline(self) -> float:
        """Seconds for each call that does not say otherwise."""
        return self._deadline

    @property
    def lost(self) -> TransportError | None:
        """Why the connection is over, or None while it lasts."""
        return self._lost

    @property
    def in_flight(self) -> int:
        """Requests sent and not answered yet."""
        return len(self._peer.open_requests)

    async def call(self, method: Method[Params, Result], params: Params, *, deadline: float | None = None) -> Result:
        """Ask the server and wait for the typed result.

        Args:
            method: One of the constants of `codex_bridge.wire`.
            params: Its parameters.
            deadline: Seconds for the whole call: the wait for a free slot, the answer, and every retry. None: those of
                the connection.

        Raises:
            RpcError: The server refused; OverloadedError when it stayed overloaded.
            CallTimeoutError: No answer in time.
            ConnectionLostError: The server went away; the error names the method.
            UnreadableAnswerError: The answer lacks something that the method's result must have.
        """
        result = await self.raw_call(method.name, params.to_wire(), deadline=deadline)
        try:
            return method.result.read_from(result)
        except ValidationError as error:
            problem = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise UnreadableAnswerError(method.name, problem) from None

    async def raw_call(self, method: str, params: Json, *, deadline: float | None = None) -> Json:
        """Ask the server and wait for the result as JSON; see `call`."""
        deadline = self._deadline if deadline is None else deadline
        ends = asyncio.get_running_loop().time() + deadline
        attempt = 0
        while True:
            outcome = await self._ask(method, params, ends)
            if isinstance(outcome, Answered):
                return outcome.result
            if outcome is None:
                raise CallTimeoutError(method, deadline)
            if outcome.code != OVERLOADED:
                raise RpcError(method, outcome.code, outcome.message, outcome.data)
            if attempt == MOST_RETRIES:
                raise OverloadedError(method, outcome.code, outcome.message, outcome.data)
            with anyio.CancelScope(deadline=ends) as time_left:
                await self._sleep(retry_delay(attempt, self._jitter()))
            if time_left.cancelled_caught:
                raise CallTimeoutError(method, deadline)
            attempt += 1

    def notify(self, method: str, params: Json = None) -> None:
        """Tell the server something.

        Raises:
            ConnectionLostError: The server is gone.
        """
        self._check_open(method)
        self._peer.notify(method, params)
        self._send()

    async def _ask(self, method: str, params: Json, ends: float) -> Answered | Refused | None:
        """Send a request once and wait for what becomes of it, until `ends` by the clock of the event loop.

        Raises:
            TransportError: The connection is lost.
        """
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.CancelScope(deadline=ends) as time_left:
                await self._slots.acquire()
            if time_left.cancelled_caught:
                return None
        try:
            return await self._answer(method, params, ends)
        finally:
            self._slots.release()

    async def _answer(self, method: str, params: Json, ends: float) -> Answered | Refused | None:
        self._check_open(method)
        loop = asyncio.get_running_loop()
        request_id = self._peer.call(method, params)
        # No event and no cancel scope: together they cost as much as the whole of the rest of a call.
        waiting = self._waiting[request_id] = loop.create_future()
        timer = loop.call_at(ends, _settle, waiting, None)
        self._send()
        try:
            outcome: _Outcome = await waiting
        finally:
            timer.cancel()
            del self._waiting[request_id]
            self._peer.give_up(request_id)
        if isinstance(outcome, TransportError):
            raise _during(outcome, method)
        return outcome

    def _check_open(self, method: str) -> None:
        if self._lost is not None:
            raise _during(self._lost, method)

    def begin(self) -> None:
        """Begin to read. `connected` calls this."""
        if self._direct is not None:
            self._direct.attach(self._hear, self.end)
        else:
            self._group.start_soon(self._read)
            self._group.start_soon(self._write)

    def _hear(self, messages: list[bytes]) -> None:
        for message in messages:
            self._dispatch(self._peer.receive(message))

    async def _read(self) -> None:
        """Read until the connection ends, then wake everybody who waits."""
        try:
            while True:
                self._hear(await self._transport.receive())
        except TransportError as error:
            self.end(error)
        except BaseException:
            self.end(ConnectionLostError("the client was closed"))
            raise

    def _send(self) -> None:
        """Send what the peer has to say, without waiting.

        Where that would wait it is left to a task, since a caller that is cancelled in the middle of it would take
        other callers' messages with it.
        """
        if self._direct is None:
            self._to_send.set()
            return
        for message in self._peer.outgoing():
            self._direct.write(message)

    async def _write(self) -> None:
        try:
            while True:
                await self._to_send.wait()
                self._to_send = anyio.Event()
                for message in self._peer.outgoing():
                    await self._transport.send(message)
        except TransportError as error:
            self.end(error)

    def end(self, error: TransportError) -> None:
        """The connection is over: wake everybody who waits. Only the first time counts."""
        if self._lost is not None:
            return
        self._lost = error
        for waiting in self._waiting.values():
            _settle(waiting, error)
        self.closed.set()

    def _dispatch(self, event: Event) -> None:
        match event:
            case Notified():
                self._on_notification(event)
            case Answered() | Refused():
                waiting = self._waiting.get(event.id)
                if waiting is not None:
                    _settle(waiting, event)
            case Requested():
                self._group.start_soon(self._serve, event)
            case Junk():
                self._diagnostics.junk(event)
            case Stray():
                self._diagnostics.stray(event)

    async def _serve(self, request: Requested) -> None:
        try:
            self._peer.answer(request, await self._on_request(request))
        except RefusalError as error:
            self._peer.refuse(request, error.code, error.message)
        except UnneededError:
            self._peer.let_go(request)
        except Exception as error:
            # The boundary between handlers, which may be anybody's, and the wire: the server must get an answer.
            logger.exception("a request of Codex: %s", request.method)
            self._peer.refuse(request, INTERNAL_ERROR, f"{request.method} failed in the client: {type(error).__name__}")
        self._send()


def _settle(waiting: "asyncio.Future[_Outcome]", outcome: _Outcome) -> None:
    if not waiting.done():  # its caller may have been cancelled
        waiting.set_result(outcome)


def _during(error: TransportError, method: str) -> TransportError:
    if isinstance(error, ConnectionLostError):
        return ConnectionLostError(error.cause, doing=method, detail=error.detail)
    return error


@asynccontextmanager
async def connected(
    transport: Transport,
    *,
    on_notification: NotificationHandler = ignore_all,
    on_request: RequestHandler = refuse_all,
    diagnostics: Diagnostics | None = None,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    jitter: Callable[[], float] = random.random,
    deadline: float = CALL_DEADLINE,
) -> AsyncGenerator[Client]:
    """Talk over `transport` for as long as the block lasts; the transport is closed at its end.

    Args:
        transport: An open transport.
        on_notification: Called in the order of arrival; must not block and must not raise.
        on_request: Answers a request of the server, in a task of its own. A `RefusalError` becomes an error answer,
            and after an `UnneededError` there is none.
        diagnostics: Hears of junk and stray answers.
        sleep: Waits some seconds, before a retry.
        jitter: Gives a number in [0, 1), to spread retries.
        deadline: Seconds for each call that does not say otherwise.
    """
    async with beside() as group:
        client = Client(
            transport,
            group,
            on_notification=on_notification,
            on_request=on_request,
            diagnostics=diagnostics or Silent(),
            sleep=sleep,
            jitter=jitter,
            deadline=deadline,
        )
        client.begin()
        try:
            yield client
        finally:
            client.end(ConnectionLostError("the client was closed"))
            group.cancel_scope.cancel()  # before the transport goes, or its end would look like a loss
            with anyio.CancelScope(shield=True):
                await transport.aclose()
