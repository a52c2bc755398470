"""What people were asked and have not answered yet, and for a while what became of it.

In the database of `harness.store.bindings`, which one process owns. Of each ask:

    state     | since                                           | next
    ----------+-------------------------------------------------+-----------------------------------------
    OPEN      | just before the card is sent                    | any of the others, once
    ANSWERED  | somebody answered, a rule of time did not       | pruned
    OVER      | it expired, or nobody needs it any more         | pruned
    LOST      | the process that asked is gone, and the backend | TOLD, when somebody still answers
              | with it                                         |
    TOLD      | that person was told                            | pruned

Neither a handle nor the answer to a secret question is kept, and of what was asked only the card, with its secrets
masked.
"""

import sqlite3
from enum import Enum
from typing import Final
from uuid import uuid4

from harness.lean_values import dataclass
from harness.store.database import Database
from harness.store.schema import WHOLE_ASKED

KEPT: Final = 1_000
"""Asks that are over and still known, so that a button of before is answered with what became of it."""
PRUNE_EVERY: Final = 32

_COLUMNS: Final = (
    "identity, handle, digest, session_key, thread, channel, chat, topic, card, sent_as, expires_at, outlives, state,"
    " answer, told"
)
_PARK: Final = f"INSERT OR REPLACE INTO asked ({_COLUMNS}, owner) VALUES ({', '.join('?' * 16)})"  # noqa: S608 - our own names
_SELECT: Final = f"SELECT {_COLUMNS} FROM asked WHERE {WHOLE_ASKED} AND"  # noqa: S608 - our own names
_SETTLE: Final = "UPDATE asked SET state = ?, answer = ?, told = ?, card = ? WHERE identity = ? AND state = 'open'"
_PRUNE: Final = (
    "DELETE FROM asked WHERE state != 'open' AND seq <= (SELECT seq FROM asked WHERE state != 'open'"
    " ORDER BY seq DESC LIMIT 1 OFFSET ?)"
)


class AskState(Enum):
    """How far an ask got."""

    OPEN = "open"
    ANSWERED = "answered"
    OVER = "over"
    LOST = "lost"
    TOLD = "told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """An ask that waits for its answer in a chat, or has waited."""

    identity: str
    """See `Ask.identity`."""
    handle: str
    """The digest of what an answer names it by."""
    digest: str
    """Of what is asked, where."""
    session_key: str
    thread: str
    channel: str
    chat: str
    topic: str = ""
    card: str
    """What is needed to show it and to read an answer, as text; empty when it is over."""
    sent_as: str = ""
    """The channel's id of the card; empty for one that is not known to have been sent."""
    expires_at: float
    """Unix seconds."""
    outlives: bool = False
    """See `Ask.outlives`."""
    state: AskState = AskState.OPEN
    answer: str = ""
    """The answer of one that was answered, as text, kept as long as the backend may ask for it once more."""
    told: str = ""
    """What became of it, in one sentence for a person."""


class Asked:
    """The asks of one agent.

    Args:
        database: The store, see `Bindings.database`.
        kept: See `KEPT`.
    """

    def __init__(self, database: Database, *, kept: int = KEPT) -> None:
        self._database = database
        self._kept = kept
        self._owner = uuid4().hex
        """What tells the rows of this process from those of one that is gone."""
        self._settled = 0

    async def park(self, parked: Parked) -> None:
        """Keep an ask, in place of one with the same identity, before anybody hears of it.

        Raises:
            StoreError: It could not be kept.
        """
        each = parked
        row = (
            *(each.identity, each.handle, each.digest, each.session_key, each.thread, each.channel, each.chat),
            *(each.topic, each.card, each.sent_as, each.expires_at, int(each.outlives), each.state.value),
            *(each.answer, each.told, self._owner),
        )
        await self._database.run_small(lambda connection: connection.execute(_PARK, _clean(row)))

    async def sent(self, identity: str, sent_as: str) -> None:
        """The channel has the card.

        Raises:
            StoreError: It could not be kept.
        """
        row = (sent_as, identity)
        await self._database.run_small(
            lambda connection: connection.execute("UPDATE asked SET sent_as = ? WHERE identity = ?", row)
        )

    async def settle(self, identity: str, state: AskState, told: str, *, answer: str = "") -> bool:
        """An open ask is over; tells whether it was open, so that of several that try one has done it.

        Args:
            identity: The ask.
            state: How it ended.
            told: What became of it, for whoever answers later.
            answer: See `Parked.answer`.

        Raises:
            StoreError: It could not be kept.
        """
        row = _clean((state.value, answer, told, "", identity))
        done = await self._database.run_small(lambda connection: connection.execute(_SETTLE, row).rowcount == 1)
        await self._prune()
        return done

    async def forget_answer(self, identity: str) -> None:
        """Nobody will ask for the answer again.

        Raises:
            StoreError: It could not be kept.
        """
        statement = "UPDATE asked SET answer = '' WHERE identity = ?"
        await self._database.run_small(lambda connection: connection.execute(statement, (identity,)))

    async def adopt(self) -> tuple[list[Parked], list[Parked]]:
        """Take over what an earlier process left open, for a start.

        Returns:
            What a backend that outlives us asks or may ask again, open or not, and what is lost with that process.

        Raises:
            StoreError: The store cannot be used.
        """

        def write(connection: sqlite3.Connection) -> tuple[list[Parked], list[Parked]]:
            where = f"{_SELECT} owner != ? AND (state = 'open' OR (outlives = 1 AND state != 'lost')) ORDER BY seq"
            rows = [_parked(row) for row in connection.execute(where, (self._owner,))]
            kept = [each for each in rows if each.outlives]
            lost = [each for each in rows if not each.outlives]
            connection.executemany(
                "UPDATE asked SET owner = ? WHERE identity = ?", [(self._owner, each.identity) for each in kept]
            )
            connection.executemany(
                "UPDATE asked SET state = 'lost', card = '', answer = '' WHERE identity = ? AND state = 'open'",
                [(each.identity,) for each in lost],
            )
            return kept, lost

        return await self._database.run(write)

    async def by_handle(self, handle: str) -> Parked | None:
        """The ask with a digest of a handle, also one that is over; None when it is not known.

        Raises:
            StoreError: The store cannot be read.
        """

        def read(connection: sqlite3.Connection) -> Parked | None:
            row = connection.execute(f"{_SELECT} handle = ? ORDER BY seq DESC", (handle,)).fetchone()
            return None if row is None else _parked(row)

        return await self._database.run_small(read)

    async def tell_lost(self, identity: str) -> bool:
        """Whether nobody was told yet that an ask is lost; from now on somebody was.

        Raises:
            StoreError: It could not be kept.
        """
        statement = "UPDATE asked SET state = 'told' WHERE identity = ? AND state = 'lost'"
        return await self._database.run_small(
            lambda connection: connection.execute(statement, (identity,)).rowcount == 1
        )

    async def _prune(self) -> None:
        self._settled += 1
        if self._settled >= PRUNE_EVERY:
            self._settled = 0
            await self._database.run_small(lambda connection: connection.execute(_PRUNE, (self._kept,)))


def _clean(row: tuple[object, ...]) -> tuple[object, ...]:
    """The values as the store can hold them: without halves of characters."""
    return tuple(
        each.encode("utf-8", "replace").decode() if isinstance(each, str) and not each.isascii() else each
        for each in row
    )


_STATES: Final = {each.value: each for each in AskState}


def _parked(row: tuple[object, ...]) -> Parked:
    texts = [str(each) for each in row]
    return Parked(
        identity=texts[0],
        handle=texts[1],
        digest=texts[2],
        session_key=texts[3],
        thread=texts[4],
        channel=texts[5],
        chat=texts[6],
        topic=texts[7],
        card=texts[8],
        sent_as=texts[9],
        expires_at=float(texts[10]),
        outlives=texts[11] != "0",
        state=_STATES.get(texts[12], AskState.OVER),  # a word that nobody knows grants nothing
        answer=texts[13],
        told=texts[14],
    )
