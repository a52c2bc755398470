"""The app-server of one agent: started when somebody needs it, shared by all, started anew after it is gone."""

import logging
from collections.abc import Callable
from dataclasses import field
from hashlib import sha256
from random import random
from typing import Final

import anyio
from anyio.abc import TaskGroup

from codex_bridge.client import Client, NotificationHandler, RequestHandler
from codex_bridge.errors import (
    CallTimeoutError,
    CodexError,
    ConnectionLostError,
    NotSignedInError,
    ServerNotSignedInError,
    ServerRestsError,
    TransportError,
    cause_of,
    last_words_of,
)
from codex_bridge.held import OpenThread
from codex_bridge.process import Launch, Server, Source, app_server, login_of
from codex_bridge.restarts import Patience, Restarts
from codex_bridge.rpc import Junk, Stray
from codex_bridge.timing import Clock
from codex_bridge.wire.requests import ACCOUNT_READ, AccountReadParams
from harness.lean_values import dataclass

PING_DEADLINE: Final = 5.0
"""Seconds for a trivial call, before a server that let another call time out is taken for hung."""

logger = logging.getLogger("codex_bridge")


@dataclass(slots=True)
class Connection:
    """A running app-server and the threads it has loaded, by the conversation they belong to."""

    server: Server
    account: str = ""
    """A digest of the account that the home is signed in to; empty when the provider needs none."""
    threads: dict[str, OpenThread] = field(default_factory=dict[str, OpenThread])
    untold: str = ""
    """What is odd about the server; its first turn tells it."""
    worked: bool = False
    """Whether a turn has come to its end on it."""
    left: set[str] = field(default_factory=set[str])
    """Threads that nobody uses again, and that are loaded still."""
    retired: bool = False
    """Whether we closed it."""

    def key_of(self, thread_id: str) -> str | None:
        """The conversation that a loaded thread belongs to; None for a thread that is not ours, a subagent's say."""
        return next((key for key, thread in self.threads.items() if thread.opened.thread.id == thread_id), None)


@dataclass(slots=True)
class _Attempt:
    """One start of a server, for everybody who waits for it."""

    done: anyio.Event = field(default_factory=anyio.Event)
    connection: Connection | None = None
    error: CodexError | None = None


class Servers:
    """Keeps at most one app-server running."""

    def __init__(
        self,
        group: TaskGroup,
        source: Source,
        agent: str,
        *,
        on_notification: NotificationHandler,
        on_request: RequestHandler,
        on_loss: Callable[[Connection], None],
        now: Callable[[], float],
        clock: Clock,
        patience: Patience,
    ) -> None:
        self._group = group
        self._source = source
        self._agent = agent
        self._on_notification = on_notification
        self._on_request = on_request
        self._on_loss = on_loss
        self._now = now
        self._clock = clock
        self._restarts = Restarts(patience)
        self._last_words = ""
        self._attempt: _Attempt | None = None
        # A thread can be loaded by one process only, so a new server waits until the old one has let go.
        self._one_process = anyio.Lock()
        self.current: Connection | None = None
        """The server that runs, or None."""

    async def get(self) -> Connection:
        """The running server; starts one if there is none, once for everybody who asks meanwhile.

        One that died again and again is waited for a little longer each time, see `restarts`.

        Raises:
            ServerRestsError: It died so often that it is not started now.
            CodexError: It could not be started; see `CodexHarness.ready`.
        """
        if self.current is not None and self.current.server.client.lost is None:
            return self.current
        attempt = self._attempt
        if attempt is None:
            wait = self._restarts.next_start() - self._clock.time()
            if self._restarts.rests and wait > 0:
                raise ServerRestsError(self._restarts.deaths, self._restarts.words, wait, self._last_words)
            attempt = self._attempt = _Attempt()
            self._group.start_soon(self._serve, attempt)
        await attempt.done.wait()
        if attempt.connection is not None:
            return attempt.connection
        raise attempt.error or ConnectionLostError("the gateway is shutting down")

    async def retire(self, connection: Connection, why: str) -> None:
        """Close a server that cannot be trusted any more; whoever needs one next gets a new one."""
        logger.warning("the app-server on %s is replaced: %s", connection.server.name, why)
        connection.retired = True
        await connection.server.client.transport.aclose()

    async def retire_if_hung(self, connection: Connection) -> None:
        """Ask something trivial, and close the server when even that is not answered."""
        try:
            await connection.server.client.call(ACCOUNT_READ, AccountReadParams(), deadline=PING_DEADLINE)
        except CallTimeoutError:
            await self.retire(connection, f"it answers nothing, not even within {PING_DEADLINE:g} s")
        except CodexError:
            pass  # it answered, or is gone already

    async def _serve(self, attempt: _Attempt) -> None:
        """Keep one app-server for as long as it lives."""
        connection: Connection | None = None
        started = self._clock.time()
        try:
            if (start_at := self._restarts.next_start()) > started:
                await _until(self._clock, start_at)
                started = self._clock.time()
            async with (
                self._one_process,
                app_server(
                    self._source,
                    on_notification=self._on_notification,
                    on_request=self._on_request,
                    diagnostics=_Log(),
                    now=self._now,
                ) as server,
            ):
                account = await self._check_account(server.client)
                untold = server.version.warning
                if untold:
                    logger.warning("%s", untold)
                connection = self.current = attempt.connection = Connection(server, account, untold=untold)
                self._settle(attempt)
                await server.client.closed.wait()
                self.current = None
                logger.warning("the app-server on %s is gone: %s", server.name, server.client.lost)
                if not connection.retired:
                    self._died(server.client.lost, started, worked=connection.worked)
                self._on_loss(connection)
        except CodexError as error:
            attempt.error = error
            if isinstance(error, TransportError | CallTimeoutError):
                self._died(error, started)
        finally:
            if self.current is connection:
                self.current = None
            self._settle(attempt)

    def _died(self, error: CodexError | None, started: float, *, worked: bool = False) -> None:
        lost = error if isinstance(error, TransportError) else None
        words, self._last_words = cause_of(lost) if lost is not None else str(error), last_words_of(lost)
        now, jitter = self._clock.time(), random()  # noqa: S311 - spreads starts, and is no secret
        self._restarts.died(now, started=started, worked=worked, words=words.rstrip("."), jitter=jitter)

    def _settle(self, attempt: _Attempt) -> None:
        if self._attempt is attempt:
            self._attempt = None
        attempt.done.set()

    async def _check_account(self, client: Client) -> str:
        """Make sure that somebody is signed in if the provider wants that; gives a digest of who it is."""
        source = self._source
        if isinstance(source, Launch) and source.provider is not None:
            return ""
        account = await client.call(ACCOUNT_READ, AccountReadParams())
        if account.account is None and account.requires_openai_auth:
            login = login_of(source, self._agent)
            if isinstance(source, Launch):
                raise NotSignedInError(str(source.home.path), self._agent, login, owned=source.home.owned)
            raise ServerNotSignedInError(source.name, self._agent, login)
        if account.account is None:
            return ""
        return sha256(f"{account.account.type} {account.account.email or ''}".encode()).hexdigest()[:16]


async def _until(clock: Clock, when: float) -> None:
    """Wait until that time."""
    over = anyio.Event()
    timer = clock.call_at(when, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()


class _Log:
    def junk(self, junk: Junk) -> None:
        logger.warning(
            "the app-server sent %d bytes that are no message (%s); they were skipped", junk.size, junk.reason
        )

    def stray(self, stray: Stray) -> None:
        logger.log(
            logging.INFO if stray.abandoned else logging.WARNING,
            "the app-server answered request %r, which is not open%s",
            stray.id,
            " any more" if stray.abandoned else "",
        )
