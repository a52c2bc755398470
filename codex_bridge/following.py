"""Turns that an earlier process of the gateway began, and that a server goes on with which outlived it.

Nobody streams them: their messages are answered late, once they are over. What they ask is answered all the same, which
takes a subscription to their threads: then the server repeats what is open (measured on both versions).
"""

import logging
from collections.abc import Callable
from typing import Final

from codex_bridge.client import Client
from codex_bridge.errors import CodexError, RpcError
from codex_bridge.wire.requests import THREAD_RESUME, ThreadResumeParams
from harness.asks import Asker, KeepsAsks
from harness.lean_values import dataclass

GONE: Final = "the turn is over."

logger = logging.getLogger("codex_bridge")


@dataclass(frozen=True, slots=True)
class Followed:
    """A turn of an earlier process."""

    asker: Asker | None
    session_key: str
    message_key: str
    client: Client


class Following:
    """The turns of earlier processes that are listened to.

    Args:
        asker: The way to who may answer what they ask; None for nobody.
        at_work: Whether a turn of this process is at work on a thread.
    """

    def __init__(self, asker: KeepsAsks | None, at_work: Callable[[str], bool]) -> None:
        self._asker = asker
        self._at_work = at_work
        self._of: dict[str, Followed] = {}

    def at(self, thread_id: str) -> Followed | None:
        """The turn on a thread."""
        return self._of.get(thread_id)

    async def follow(self, client: Client, thread_id: str, session_key: str, message_key: str) -> None:
        """Listen to a turn that runs, from now on; no error when that cannot be.

        A thread that is at work keeps its settings, so none are sent; the next turn of ours sends them all.
        """
        known = self._of.get(thread_id)
        if known is not None and known.client is client:
            return
        # Before the answer: what is open is repeated with it.
        self._of[thread_id] = Followed(self._asker, session_key, message_key, client)
        try:
            await client.call(THREAD_RESUME, ThreadResumeParams(thread_id=thread_id))
        except CodexError as error:
            self._of.pop(thread_id, None)
            logger.warning("a turn on %s that goes on without us is not followed: %s", thread_id, error)

    def over(self, thread_id: str) -> None:
        """What ran on a thread is over."""
        self._of.pop(thread_id, None)

    async def gone(self, client: Client, thread_id: str) -> None:
        """A turn that an earlier process began on a thread does not run any more: nobody waits for what it asked.

        Raises:
            TransportError: The server is gone itself.
        """
        if self._asker is None or self._at_work(thread_id) or await _runs(client, thread_id):
            return
        try:
            await self._asker.withdraw_all(thread_id, GONE)
        except Exception:  # the gateway's own code
            logger.exception("withdrawing what was asked on %s", thread_id)


async def _runs(client: Client, thread_id: str) -> bool:
    """Whether another turn runs on a thread, which may have asked something."""
    from codex_bridge.wire.besides import TURNS_LIST, TurnsListParams  # few processes leave a turn that asks

    try:
        listed = await client.call(TURNS_LIST, TurnsListParams(thread_id=thread_id, limit=1))
    except RpcError:
        return False  # the server does not know the thread
    return any(turn.status == "inProgress" for turn in listed.data)
