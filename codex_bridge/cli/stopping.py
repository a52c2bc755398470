"""A command that is told to stop: its turns come to their end first, within the time that the configuration gives."""

import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from codex_bridge.bridge import CodexHarness
from harness.tasks import beside


@asynccontextmanager
async def drained_by_sigterm(harness: CodexHarness) -> AsyncGenerator[None]:
    """Let SIGTERM end the turns of the block: those that run within the time for that, at a second one at once.

    The block goes on, and says what came of them.
    """
    with anyio.open_signal_receiver(signal.SIGTERM) as told:
        async with beside() as group:

            async def drain() -> None:
                seconds: float | None = None
                async for _ in told:
                    group.start_soon(harness.drain, seconds)
                    seconds = 0.0

            group.start_soon(drain)
            yield


async def until_stopped(harness: CodexHarness, work: Callable[[], Awaitable[object]]) -> None:
    """Do something without an end, until SIGINT or SIGTERM; a second one does not wait for the turns that run.

    SIGINT counts also where whoever started us has it ignored.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as told:
        async with beside() as group:

            async def drain() -> None:
                await harness.drain()
                group.cancel_scope.cancel()

            async def listen() -> None:
                draining = False
                async for _ in told:
                    if draining:
                        group.cancel_scope.cancel()
                    draining = True
                    group.start_soon(drain)

            group.start_soon(listen)
            await work()
