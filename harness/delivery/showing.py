"""What a chat sees of an answer while it is said: one message that is edited as often as the channel allows.

When more is said into the turn after a whole answer, that one stands, and the next answer is shown in a message of its
own.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from harness.delivery.outbox import NotSentError
from harness.delivery.posting import Posting, addressed
from harness.lean_values import dataclass
from harness.replies.preview import Preview
from harness.replies.silence import told
from harness.store.admitted import Inbound, Outbound, Sending
from harness.turns import Joined, TurnEvent

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Shown:
    """One message of the chat."""

    stands: Outbound
    """How far it got."""
    text: str = ""
    """What it shows; empty for nothing, and when nobody knows."""
    whole: str = ""
    """The answer that it is to show once that is known; empty before."""


class Showing:
    """The message that shows the answer to `lead`.

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
        self._pace = posting.outbox.can(lead.channel).pace
        self._preview = Preview()
        self._news: anyio.Event | None = None
        self._resting: anyio.CancelScope | None = None
        self._over = False
        self._next = 0.0
        """When the message may be edited again."""
        self.begun = False
        """Whether there is something to show, so that `run` has to run."""
        self.messages = [Shown(Outbound(lead.key, 0))]
        """Those in the chat: of each answer one, the last one of what is being said."""

    def see(self, event: TurnEvent) -> bool:
        """Take in an event; true at the first one that there may be something to show of."""
        if isinstance(event, Joined) and (whole := told(event.answered)).strip():
            self.messages[-1].whole = whole
            self.messages.append(Shown(Outbound(self._lead.key, len(self.messages))))
            self._preview = Preview()
        elif not self._preview.see(event):
            return False
        if self._news is not None:
            self._news.set()
        first, self.begun = not self.begun, True
        return first

    async def run(self) -> None:
        """Show what there is to show, until `end`."""
        while not self._over:
            message, text = self._due
            if not text or text == message.text:
                self._news = anyio.Event()
                await self._news.wait()
                continue
            if not await self._put(message, text):
                return
            with anyio.CancelScope() as self._resting:
                await self.rest()
            self._resting = None

    @property
    def _due(self) -> tuple[Shown, str]:
        """The message to be seen to, and what it is to show."""
        behind = next((each for each in self.messages if each.whole and each.text != each.whole), None)
        return (self.messages[-1], self._preview.text) if behind is None else (behind, behind.whole)

    def end(self) -> None:
        """The answer is known: show nothing more of how it came."""
        self._over = True
        if self._news is not None:
            self._news.set()
        if self._resting is not None:
            self._resting.cancel()

    async def rest(self) -> None:
        """Wait until the message may be edited again."""
        if (wait := self._next - self._now()) > 0:
            await self._sleep(wait)

    async def _put(self, message: Shown, text: str) -> bool:
        """Show a text; tells whether there is a use in showing more."""
        posting, lead, outgoing = self._posting, self._lead, addressed(self._lead, message.stands.key, text)
        pause, place = self._pace, message.stands.place
        try:
            if message.stands.sent_as:
                message.text = ""
                await posting.within(posting.outbox.edit(message.stands.sent_as, outgoing))
            else:
                await posting.keep(posting.deliveries.sending(lead.key, place))
                message.stands = replace(message.stands, state=Sending.SENDING)
                sent_as = await posting.within(posting.outbox.send(outgoing))
                message.stands = replace(message.stands, state=Sending.SENT, sent_as=sent_as)
                await posting.keep(posting.deliveries.sent(lead.key, place, sent_as))
            message.text = text
        except NotSentError as error:
            logger.info("showing in %s: %s", lead.channel, error)
            if not message.stands.sent_as:
                message.stands = replace(message.stands, state=Sending.PLANNED)
            if error.retry_after is None or error.for_good:
                return False
            pause = max(pause, error.retry_after)
        except Exception:  # a channel may fail in any way
            logger.info("showing in %s", lead.channel, exc_info=True)
            return False
        finally:
            self._next = self._now() + pause
        return True
