"""The app-server of one home: started when somebody needs it, shared by all, started anew after it is gone.

A home has one server, since two would lock each other's databases out. Who has a lease on it hears all that concerns
the own threads; the death of the server is everybody's, and nobody's end is another one's.
"""

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
    ConnectError,
    ConnectionLostError,
    ServerRestsError,
    TransportError,
    cause_of,
    last_words_of,
)
from codex_bridge.process import Launch, Server, Source, app_server
from codex_bridge.restarts import Patience, Restarts
from codex_bridge.rpc import Json, Junk, Notified, Requested, Stray
from codex_bridge.wire.requests import ACCOUNT_READ, AccountReadParams
from harness.errors import THE_LOG
from harness.lean_values import dataclass
from harness.timing import Clock

PING_DEADLINE: Final = 5.0
"""Seconds for a trivial call, before a server that let another call time out is taken for hung."""

logger = logging.getLogger("codex_bridge")


class NobodySignedInError(CodexError):
    """The provider wants an account, and the server has none; `servers.Servers` says how an agent is signed in."""


@dataclass(slots=True)
class Life:
    """One app-server from its handshake to its end."""

    server: Server
    account: str = ""
    """A digest of the account that the home is signed in to; empty when the provider needs none."""
    worked: bool = False
    """Whether a turn has come to its end on it."""
    retired: bool = False
    """Whether we closed it."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who has a lease on a server."""

    hear: NotificationHandler
    """Takes in what the server says."""
    answer: RequestHandler
    """Answers what the server asks."""
    lose: Callable[[Life], None]
    """Hears that the server is gone."""
    owns: Callable[[str], bool]
    """Whether what is said of a thread, by its id, is its business and nobody else's."""
    busy: Callable[[], bool]
    """Whether it has anything at work on the server."""


@dataclass(slots=True)
class _Attempt:
    """One start of a server, for everybody who waits for it."""

    done: anyio.Event = field(default_factory=anyio.Event)
    life: Life | None = None
    error: CodexError | None = None


class Host:
    """Keeps at most one app-server running.

    Args:
        group: Where the server is looked after.
        source: Where it comes from.
        now: The time in Unix seconds.
        clock: What pauses go by.
        patience: How often and how soon a server that died is started again.
        one_process: Held while a server of the home runs; None for a home that nobody else looks after.
    """

    def __init__(
        self,
        group: TaskGroup,
        source: Source,
        now: Callable[[], float],
        clock: Clock,
        patience: Patience,
        one_process: anyio.Lock | None = None,
    ) -> None:
        self.source = source
        self._group = group
        self._now = now
        self._clock = clock
        self._restarts = Restarts(patience)
        self._last_words = ""
        self._attempt: _Attempt | None = None
        # A thread can be loaded by one process only, so a new server waits until the old one has let go.
        self._one_process = one_process or anyio.Lock()
        self._closed = False
        self._listeners: list[Listener] = []
        self.life: Life | None = None
        """The server that runs, or None."""

    # who has a lease

    @property
    def leases(self) -> int:
        """How many run on it."""
        return len(self._listeners)

    @property
    def idle(self) -> bool:
        """Whether nobody has anything at work on the server."""
        return not any(each.busy() for each in self._listeners)

    def join(self, listener: Listener) -> None:
        """Run on this server from now on."""
        self._listeners.append(listener)

    def leave(self, listener: Listener) -> None:
        """Run on it no more; twice is harmless. The server stays, see `close`."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    async def close(self) -> None:
        """End the server, or the connection to it, for good."""
        self._closed = True
        if self.life is not None:
            self.life.retired = True
            await self.life.server.client.transport.aclose()

    # the server

    async def get(self) -> Life:
        """The running server; starts one if there is none, once for everybody who asks meanwhile.

        One that died again and again is waited for a little longer each time, see `restarts`.

        Raises:
            ServerRestsError: It died so often that it is not started now.
            NobodySignedInError: It has no account, and the provider wants one.
            CodexError: It could not be started; see `CodexHarness.ready`.
        """
        if self.life is not None and self.life.server.client.lost is None:
            return self.life
        attempt = self._attempt
        if attempt is None:
            wait = self._restarts.next_start() - self._clock.time()
            if self._restarts.rests and wait > 0:
                raise ServerRestsError(self._restarts.deaths, self._restarts.words, wait, self._last_words)
            attempt = self._attempt = _Attempt()
            self._group.start_soon(self._serve, attempt)
        await attempt.done.wait()
        if attempt.life is not None:
            return attempt.life
        raise attempt.error or ConnectionLostError("the gateway is shutting down")

    async def retire(self, life: Life, why: str) -> None:
        """Close a server that cannot be trusted any more; whoever needs one next gets a new one."""
        logger.warning("the app-server on %s is replaced: %s", life.server.name, why)
        life.retired = True
        await life.server.client.transport.aclose()

    async def retire_if_hung(self, life: Life) -> None:
        """Ask something trivial, and close the server when even that is not answered."""
        if not await answers(life.server.client):
            await self.retire(life, f"it answers nothing, not even within {PING_DEADLINE:g} s")

    async def _serve(self, attempt: _Attempt) -> None:
        """Keep one app-server for as long as it lives."""
        life: Life | None = None
        started = self._clock.time()
        try:
            if (start_at := self._restarts.next_start()) > started:
                await _until(self._clock, start_at)
                started = self._clock.time()
            async with (
                self._one_process,
                app_server(
                    self.source,
                    on_notification=self._hear,
                    on_request=self._answer,
                    diagnostics=_Log(),
                    now=self._now,
                ) as server,
            ):
                account = await self._check_account(server.client)
                if self._closed:
                    return
                if server.version.warning:
                    logger.warning("%s", server.version.warning)
                life = self.life = attempt.life = Life(server, account)
                self._settle(attempt)
                await server.client.closed.wait()
                self.life = None
                if life.retired:
                    logger.info("the app-server on %s is closed", server.name)
                else:
                    logger.warning("the app-server on %s is gone: %s", server.name, server.client.lost)
                    self._died(server.client.lost, started, worked=life.worked)
                self._tell_loss(life)
        except CodexError as error:
            attempt.error = error
            if isinstance(error, TransportError | CallTimeoutError):
                self._died(error, started)
        except OSError as error:  # of the disk, mostly
            attempt.error = ConnectError(f"The app-server could not be started: {error.strerror or error}.")
        except Exception:
            # The boundary of a server: whatever breaks here must end it, and not the gateway.
            logger.exception("the app-server of %s", self.source)
            attempt.error = broken = ConnectError(f"The bridge had an internal error with Codex; {THE_LOG}.")
            self._died(broken, started)
            if life is not None and self.life is life:
                self.life = None
                self._tell_loss(life)
        finally:
            if self.life is life:
                self.life = None
            self._settle(attempt)

    def _tell_loss(self, life: Life) -> None:
        for listener in tuple(self._listeners):
            try:
                listener.lose(life)
            except Exception:
                # As at every boundary: the others have to hear of it all the same.
                logger.exception("the loss of the app-server on %s", life.server.name)

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
        if isinstance(self.source, Launch) and self.source.provider is not None:
            return ""
        account = await client.call(ACCOUNT_READ, AccountReadParams())
        if account.account is None and account.requires_openai_auth:
            raise NobodySignedInError("Nobody is signed in")
        if account.account is None:
            return ""
        return sha256(f"{account.account.type} {account.account.email or ''}".encode()).hexdigest()[:16]

    # what it says

    def _hear(self, notification: Notified) -> None:
        listeners = self._listeners
        if len(listeners) > 1:
            listeners = self._whose(notification.params.get("threadId"))
        for each in listeners:
            each.hear(notification)

    async def _answer(self, request: Requested) -> Json:
        whose = self._whose(request.params.get("threadId"))
        if not whose:
            raise ConnectionLostError("nobody uses the server any more")  # answered as a failure of ours
        return await whose[0].answer(request)

    def _whose(self, thread_id: Json) -> list[Listener]:
        """Who is concerned: the one whose thread it is, or everybody when nobody says so."""
        if len(self._listeners) < 2 or not isinstance(thread_id, str):
            return self._listeners
        return [each for each in self._listeners if each.owns(thread_id)] or self._listeners


async def answers(client: Client) -> bool:
    """Whether a server answers something trivial; also one that is gone by now, which needs nothing more."""
    try:
        await client.call(ACCOUNT_READ, AccountReadParams(), deadline=PING_DEADLINE)
    except CallTimeoutError:
        return False
    except CodexError:
        pass
    return True


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
