"""What a chat sees of an answer while it is said: a message that is edited as often as the channel allows.

Where further words come into a turn whose answer is whole by then, that one stands, and another message begins; another
one begins as well where the answer grows over what a message of the channel takes.
"""

import logging
from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from math import inf

import anyio

from harness.delivery.outbox import NotSentError, Outgoing
from harness.delivery.parcel import Parcel, packed
from harness.delivery.posting import Posting, addressed
from harness.replies.chunks import chunks
from harness.replies.preview import Preview
from harness.store.admitted import Inbound, Outbound, Sending
from harness.turns import TurnEvent

logger = logging.getLogger(__name__)


class Showing:
    """The messages that show the answer to `lead`.

    Args:
        posting: The way to the chat.
        lead: The message that is answered.
        now: Seconds of a clock that only goes forward.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self, posting: Posting, lead: Inbound, *, now: Callable[[], float], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._posting = posting
        self._lead = lead
        self._now = now
        self._sleep = sleep
        self._pace = posting.can(lead).pace
        self._preview = Preview()
        can = posting.can(lead)
        self._limit, self._unit = can.limit, can.unit
        self._news: anyio.Event | None = None
        self._resting: anyio.CancelScope | None = None
        self._over = False
        self._next = 0.0
        """When the message may be edited again."""
        self.begun = False
        """Whether there is something to show, so that `run` has to run."""
        self.shown: list[str] = []
        """What each of the messages shows; empty when nobody knows."""
        self.stands: list[Outbound] = []
        """How far each of them got."""

    def see(self, event: TurnEvent) -> bool:
        """Take in an event; true at the first one that there may be something to show of."""
        if not self._preview.see(event):
            return False
        if self._news is not None:
            self._news.set()
        first, self.begun = not self.begun, True
        return first

    async def run(self) -> None:
        """Show what there is to show, until `end`."""
        try:
            await self._run()
        except Exception:  # the answer itself is delivered all the same
            logger.exception("showing the answer to %s", self._lead.key)

    async def _run(self) -> None:
        while not self._over:
            behind = self._behind()
            if behind is None:
                self._news = anyio.Event()
                await self._news.wait()
                continue
            if not await self._put(*behind):
                return
            with anyio.CancelScope() as self._resting:
                await self.rest()
            self._resting = None

    def end(self) -> None:
        """The answer is known: show nothing more of how it came."""
        self._over = True
        if self._news is not None:
            self._news.set()
        if self._resting is not None:
            self._resting.cancel()

    async def rest(self, most: float = inf) -> None:
        """Wait until the message may be edited again, for `most` seconds at most."""
        if (wait := self._next - self._now()) > 0:
            await self._sleep(min(wait, most))

    def _behind(self) -> tuple[int, str, int] | None:
        """The first message that does not show what it should, what that is, and of which answer it is a part."""
        shown = chain(self.shown, repeat(""))
        parts = (
            (part, number)
            for number, text in enumerate(self._preview.texts)
            for part in chunks(text, self._limit, self._unit)
        )
        behind = enumerate(zip(parts, shown, strict=False))
        return next(((at, text, number) for at, ((text, number), now) in behind if text != now), None)

    async def _put(self, place: int, text: str, answer: int) -> bool:
        """Show a part of an answer; tells whether there is a use in showing more."""
        posting, lead, pause = self._posting, self._lead, self._pace
        if place == len(self.stands):
            self.stands.append(Outbound(lead.key, place))
            self.shown.append("")
        parcel = Parcel(text=text, reply_to=self._preview.answering(answer))
        outgoing = addressed(lead, self.stands[place].key, packed(parcel))
        try:
            if sent_as := self.stands[place].sent_as:
                self.shown[place] = ""
                await posting.within(posting.outbox.edit(sent_as, outgoing))
            else:
                async with posting.in_order(lead):
                    if self._over:
                        return False
                    await self._send(place, outgoing)
            self.shown[place] = text
        except NotSentError as error:
            logger.info("showing in %s: %s", lead.channel, error)
            if not self.stands[place].sent_as:
                self.stands[place] = Outbound(lead.key, place)
            if error.retry_after is None or error.for_good:
                return False
            pause = max(pause, error.retry_after)
        except Exception:  # a channel may fail in any way
            logger.info("showing in %s", lead.channel, exc_info=True)
            return False
        finally:
            self._next = self._now() + pause
        return True

    async def _send(self, place: int, outgoing: Outgoing) -> None:
        posting, key = self._posting, self._lead.key
        await posting.keep(posting.deliveries.sending(key, place))
        self.stands[place] = Outbound(key, place, state=Sending.SENDING)
        sent_as = await posting.within(posting.outbox.send(outgoing))
        self.stands[place] = Outbound(key, place, state=Sending.SENT, sent_as=sent_as)
        await posting.keep(posting.deliveries.sent(key, place, sent_as))
