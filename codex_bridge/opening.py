"""Requests that load a thread, which are waited for as long as the server is alive.

An MCP server that the home requires may hold them up until its own time is over, while everything else is answered
(measured). One that is given up is carried out all the same, and the next message would begin a second thread.
"""

import logging
from typing import Final, TypeVar

import anyio

from codex_bridge.client import Client
from codex_bridge.errors import CallTimeoutError
from codex_bridge.hosts import answers
from codex_bridge.wire.base import Method, Sent
from codex_bridge.wire.requests import ThreadOpened
from harness.tasks import beside

OPENING_DEADLINE: Final = 180.0
"""Seconds to wait at most for a server that answers all else. Our choice: users saw 40, with one broken MCP server."""

Params = TypeVar("Params", bound=Sent)
logger = logging.getLogger("codex_bridge")


async def open_thread(client: Client, method: Method[Params, ThreadOpened], params: Params) -> ThreadOpened:
    """Have a thread loaded.

    Raises:
        CallTimeoutError: The server is not alive after the ordinary deadline, or the thread is not loaded after all.
        CodexError: See `Client.call`.
    """
    async with beside() as group:
        with anyio.CancelScope() as alive:
            group.start_soon(_watch, client, method.name, alive)
            return await client.call(method, params, deadline=max(OPENING_DEADLINE, client.deadline))
    raise CallTimeoutError(method.name, client.deadline)


async def _watch(client: Client, method: str, alive: anyio.CancelScope) -> None:
    """Ask the server something else each time that the ordinary deadline has passed."""
    while True:
        await anyio.sleep(client.deadline)
        if not await answers(client):
            alive.cancel()
            return
        logger.warning("%s takes more than %g s, while the app-server answers all else", method, client.deadline)
