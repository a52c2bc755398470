"""The requests that load a thread for a turn: thread/start and thread/resume.

They are waited for as long as the server is alive. An MCP server that the home requires may hold them up until its own
time is over, while everything else is answered (measured). One that is given up is carried out all the same, and the
next message would begin a second thread.
"""

import logging
from typing import Final, TypeVar

import anyio

from codex_bridge.client import Client
from codex_bridge.errors import CallTimeoutError, RpcError
from codex_bridge.failures import RULES, Rule, trouble_of
from codex_bridge.hosts import answers
from codex_bridge.params import ThreadSettings, thread_resume, thread_start, without_variables
from codex_bridge.rules_read import plan_by_rules
from codex_bridge.servers import Connection
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.wire.base import Method, Sent
from codex_bridge.wire.requests import THREAD_RESUME, THREAD_START, ThreadOpened
from harness.store.bound import Binding
from harness.tasks import beside

OPENING_DEADLINE: Final = 180.0
"""Seconds to wait at most for a server that answers all else. Our choice: users saw 40, with one broken MCP server."""
BUSY_PAUSE: Final = 0.25
"""Seconds before a thread that is busy for the moment is asked for once more."""

Params = TypeVar("Params", bound=Sent)
logger = logging.getLogger("codex_bridge")


async def start_thread(connection: Connection, turn: CodexTurn, settings: ThreadSettings) -> ThreadOpened:
    """Begin a new thread for a turn, without what Codex refuses of its tools.

    Raises:
        CodexError: The server refused, or went away.
    """
    try:
        return await _start(connection, turn, settings)
    except RpcError as refused:
        from codex_bridge.tool_refusals import blames_tools, start_with_less  # no known version gets here

        if not blames_tools(refused, turn):
            raise
        return await start_with_less(refused, connection, turn, lambda: _start(connection, turn, settings))


async def _start(connection: Connection, turn: CodexTurn, settings: ThreadSettings) -> ThreadOpened:
    plan_by_rules(turn, reads_rules=settings.reads_rules)
    params = thread_start(
        turn.request,
        turn.lanes,
        settings,
        tools=turn.tools.specs,
        ephemeral=turn.aside,
        window=connection.server.capabilities.context_tokens(turn.request.model or ""),
    )
    turn.sent.append(SentRequest(THREAD_START.name, without_variables(params)))
    return await open_thread(connection.server.client, THREAD_START, params)


async def resume_thread(
    bound: Binding, connection: Connection, turn: CodexTurn, settings: ThreadSettings
) -> ThreadOpened:
    """Load the thread of a conversation for a turn, and try once more when it is busy for the moment.

    Raises:
        CodexError: The server refused, or went away.
    """
    plan_by_rules(turn, reads_rules=settings.reads_rules)
    model = turn.request.model or bound.basis.model
    window = connection.server.capabilities.context_tokens(model)
    params = thread_resume(bound.conversation, turn.request, turn.lanes, settings, window=window)
    turn.sent.append(SentRequest(THREAD_RESUME.name, without_variables(params)))
    try:
        return await open_thread(connection.server.client, THREAD_RESUME, params)
    except RpcError as error:
        if RULES[trouble_of(error)] is not Rule.AGAIN:
            raise
    await anyio.sleep(BUSY_PAUSE)
    return await open_thread(connection.server.client, THREAD_RESUME, params)


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
