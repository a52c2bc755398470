"""The app-servers of a gateway with several agents: one for each home, for as long as somebody runs on it.

Agents with homes of their own have servers of their own; agents that share a home share its server, since two would
lock each other's databases out. The places for turns are shared by all.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from codex_bridge.bridge import CodexHarness, CodexSettings, leased
from codex_bridge.errors import CodexError
from codex_bridge.hosts import Host
from codex_bridge.process import Launch, Source
from harness.store.bindings import Bindings
from harness.tasks import beside, guarded
from harness.timing import Clock, Timer
from harness.turn_limit import TurnLimit

GRACE: Final = 30.0
"""Seconds that a server stays when nobody runs on it any more. Our choice: an agent whose configuration is read anew
comes back at once, and a server costs 80 MB."""


class SharedHomeError(CodexError):
    """Two agents have one home, and want different servers of it."""

    def __init__(self, home: str, agent: str, others: str) -> None:
        super().__init__(
            f"Agent {agent!r} shares the Codex home {home} with {others}, whose server has other settings; "
            "give them the same binary, provider and options, or a home of its own."
        )


class CodexPool:
    """Runs agents on the servers of their homes; make one with `codex_pool`.

    Args:
        group: Where the servers are looked after.
        limit: How many turns run at once, over all agents.
        grace: Seconds that a server stays when nobody runs on it any more.
        now: The time in Unix seconds.
        clock: What deadlines and pauses go by.
    """

    def __init__(
        self, group: TaskGroup, limit: TurnLimit | None, grace: float, now: Callable[[], float], clock: Clock
    ) -> None:
        self.limit = limit
        self._group = group
        self._grace = grace
        self._now = now
        self._clock = clock
        self._hosts: dict[str, Host] = {}
        self._one_process: dict[str, anyio.Lock] = {}
        """Of each home, so that a new server waits until the one before has ended."""
        self._closing: dict[str, Timer] = {}
        self._agents: dict[CodexHarness, tuple[str, str]] = {}
        """The home and the agent of each harness."""
        self._closed = False

    @property
    def harnesses(self) -> tuple[CodexHarness, ...]:
        """Those that have a lease, in the order in which they came."""
        return tuple(self._agents)

    @asynccontextmanager
    async def lease(self, settings: CodexSettings, bindings: Bindings) -> AsyncGenerator[CodexHarness]:
        """Offer Codex as a backend to one agent for as long as the block lasts, see `codex_harness`.

        Agents that come and go on their own each have their block in a task of its own: in one task, blocks nest.

        Args:
            settings: What to run.
            bindings: Where conversations are remembered; agents may share one.

        Raises:
            SharedHomeError: The agent shares a home, and wants another server of it than is there.
        """
        home = _home_of(settings.launch)
        host = self._host(home, settings)
        try:
            async with leased(settings, bindings, host, now=self._now, clock=self._clock, limit=self.limit) as harness:
                self._agents[harness] = (home, settings.agent)
                try:
                    yield harness
                finally:
                    del self._agents[harness]
        finally:  # also when the block of the agent breaks off
            if not host.leases and not self._closed:
                at = self._clock.time() + self._grace
                self._closing[home] = self._clock.call_at(
                    at, lambda: self._group.start_soon(guarded, self._close, home, host)
                )

    async def drain(self, seconds: float | None = None) -> None:
        """Take no more turns of any agent, and see to the end of those that there are, see `CodexHarness.drain`."""
        async with anyio.create_task_group() as group:
            for harness in self.harnesses:
                group.start_soon(harness.drain, seconds)

    def close(self) -> None:
        """Close nothing later any more; `codex_pool` calls this at the end of its block."""
        self._closed = True
        for timer in self._closing.values():
            timer.cancel()
        self._closing.clear()

    async def _close(self, home: str, host: Host) -> None:
        self._closing.pop(home, None)
        if not host.leases and self._hosts.get(home) is host:
            del self._hosts[home]
            await host.close()

    def _host(self, home: str, settings: CodexSettings) -> Host:
        if (timer := self._closing.pop(home, None)) is not None:
            timer.cancel()
        host = self._hosts.get(home)
        if host is not None and host.source != settings.launch:
            if host.leases:
                others = " and ".join(repr(agent) for where, agent in self._agents.values() if where == home)
                raise SharedHomeError(home, settings.agent, others)
            self._group.start_soon(guarded, host.close)
            host = None
        if host is None:
            one_process = self._one_process.setdefault(home, anyio.Lock())
            host = self._hosts[home] = Host(
                self._group, settings.launch, self._now, self._clock, settings.patience, one_process
            )
        return host


def _home_of(source: Source) -> str:
    """What a server is known by: of one home there is one, and so there is of an address of somebody else's."""
    return os.path.realpath(source.home.path) if isinstance(source, Launch) else source.address


@asynccontextmanager
async def codex_pool(
    *,
    limit: TurnLimit | None = None,
    grace: float = GRACE,
    now: Callable[[], float] = time.time,
    clock: Clock | None = None,
) -> AsyncGenerator[CodexPool]:
    """Offer Codex to several agents for as long as the block lasts, at whose end all servers are shut down.

    Args:
        limit: How many turns run at once, over all agents; None for as many as come.
        grace: Seconds that a server stays when nobody runs on it any more.
        now: The time in Unix seconds.
        clock: What deadlines and pauses go by; the running loop by default.
    """
    async with beside() as group:
        pool = CodexPool(group, limit, grace, now, clock or asyncio.get_running_loop())
        try:
            yield pool
        finally:
            pool.close()
