"""What Codex says of a thread when it is asked, so that silence is not taken for an end, nor a lost word for silence.

`thread/read` tells whether anything runs on a thread, of an ephemeral one too; how a turn ended is told by
`thread/turns/list`, of the others only (measured on both versions, `docs/measured.md`).
"""

import logging
from typing import Final

from codex_bridge.client import Client
from codex_bridge.errors import CodexError, RpcError
from codex_bridge.wire.besides import NO_TURNS, THREAD_READ, TURNS_LIST, ThreadReadParams, TurnsListParams
from codex_bridge.wire.requests import ThreadStatus, Turn

PROBE_DEADLINE: Final = 5.0
"""Seconds to wait for an answer unless somebody says otherwise; measured are 2 to 30 ms."""
ACTIVE: Final = "active"
"""The status of a thread on which something runs."""

logger = logging.getLogger("codex_bridge")


async def status_of(client: Client, thread_id: str, *, deadline: float = PROBE_DEADLINE) -> ThreadStatus | None:
    """Whether a thread is at work, as Codex has it; None when it does not say."""
    params = ThreadReadParams(thread_id=thread_id)
    try:
        read = await client.call(THREAD_READ, params, deadline=deadline)
    except CodexError as error:
        logger.warning("whether thread %s is at work: %s", thread_id, error)
        return None
    return read.thread.status


async def is_active(client: Client, thread_id: str, *, deadline: float = PROBE_DEADLINE) -> bool:
    """Whether something runs on a thread: a turn, or a compaction. No answer, or a refusal, counts as no."""
    status = await status_of(client, thread_id, deadline=deadline)
    return status is not None and status.type == ACTIVE


async def last_turn(client: Client, thread_id: str, *, deadline: float | None = None) -> Turn | None:
    """The last turn of a thread with all its items, as Codex has written it down; None for a thread without any.

    Args:
        client: The server.
        thread_id: The thread, not an ephemeral one: of such nothing is written down.
        deadline: See `Client.call`.

    Raises:
        CodexError: The server does not tell.
    """
    params = TurnsListParams(thread_id=thread_id, limit=1, items_view="full")
    try:
        listed = await client.call(TURNS_LIST, params, deadline=deadline)
    except RpcError as error:
        if error.code == NO_TURNS:
            return None
        raise
    return listed.data[0] if listed.data else None
