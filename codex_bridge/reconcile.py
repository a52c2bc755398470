"""What became of a message that was given to a server which is gone: by what Codex has written down of its thread.

The one place that asks this: before a message is sent again, when a server is lost in the middle of a turn, and when a
gateway starts and finds messages that nobody answered. It looks without loading the thread.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from enum import Enum
from typing import Final

from codex_bridge.client import Client
from codex_bridge.errors import RpcError
from codex_bridge.failures import Trouble, trouble_of
from codex_bridge.marks import read_mark
from codex_bridge.wire.besides import ITEMS_LIST, NO_TURNS, TURNS_LIST, ItemsListParams, TurnsListParams
from codex_bridge.wire.items import AgentMessageItem, ItemValue, UserMessageItem
from codex_bridge.wire.requests import Turn
from harness.lean_values import dataclass

PAGE: Final = 50
"""Items of a turn that are asked for at once."""
MOST_PAGES: Final = 20


class Fate(Enum):
    """What became of a message."""

    ABSENT = "Codex never had it"
    UNFINISHED = "its turn began, and nothing says that it came to an end"
    RUNNING = "its turn runs, on a server that lived on"
    ENDED = "its turn came to its end, with or without an answer"


@dataclass(frozen=True, slots=True)
class Trace:
    """What Codex has written down of a message."""

    fate: Fate
    turn: Turn | None = None
    """The turn that has the message, with its last message as far as that is whole; None for one that is absent."""

    @property
    def text(self) -> str:
        """The last words of the turn: the answer of one that ended well. May be empty."""
        said = [item.text for item in self.turn.items if isinstance(item, AgentMessageItem)] if self.turn else []
        return said[-1] if said else ""


ABSENT: Final = Trace(Fate.ABSENT)


async def trace(client: Client, thread_id: str, key: str, *, turn_id: str = "", among: int = 1) -> Trace:
    """Look for a message in the last turns of a thread.

    A message that stands in no turn has started nothing: it is written down before the model is asked.

    Args:
        client: A server of the thread's home.
        thread_id: The thread.
        key: Id of what caused the turn, see `TurnRequest.message_key`; also of what was said into a running turn.
        turn_id: The turn's own id, where it is known.
        among: How many turns to look at, the last one first.

    Raises:
        CodexError: Nobody tells, so nothing may be sent again.
    """
    try:
        listed = await client.call(TURNS_LIST, TurnsListParams(thread_id=thread_id, limit=among))
    except RpcError as error:
        if trouble_of(error) in (Trouble.GONE, Trouble.UNREADABLE) or error.code == NO_TURNS:
            return ABSENT  # a thread of which nothing was written down has had no turn
        raise
    for turn in listed.data:
        if turn.id == turn_id or _has(turn.items, key):
            return await _found(client, thread_id, turn)
    for turn in listed.data:
        # The list names the message that began a turn, and not those that were said into it (measured).
        if await _was_said_into(client, thread_id, turn, key):
            return await _found(client, thread_id, turn)
    return ABSENT


async def _found(client: Client, thread_id: str, turn: Turn) -> Trace:
    if turn.status == "inProgress":
        return Trace(Fate.RUNNING, turn)
    if turn.status in ("completed", "failed"):
        return Trace(Fate.ENDED, turn)
    # A server that is killed between the answer and the end of the turn leaves it "interrupted" (measured).
    if any(isinstance(item, AgentMessageItem) and item.phase == "final_answer" for item in turn.items):
        return Trace(Fate.ENDED, turn.model_copy(update={"status": "completed"}))
    last = await client.call(ITEMS_LIST, _items(thread_id, turn, 1))
    said = tuple(each.item for each in last.data if isinstance(each.item, AgentMessageItem))
    return Trace(Fate.UNFINISHED, turn.model_copy(update={"items": said}) if said else turn)


async def items_of(client: Client, thread_id: str, turn: Turn) -> tuple[ItemValue, ...]:
    """What is written down of a turn, in its order: the last `MOST_PAGES` pages of it.

    Raises:
        CodexError: Nobody tells.
    """
    items = [item async for page in _pages(client, thread_id, turn) for item in page]
    return tuple(reversed(items))


async def _was_said_into(client: Client, thread_id: str, turn: Turn, key: str) -> bool:
    async with aclosing(_pages(client, thread_id, turn)) as pages:
        async for page in pages:
            if _has(page, key):
                return True
    return False


async def _pages(client: Client, thread_id: str, turn: Turn) -> AsyncGenerator[tuple[ItemValue, ...]]:
    """The items of a turn, the last one first."""
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.call(ITEMS_LIST, _items(thread_id, turn, PAGE, cursor))
        yield tuple(each.item for each in page.data)
        if not page.data or page.next_cursor is None:
            return
        cursor = page.next_cursor


def _items(thread_id: str, turn: Turn, limit: int, cursor: str | None = None) -> ItemsListParams:
    """Ask for items of a turn, the last one first."""
    return ItemsListParams(thread_id=thread_id, turn_id=turn.id, limit=limit, sort_direction="desc", cursor=cursor)


def _has(items: tuple[ItemValue, ...], key: str) -> bool:
    marks = [read_mark(item.client_id) for item in items if isinstance(item, UserMessageItem)]
    return any(mark is not None and key in mark.keys for mark in marks)
