"""What became of turns that an earlier process of the gateway began, for its delivery ledger.

By what Codex has written down (`reconcile`), never by asking the model again. That a message stands nowhere counts only
where the thread's own files say so, too: the index beside them may lack a turn after a crash (`written`).
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from codex_bridge.client import Client
from codex_bridge.errors import CodexError, RpcError
from codex_bridge.failures import Trouble, trouble_of
from codex_bridge.following import Following
from codex_bridge.ledger import TurnLedger
from codex_bridge.marks import read_mark
from codex_bridge.reconcile import ABSENT, Trace, items_of, trace
from codex_bridge.reconcile import Fate as Seen
from codex_bridge.servers import Servers
from codex_bridge.telling import Tell
from codex_bridge.wire.besides import THREAD_READ, ThreadReadParams
from codex_bridge.wire.items import AgentMessageItem, ItemValue, UserMessageItem
from codex_bridge.wire.requests import Turn
from codex_bridge.written import last_message
from harness.delivery.advice import BROKE_OFF, Fate, Looked
from harness.errors import StoreError
from harness.store.bindings import Bindings
from harness.turns import Finished, TurnResult

LOOK_BACK: Final = 20
"""Turns of a conversation that are looked at, the last one first: others may have come since."""
NEVER: Final = Looked(Fate.NEVER_BEGAN)
UNKNOWN: Final = Looked(Fate.UNKNOWN)
UNREACHABLE: Final = Looked(Fate.UNREACHABLE)

logger = logging.getLogger("codex_bridge")


class LeftOpen:
    """Looks up turns, see `harness.delivery.advice.Reconciler`.

    Args:
        servers: Where a server comes from.
        bindings: Which thread belongs to which conversation.
        backend: The name of the home there.
        tell: Says what the error means that a turn failed with.
        following: Listens to one that still runs; None for nobody.
    """

    def __init__(
        self, servers: Servers, bindings: Bindings, backend: str, tell: Tell, following: Following | None = None
    ) -> None:
        self._servers = servers
        self._bindings = bindings
        self._backend = backend
        self._tell = tell
        self._following = following

    async def reconcile(
        self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
    ) -> Looked:
        """Say what became of a turn. Runs nothing, and raises nothing."""
        try:
            binding = await self._bindings.get(self._backend, session_key)
            bound = binding.conversation if binding is not None else ""
            thread_id = conversation or bound
            if not thread_id:
                return NEVER  # a thread is bound before it has its first turn
            client = (await self._servers.get()).server.client
            found = await trace(client, thread_id, message_key, among=LOOK_BACK)
            if self._following is not None:
                if found.fate is Seen.RUNNING:
                    await self._following.follow(client, thread_id, session_key, message_key)
                else:
                    await self._following.gone(client, thread_id)
            if found != ABSENT:
                return await self._found(client, thread_id, found, steered)
            if thread_id != bound:
                return UNKNOWN  # a thread that ended with its turn, and is nowhere now
            return await self._absent(client, session_key, message_key, thread_id)
        except (CodexError, StoreError, OSError) as error:
            logger.warning("what became of %s cannot be looked up: %s", message_key, error)
            return UNREACHABLE

    async def _absent(self, client: Client, session_key: str, message_key: str, thread_id: str) -> Looked:
        try:
            thread = (await client.call(THREAD_READ, ThreadReadParams(thread_id=thread_id))).thread
        except RpcError as error:
            if trouble_of(error) is not Trouble.GONE:
                raise
            had_turns = await self._bindings.turns_since(session_key, thread_id, 0)
            return UNKNOWN if had_turns else NEVER
        last = await last_message(thread)
        return UNKNOWN if last is not None and last.mark is not None and message_key in last.mark.keys else NEVER

    async def _found(self, client: Client, thread_id: str, found: Trace, steered: tuple[str, ...]) -> Looked:
        assert found.turn is not None
        if found.fate is Seen.RUNNING:
            return Looked(Fate.RUNNING)
        items = await items_of(client, thread_id, found.turn)
        marks = (read_mark(item.client_id) for item in items if isinstance(item, UserMessageItem))
        has = {key for mark in marks if mark is not None for key in mark.keys}
        return Looked(result_of(thread_id, found.turn, items, self._tell), frozenset(steered) - has)


def result_of(thread_id: str, turn: Turn, items: tuple[ItemValue, ...], tell: Tell) -> TurnResult:
    """How a turn ended, by what is written down of it; one that broke off is lost, with what exists of its answer."""
    ledger = TurnLedger(thread_id, tell)
    ledger.recall(turn.model_copy(update={"status": "interrupted", "items": items}))
    events = [*ledger.recall(turn), *ledger.lose(BROKE_OFF)]
    (result,) = (event.result for event in events if isinstance(event, Finished))
    earlier = answers_before(items)
    return replace(result, earlier=earlier) if earlier else result


def answers_before(items: Iterable[ItemValue]) -> tuple[str, ...]:
    """The answers of a turn that were whole when further words came in."""
    answers: list[str] = []
    last = ""
    for item in items:
        match item:
            case UserMessageItem():
                answers += [last] if last.strip() else []
                last = ""
            case AgentMessageItem(text=text, phase=phase):
                last = "" if phase == "commentary" else text
            case _:
                last = ""  # what it said then was about its work
    return tuple(answers)
