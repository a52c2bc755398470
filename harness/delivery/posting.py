"""Hands texts to a channel, as often as that takes, and nothing twice without saying so.

A call that ends in any other way than with an answer, or with `NotSentError`, may have sent the text. Where the channel
tells a repetition by its key, the text is simply handed over again; elsewhere once more at most, with `AGAIN`.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

import anyio

from harness.delivery.outbox import Abilities, NotSentError, Outbox, Outgoing
from harness.delivery.parcel import unpacked
from harness.delivery.payload import topic_of
from harness.errors import StoreError
from harness.lean_values import dataclass
from harness.store.admitted import Inbound, Outbound, Sending
from harness.store.deliveries import Deliveries
from harness.tasks import unbroken

LONGEST_WAIT: Final = 60.0
"""Seconds that a channel may ask for between two tries."""
AGAIN: Final = "(Sent once more, since it is not known whether it arrived.)"
"""Ends a text that may be in the chat already, on a channel that cannot tell."""

logger = logging.getLogger(__name__)


class GaveUpError(Exception):
    """A text was not delivered, as far as anybody knows.

    Args:
        for_good: It is not to be tried again.
        in_doubt: It may have been sent all the same.
        repeats: See `Outbound.repeats`.
    """

    def __init__(self, *, for_good: bool, in_doubt: bool, repeats: int) -> None:
        super().__init__()
        self.for_good = for_good
        self.in_doubt = in_doubt
        self.repeats = repeats


@dataclass(slots=True)
class _Way:
    """How far a text got."""

    key: str
    sent_as: str
    in_doubt: bool
    repeats: int


class Place:
    """A place in the order in which a chat is sent to, taken without waiting."""

    def __init__(self, order: "dict[tuple[str, str], list[Place]]", chat: tuple[str, str]) -> None:
        self._order = order
        self._chat = chat
        self._turn: anyio.Event | None = None
        order.setdefault(chat, []).append(self)

    async def wait(self) -> None:
        """Wait until those before have left."""
        if self._order[self._chat][0] is not self:
            self._turn = anyio.Event()
            await self._turn.wait()

    def leave(self) -> None:
        """Let the next one in; once more does nothing."""
        places = self._order.get(self._chat, [])
        if self not in places:
            return
        places.remove(self)
        if not places:
            del self._order[self._chat]
        elif (turn := places[0]._turn) is not None:
            turn.set()


class Posting:
    """The way to the chats, with its ledger.

    Args:
        deliveries: The ledger.
        outbox: The way to the chats.
        tell: Hears, in one sentence, of what a person who runs the gateway should know.
        waits: Seconds between the tries to send a text.
        deadline: Seconds for one call of the channel.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        outbox: Outbox,
        *,
        tell: Callable[[str], None],
        waits: Sequence[float],
        deadline: float,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.deliveries = deliveries
        self.outbox = outbox
        self.tell = unbroken(tell)
        self._waits = tuple(waits)
        self._deadline = deadline
        self._sleep = sleep
        self._ailing = False
        self._order: dict[tuple[str, str], list[Place]] = {}

    @asynccontextmanager
    async def in_order(self, lead: Inbound, place: "Place | None" = None) -> AsyncGenerator[None]:
        """Hold the chat of a message: what is sent there next comes after this.

        Args:
            lead: The message.
            place: The place in the order that was taken before; None to take one now.
        """
        place = place or self.place(lead)
        try:
            await place.wait()
            yield
        finally:
            place.leave()

    def place(self, lead: Inbound) -> "Place":
        """Take the next place in the order of the chat of a message. Whoever takes one leaves it in any case."""
        return Place(self._order, (lead.channel, lead.chat))

    async def keep(self, write: Awaitable[object]) -> None:
        """Write a step down. A store that fails holds no answer up, and is told of once."""
        try:
            await write
        except StoreError as error:
            logger.warning("%s", error)
            if not self._ailing:
                self.tell(f"{error} Until it can, a restart does not know which answers were delivered.")
            self._ailing = True
        except Exception:  # whatever it is, whoever waits for the step goes on
            logger.exception("a step of a delivery was not written down")
        else:
            self._ailing = False

    def can(self, lead: Inbound) -> Abilities:
        """What the channel of a message can do; nothing besides sending where it does not say."""
        try:
            return self.outbox.can(lead.channel)
        except Exception:  # a channel may fail in any way
            logger.warning("what the channel %s can do is not known", lead.channel, exc_info=True)
            return Abilities()

    async def post(self, lead: Inbound, text: Outbound) -> str:
        """Send a text, or put it in the place of what stands there; gives the channel's id of it.

        Raises:
            GaveUpError: The channel did not take it, or nobody can say whether it did.
        """
        way = _Way(text.key, text.sent_as, text.state is Sending.SENDING and not text.sent_as, text.repeats)
        for pause in (*self._waits, None):
            least = await self._once(lead, text, way)
            if least is None:
                return way.sent_as
            if pause is not None:
                await self._sleep(min(max(pause, least), LONGEST_WAIT))
        raise GaveUpError(for_good=False, in_doubt=way.in_doubt, repeats=way.repeats)

    async def _once(self, lead: Inbound, text: Outbound, way: "_Way") -> float | None:
        """Try it once: None when it is there, else the seconds after which the channel wants to be asked again."""
        try:
            can = self.outbox.can(lead.channel)
        except Exception:  # a channel that is no more, or not yet there
            logger.info("sending to %s", lead.channel, exc_info=True)
            return 0.0
        marked = way.in_doubt and not can.keys
        if marked:
            if way.repeats:  # there may be two of it already
                raise GaveUpError(for_good=True, in_doubt=True, repeats=way.repeats)
            await self.keep(self.deliveries.sending(lead.key, text.place, repeats=1))
        outgoing = addressed(lead, way.key, text.text, again=way.in_doubt)
        if marked:
            text_again = f"{outgoing.text}\n\n{AGAIN}".lstrip()
            # A text that fills its message goes without a remark: with one, the channel would take neither.
            if can.limit is None or can.unit.size(text_again) <= can.limit:
                outgoing = replace(outgoing, text=text_again)
        try:
            if not way.sent_as:
                way.sent_as = await self.within(self.outbox.send(outgoing))
                if not (way.in_doubt and can.keys and can.edits) or outgoing.media:
                    return None
                way.in_doubt = False  # what is there under this key may be the preview of this text
            await self.within(self.outbox.edit(way.sent_as, outgoing))
        except NotSentError as error:
            logger.info("sending to %s: %s", lead.channel, error)
            if error.for_good and not way.sent_as:
                raise GaveUpError(for_good=True, in_doubt=way.in_doubt, repeats=way.repeats) from error
            if error.for_good:  # somebody deleted what was to be edited
                way.sent_as, way.key = "", f"{text.key}/new"
            return error.retry_after or 0.0
        except Exception:  # a channel may fail in any way
            logger.info("sending to %s", lead.channel, exc_info=True)
            way.repeats += marked
            way.in_doubt = way.in_doubt or not way.sent_as
            return 0.0
        return None

    async def withdraw(self, lead: Inbound, stands: Outbound) -> None:
        """Take back what was shown, where the channel can; else it stays."""
        if not self.can(lead).withdraws:
            return
        try:
            await self.within(self.outbox.withdraw(stands.sent_as, addressed(lead, stands.key, "")))
        except Exception:  # a channel may fail in any way
            logger.info("taking back what was shown in %s", lead.channel, exc_info=True)

    async def within(self, call: Awaitable[str | None]) -> str:
        """What a call of the channel gives, in time."""
        with anyio.fail_after(self._deadline):
            return await call or ""


def addressed(lead: Inbound, key: str, kept: str, *, again: bool = False) -> Outgoing:
    """What the ledger keeps of a message (`harness.delivery.parcel`), for the chat of the one that it answers."""
    parcel = unpacked(kept)
    media = () if parcel.media is None else (parcel.media,)
    reply_to = parcel.reply_to or lead.message_id
    return Outgoing(
        key=key,
        channel=lead.channel,
        chat=lead.chat,
        text=parcel.text,
        reply_to=reply_to,
        again=again,
        topic=topic_of(lead.payload),
        media=media,
    )
