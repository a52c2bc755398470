"""The delivery ledger: which messages came in, which turn answers them, and what of the answer reached the chat.

In the database of `harness.store.bindings`, which one process owns. Every step is written before and after it is taken,
each in one short transaction, so that whatever ends the process leaves a row that says what is left to be done. A write
that fails is kept and made up for with the next one that works.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

from harness.errors import StoreError
from harness.lean_values import dataclass
from harness.store.admitted import Admission, Ending, Inbound, OpenDelivery, Outbound, Sending, State
from harness.store.database import Database
from harness.store.schema import WHOLE_DELIVERY, WHOLE_OUTBOUND, tolerant

PRUNE_EVERY: Final = 64
"""Settled messages after which those that are too many or too old are deleted."""
MOST_OWED: Final = 1_000
"""Writes that are made up for; a store that is away for longer loses the oldest of them."""

Value = TypeVar("Value")

_ADMIT: Final = (
    "INSERT INTO deliveries (key, session_key, channel, chat, message_id, arrived_at, payload, state, lead, owner)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
)
_TAKE_OVER: Final = "UPDATE deliveries SET state = ?, owner = ? WHERE key = ? AND state = 'admitted' AND owner != ?"
_ANSWER: Final = (
    "UPDATE deliveries SET state = 'answered', owner = ?, rounds = ?, turn = COALESCE(NULLIF(?, ''), turn),"
    " conversation = COALESCE(NULLIF(?, ''), conversation)"
    " WHERE lead = ? AND state != 'settled' AND steered = 0"
)
_PLAN: Final = (
    "INSERT INTO outbound (lead, place, text, state) VALUES (?, ?, ?, ?)"
    # Of one that may have been sent already, a preview say, that stays known.
    " ON CONFLICT (lead, place) DO UPDATE SET text = excluded.text,"
    " state = CASE WHEN state = 'sending' AND sent_as = '' THEN state ELSE excluded.state END"
)
_SENDING: Final = (
    "INSERT INTO outbound (lead, place, text, state, repeats) VALUES (?, ?, '', 'sending', ?)"
    " ON CONFLICT (lead, place) DO UPDATE SET state = 'sending', repeats = excluded.repeats"
)
_SENT: Final = (
    "INSERT INTO outbound (lead, place, text, state, sent_as) VALUES (?, ?, '', 'sent', ?)"
    " ON CONFLICT (lead, place) DO UPDATE SET state = 'sent', sent_as = excluded.sent_as, text = ''"
)
_SETTLE: Final = (
    "UPDATE deliveries SET state = 'settled', ending = ?, settled_at = ?, payload = ''"
    " WHERE lead = ? AND state != 'settled' AND steered = 0"
)
_OPEN: Final = (
    f"SELECT {WHOLE_DELIVERY}, key, session_key, channel, chat, message_id, arrived_at, payload, state, lead, owner,"  # noqa: S608 - our own words
    " steered, conversation, turn, rounds FROM deliveries WHERE state != 'settled' ORDER BY seq"
)
_OUTBOUND: Final = (
    f"SELECT {WHOLE_OUTBOUND}, lead, place, text, state, sent_as, repeats FROM outbound WHERE lead IN"  # noqa: S608 - our own words
    " (SELECT lead FROM deliveries WHERE state != 'settled') ORDER BY lead, place"
)
_TOO_MANY: Final = (
    "DELETE FROM deliveries WHERE state = 'settled' AND (settled_at < ? OR seq <= (SELECT seq FROM deliveries"
    " WHERE state = 'settled' ORDER BY seq DESC LIMIT 1 OFFSET ?))"
)
_SETTLED_LAST: Final = "SELECT key FROM deliveries WHERE state = 'settled' ORDER BY seq DESC LIMIT ?"
_ORPHANS: Final = "DELETE FROM outbound WHERE lead NOT IN (SELECT lead FROM deliveries)"
_BEGIN: Final = (
    "UPDATE deliveries SET state = 'running', lead = ?, owner = ?, steered = ? WHERE key = ?"
    " AND state IN ('admitted', 'running')"
)
_JOINED: Final = "UPDATE deliveries SET steered = 0 WHERE key = ?"
_SETTLED_WITH: Final = (
    "UPDATE deliveries SET state = 'settled', ending = ?, settled_at = ?, payload = '' WHERE key = ? AND NOT EXISTS"
    " (SELECT 1 FROM deliveries AS named WHERE named.key = deliveries.lead AND named.state != 'settled')"
)
_GIVE_BACK: Final = (
    "UPDATE deliveries SET state = 'admitted', lead = key, steered = 0, owner = ? WHERE key = ? AND state = 'running'"
    " AND owner != ?"
)
_NEVER: Final = (ValueError, TypeError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""What a write fails with that no later try can make, by a value of a channel for instance: it holds up no other."""
_STATES: Final = {each.value: each for each in State}
_SENDINGS: Final = {each.value: each for each in Sending}


@dataclass(frozen=True, slots=True)
class DeliveryLimits:
    """How long it is remembered which messages were dealt with, to know one that comes twice."""

    settled: int = 2_000
    """The last ones."""
    seconds: float = 7 * 86_400.0
    """And none that were settled longer ago."""
    payload: int = 256 * 1024
    """Characters of what a message takes to be run again; of a longer one nothing is kept."""


class Deliveries:
    """The ledger of one agent.

    Args:
        database: The store, see `Bindings.database`.
        limits: How much is kept.
        now: The time in Unix seconds.
    """

    def __init__(
        self,
        database: Database,
        limits: DeliveryLimits = DeliveryLimits(),  # noqa: B008 - frozen
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._limits = limits
        self._now = now
        self._owner = uuid4().hex
        """What tells the rows of this process from those of one that is gone."""
        self._owed: list[Callable[[sqlite3.Connection], object]] = []
        self._settled = 0

    async def admit(self, inbound: Inbound, *, running: bool = False) -> Admission:
        """Take a message in, before anything else is done with it.

        Args:
            inbound: The message.
            running: It is given to a harness at once, in a turn that is named after it.

        Raises:
            StoreError: It could not be kept; a message that comes twice is then not known for one.
        """
        state = (State.RUNNING if running else State.ADMITTED).value
        payload = _clean(inbound.payload) if len(inbound.payload) <= self._limits.payload else ""
        row = (
            *(inbound.key, inbound.session_key, inbound.channel, inbound.chat, inbound.message_id, inbound.arrived_at),
            *(payload, state, inbound.key, self._owner),
        )

        def write(connection: sqlite3.Connection) -> Admission:
            if connection.execute(_ADMIT, row).rowcount:
                return Admission.NEW
            if connection.execute(_TAKE_OVER, (state, self._owner, inbound.key, self._owner)).rowcount:
                return Admission.NEW
            found = connection.execute("SELECT state FROM deliveries WHERE key = ?", (inbound.key,)).fetchone()
            return Admission.DONE if found[0] == State.SETTLED.value else Admission.OPEN

        return await self._write(write)

    async def owe(self, inbound: Inbound, texts: Mapping[int, str]) -> Admission:
        """Take in what a chat is to be told though no message asked for it, together with the texts.

        Args:
            inbound: What it is known as, and where it goes; of no message, and never run from here.
            texts: See `answer`.

        Raises:
            StoreError: It could not be kept; one that is told twice is then not known for that.
        """
        row = (
            *(inbound.key, inbound.session_key, inbound.channel, inbound.chat, inbound.message_id, inbound.arrived_at),
            *("", State.RUNNING.value, inbound.key, self._owner),
        )
        rows = [(inbound.key, place, _clean(text), Sending.PLANNED.value) for place, text in texts.items()]

        def write(connection: sqlite3.Connection) -> Admission:
            if connection.execute(_ADMIT, row).rowcount:
                connection.execute(_ANSWER, (self._owner, 0, "", "", inbound.key))
                connection.executemany(_PLAN, rows)
                return Admission.NEW
            found = connection.execute("SELECT state FROM deliveries WHERE key = ?", (inbound.key,)).fetchone()
            return Admission.DONE if found[0] == State.SETTLED.value else Admission.OPEN

        return await self._write(write, owed=False)

    async def begin(self, keys: Sequence[str], lead: str, *, steered: bool = False) -> None:
        """These messages are given to a harness now, for a turn that is named after `lead`.

        Args:
            keys: The messages.
            lead: The message that the turn is named after; for a new turn one of them.
            steered: They are said into that turn, which may be over by then. They count as its own only once they have
                `joined`; else begin again with them, in a turn of their own.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        rows = [(lead, self._owner, int(steered), key) for key in keys]
        await self._write(lambda connection: connection.executemany(_BEGIN, rows))

    async def joined(self, keys: Sequence[str]) -> None:
        """The turn that these messages were said into has them, so that its answer is theirs, also if it is over.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        at = self._now()

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(_JOINED, [(key,) for key in keys])
            connection.executemany(_SETTLED_WITH, [(Ending.SENT.value, at, key) for key in keys])

        await self._write(write)

    async def give_back(self, keys: Sequence[str], *, anybody: bool = False) -> None:
        """These messages wait again: no harness has them after all.

        Args:
            keys: The messages.
            anybody: Whoever takes them in next runs them, as if they had just come; not those that this process is at.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        rows = [("", key, self._owner) if anybody else (self._owner, key, "") for key in keys]
        await self._write(lambda connection: connection.executemany(_GIVE_BACK, rows))

    async def answer(
        self,
        lead: str,
        texts: Mapping[int, str],
        *,
        conversation: str = "",
        turn: str = "",
        rounds: int = 1,
        apart: Sequence[str] = (),
    ) -> None:
        """Keep what the chat is to be told, before it is; the first text is being sent from now on.

        Args:
            lead: The message that the turn is named after.
            texts: What is to be sent, in this order, by place; what stands at other places stays as it is.
            conversation: The backend's id of the conversation.
            turn: The backend's id of the turn.
            rounds: How often the texts were offered, this time included.
            apart: Messages that were said into another turn and have this answer from now on, `lead` among them.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        first = next(iter(texts))
        rows = [
            (lead, place, _clean(text), (Sending.SENDING if place == first else Sending.PLANNED).value)
            for place, text in texts.items()
        ]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(_BEGIN, [(lead, self._owner, 0, key) for key in apart])
            connection.execute(_ANSWER, (self._owner, rounds, turn, conversation, lead))
            connection.executemany(_PLAN, rows)

        await self._write(write)

    async def sending(self, lead: str, place: int, *, repeats: int = 0) -> None:
        """A text is being sent from now on; without an answer it is the preview of one.

        Args:
            lead: The message that it answers.
            place: Which of the texts it is.
            repeats: How often it was sent once more without anybody knowing whether it was there, this time included.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        await self._write(lambda connection: connection.execute(_SENDING, (lead, place, repeats)))

    async def sent(self, lead: str, place: int, sent_as: str, *, then: int | None = None, last: bool = False) -> None:
        """The channel has a text.

        Args:
            lead: The message that it answers.
            place: Which of the texts it is.
            sent_as: The channel's id of it.
            then: The place of the text that is being sent next.
            last: Nothing else is to be sent: the messages are settled.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        at = self._now()

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_SENT, (lead, place, sent_as))
            if then is not None:
                connection.execute(_SENDING, (lead, then, 0))
            if last:
                connection.execute(_SETTLE, (Ending.SENT.value, at, lead))

        await self._write(write)
        if last:
            await self._prune()

    async def fail(self, lead: str, place: int, *, in_doubt: bool = False, repeats: int = 0) -> None:
        """The channel does not take a text for now; it is offered again later, at the latest by the next start.

        Args:
            lead: The message that it answers.
            place: Which of the texts it is.
            in_doubt: Whether it may have been sent all the same.
            repeats: See `sending`.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        row = ((Sending.SENDING if in_doubt else Sending.FAILED).value, repeats, lead, place)
        await self._write(
            lambda connection: connection.execute(
                "UPDATE outbound SET state = ?, repeats = ? WHERE lead = ? AND place = ?", row
            )
        )

    async def settle(self, lead: str, ending: Ending) -> None:
        """Nothing is to be done any more about the messages of a turn.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        at = self._now()

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_SETTLE, (ending.value, at, lead))
            connection.execute("UPDATE outbound SET text = '' WHERE lead = ?", (lead,))

        await self._write(write)
        await self._prune()

    async def open(self) -> list[OpenDelivery]:
        """What is left to be done, in the order in which it came in.

        Raises:
            StoreError: The store cannot be read.
        """
        return await self._write(lambda connection: _open(connection, self._owner), owed=False)

    async def change(self, key: str, payload: str) -> None:
        """Keep a message that waits as it was changed.

        Raises:
            StoreError: It could not be kept; it is made up for.
        """
        payload = _clean(payload) if len(payload) <= self._limits.payload else ""
        row = (payload, key, State.ADMITTED.value)
        await self._write(
            lambda connection: connection.execute("UPDATE deliveries SET payload = ? WHERE key = ? AND state = ?", row)
        )

    async def knows(self, channel: str, chat: str, message_id: str) -> bool:
        """Whether a message of a chat came in before, as it was then, as far as that is still kept.

        Raises:
            StoreError: The store cannot be read.
        """
        query = "SELECT 1 FROM deliveries WHERE channel = ? AND chat = ? AND message_id = ? LIMIT 1"
        return await self._write(
            lambda connection: connection.execute(query, (channel, chat, message_id)).fetchone() is not None, owed=False
        )

    async def settled_keys(self, most: int) -> list[str]:
        """The messages that were settled last, the oldest first.

        Raises:
            StoreError: The store cannot be read.
        """

        def read(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(_SETTLED_LAST, (most,)).fetchall()
            return [str(key) for (key,) in reversed(rows)]

        return await self._write(read, owed=False)

    async def _write(self, work: Callable[[sqlite3.Connection], Value], *, owed: bool = True) -> Value:
        """Do it, after what is owed from before. Every write may be carried out twice and means the same."""
        before = self._owed[:]

        def all_of_it(connection: sqlite3.Connection) -> Value:
            for each in before:
                with suppress(*_NEVER):
                    each(connection)
            return work(connection)

        try:
            value = await self._database.run_small(all_of_it if before else work)
        except StoreError:
            if owed:
                self._owed.append(work)
                del self._owed[:-MOST_OWED]
            raise
        if before:
            done = set(map(id, before))
            self._owed = [each for each in self._owed if id(each) not in done]
        return value

    async def _prune(self) -> None:
        self._settled += 1
        if self._settled < PRUNE_EVERY:
            return
        self._settled = 0
        oldest, most = self._now() - self._limits.seconds, self._limits.settled

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_TOO_MANY, (oldest, most))
            connection.execute(_ORPHANS)

        await self._database.run(write)


def open_deliveries_at(path: Path) -> list[OpenDelivery]:
    """What is left to be done, without taking the store from the process that uses it. Blocks.

    Raises:
        StoreError: It cannot be read; an empty list means that nothing is left, or that there is no store.
    """
    if not path.exists():
        return []
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.text_factory = tolerant
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'deliveries'").fetchone() is None:
                return []  # a store of before
            return _open(connection, "")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StoreError(f"The store {path} cannot be read: {error}.") from error


def _open(connection: sqlite3.Connection, owner: str) -> list[OpenDelivery]:
    """What is open; `owner` is empty for somebody who only looks, and who passes over what is damaged.

    Raises:
        ValueError: A row is damaged, and is to be deleted.
    """
    outbound: dict[str, list[Outbound]] = {}
    for lead, place, text, state, sent_as, repeats in _whole(connection.execute(_OUTBOUND), owner):
        # A word that nobody knows may stand for one that was sent.
        how = _SENDINGS.get(str(state), Sending.SENDING)
        each = Outbound(str(lead), int(str(place)), str(text), how, str(sent_as), int(str(repeats)))
        outbound.setdefault(each.lead, []).append(each)
    groups: dict[str, list[tuple[object, ...]]] = {}
    for row in _whole(connection.execute(_OPEN), owner):
        groups.setdefault(str(row[8]), []).append(row)
    return [_delivery(lead, rows, tuple(outbound.get(lead, ())), owner) for lead, rows in groups.items()]


def _whole(rows: Iterable[tuple[object, ...]], owner: str) -> Iterator[tuple[object, ...]]:
    for whole, *row in rows:
        if whole:
            yield tuple(row)
        elif owner:
            raise ValueError("a value of a delivery is none")


def _delivery(
    lead: str, rows: Sequence[tuple[object, ...]], outbound: tuple[Outbound, ...], owner: str
) -> OpenDelivery:
    led = next((row for row in rows if row[0] == lead), None)
    named = led or rows[0]
    return OpenDelivery(
        # A word that nobody knows may stand for a turn that runs.
        state=_STATES.get(str(named[7]), State.RUNNING),
        lead=lead,
        inbound=tuple(map(_inbound, rows)),
        ours=bool(owner) and named[9] == owner,
        led=led is not None,
        steered=tuple(str(row[0]) for row in rows if row[10]),
        conversation=str(named[11]),
        turn=str(named[12]),
        rounds=int(str(named[13])),
        outbound=outbound,
    )


def _inbound(row: Iterable[object]) -> Inbound:
    key, session_key, channel, chat, message_id, arrived_at, payload, *_ = row
    return Inbound(
        key=str(key),
        session_key=str(session_key),
        channel=str(channel),
        chat=str(chat),
        message_id=str(message_id),
        arrived_at=float(str(arrived_at)),
        payload=str(payload),
    )


def _clean(text: str) -> str:
    """The text as the store can hold it: without halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
