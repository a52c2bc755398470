"""A turn that a server went on with after the connection to it was lost.

A child dies with its pipes, and its turn with it. A server that somebody else runs lives on, and so does the turn,
though its chat was told that it is lost: a message sent now would silently join it (protocol reference, section 2).
"""

from contextlib import suppress
from typing import Final

import anyio

from codex_bridge.active_turn import another_turn, is_idle
from codex_bridge.client import Client
from codex_bridge.errors import RpcError
from codex_bridge.marks import read_mark
from codex_bridge.wire.besides import THREAD_READ, TURNS_LIST, ThreadReadParams, TurnsListParams
from codex_bridge.wire.items import UserMessageItem
from codex_bridge.wire.requests import TURN_INTERRUPT, Thread, TurnInterruptParams

STOP_WITHIN: Final = 5.0
"""Seconds for such a turn to end; measured are 30 ms."""
LOOK_AGAIN: Final = 0.02


def is_at_work(thread: Thread) -> bool:
    """Whether a turn runs on a thread."""
    return thread.status is not None and thread.status.type == "active"


async def stopped(client: Client, thread: Thread) -> bool:
    """Stop the turn that runs on a thread, if it is one of ours; tells whether the thread is free now.

    Raises:
        CodexError: The server does not answer, or went away.
    """
    with anyio.move_on_after(STOP_WITHIN):
        # A turn that only just began has no message yet, some milliseconds long.
        while not (said := await _said(client, thread)):
            if not is_at_work(await _look(client, thread)):
                return True
            await anyio.sleep(LOOK_AGAIN)
        if not any(read_mark(item.client_id) for item in said):
            return False  # another client of the server began it
    with suppress(RpcError):  # it has ended by itself, which the next look shows
        # The empty id also stops a turn that is only just starting, and one turn runs on a thread at a time.
        await client.call(TURN_INTERRUPT, TurnInterruptParams(thread_id=thread.id, turn_id=""), deadline=STOP_WITHIN)
    with anyio.move_on_after(STOP_WITHIN):
        # Its end may have been told before we listened, so it is asked for.
        while is_at_work(await _look(client, thread)):  # noqa: ASYNC110
            await anyio.sleep(LOOK_AGAIN)
        return True
    return False


async def interrupted(client: Client, thread_id: str, turn_id: str) -> None:
    """Interrupt a turn that nobody follows any more, until it is over.

    The thread need not be loaded for that by who asks, and may be an ephemeral one (measured on both versions).

    Args:
        client: The server.
        thread_id: The thread.
        turn_id: The turn; empty for whatever runs there, of a thread that is one turn's alone.

    Raises:
        CodexError: The server does not answer, or went away, or does not have the thread.
    """
    params, thread = TurnInterruptParams(thread_id=thread_id, turn_id=turn_id), Thread(id=thread_id)
    with anyio.move_on_after(STOP_WITHIN):
        while True:
            try:
                await client.call(TURN_INTERRUPT, params, deadline=STOP_WITHIN)
            except RpcError as error:
                if is_idle(error) or another_turn(error):
                    return
            # A turn/start that was on its way when the connection broke may begin its turn just now.
            await anyio.sleep(LOOK_AGAIN)
            if not is_at_work(await _look(client, thread)):
                return


async def _said(client: Client, thread: Thread) -> list[UserMessageItem]:
    """What was said in the turn that runs on a thread, as far as it is written down."""
    last = await client.call(TURNS_LIST, TurnsListParams(thread_id=thread.id, limit=1))
    running = [turn for turn in last.data if turn.status == "inProgress"]
    return [item for turn in running for item in turn.items if isinstance(item, UserMessageItem)]


async def _look(client: Client, thread: Thread) -> Thread:
    return (await client.call(THREAD_READ, ThreadReadParams(thread_id=thread.id))).thread
