"""What a thread that is loaded again really holds, and how its last turn really ended.

Codex is asked, and its files are read: what an earlier process noted of the thread may be less, or more, than what its
server had time to write down.
"""

import logging
from dataclasses import replace

from codex_bridge.aftermath import after_restart
from codex_bridge.client import Client
from codex_bridge.compatibility import UNKNOWN
from codex_bridge.errors import CodexError
from codex_bridge.probe import last_turn
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import Thread
from codex_bridge.written import kept, last_message
from harness.errors import StoreError
from harness.store.bindings import Bindings
from harness.store.bound import Basis, Binding, Holds
from harness.turns import Notice

logger = logging.getLogger(__name__)


def known(held: Basis, now: Basis) -> Basis:
    """What a thread was begun with, as far as it is known, and what holds now for the rest."""
    return Basis(
        held.cwd or now.cwd,
        held.model or now.model,
        held.provider or now.provider,
        held.account or now.account,
        held.loading or now.loading,
    )


async def really_ended(client: Client, thread_id: str, noted: str, *, at: float) -> str:
    """How the last turn of a thread that is loaded again was ended; one that broke off may be noted nowhere yet.

    Args:
        client: The server.
        thread_id: The thread.
        noted: What is noted of that, see `aftermath`.
        at: The time, in Unix seconds.
    """
    try:
        last = await last_turn(client, thread_id)
    except CodexError as error:
        logger.warning("how the last turn of %s ended: %s", thread_id, error)
        return noted
    return after_restart(noted, last, at=at)


async def really_held(bindings: Bindings, bound: Binding, thread: Thread, turn: CodexTurn) -> Holds:
    """What a thread that is loaded again was told, by what Codex has written down.

    A server that is killed, or a disk that is full, may cost a thread its last turns, and a loss may leave open
    whether it has one. What it lacks is quoted to it, and what it has is not said twice.
    """
    if bound.holds.developer == UNKNOWN or not bindings.last(turn.key):
        return bound.holds  # a thread that somebody else began, or a chat in which nothing was said
    try:
        return await _compared(bindings, bound, thread, turn)
    except (StoreError, OSError) as error:
        logger.warning("whether %s has all its turns: %s", thread.id, error)
        return bound.holds


async def _compared(bindings: Bindings, bound: Binding, thread: Thread, turn: CodexTurn) -> Holds:
    key, newest = turn.key, bindings.last(turn.key)
    last = await last_message(thread)
    # What a turn that was lost just as it was written down was told of the chat, though its message is not there.
    quoted = last.quoted if last is not None and last.quoted <= newest else 0
    if last is None or last.mark is None or last.mark.heard > newest:
        # Nothing, the message of another program, or one that tells of another store than this.
        return replace(bound.holds, heard=max(bound.holds.heard, quoted)) if quoted else bound.holds
    rows = await bindings.turns_since(key, thread.id, last.mark.heard)
    found = await kept(thread, {last.turn, *rows})
    if last.turn not in found:
        return bound.holds  # a form that we do not know
    heard = max(last.mark.heard, quoted)
    has = rows & found
    gone = await bindings.correct(key, thread.id, has=has | {last.mark.key}, lacks=rows - has)
    if not gone:
        return replace(bound.holds, heard=heard)
    quotes = "the next message" if turn.compacts else "this turn"
    turn.buffer.push(Notice(f"Codex has lost the end of this conversation; {quotes} quotes what was said there."))
    # Nobody knows which of the quoted files went with it.
    return replace(bound.holds, heard=heard, context="")
