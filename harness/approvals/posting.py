"""Brings cards and sentences about them to their chats.

Beside the order of the answers: a card belongs to a turn that holds its chat's place until it is answered.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio

from harness.approvals.cards import LONGEST
from harness.delivery.outbox import NotSentError, Outbox, Outgoing

WAITS: Final = (1.0, 2.0, 4.0)
"""Seconds between the tries; somebody waits for the card."""
DEADLINE: Final = 30.0
"""Seconds for one call of the channel."""
LONGEST_WAIT: Final = 30.0
"""Seconds that a channel may ask for between two tries."""

logger = logging.getLogger(__name__)


class CardPosting:
    """The way of cards to their chats.

    Args:
        outbox: The way to the chats.
        waits: Seconds between the tries.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        outbox: Outbox,
        *,
        waits: Sequence[float] = WAITS,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._outbox = outbox
        self._waits = tuple(waits)
        self._sleep = sleep

    def edits(self, channel: str) -> bool:
        """Whether a channel can put another text in the place of one that was sent."""
        return self._outbox.can(channel).edits

    def limit(self, channel: str) -> int:
        """UTF-16 units of a card at most; where a channel counts otherwise, it takes more than that."""
        return min(self._outbox.can(channel).limit or LONGEST, LONGEST)

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send a text; gives the channel's id of it, empty where it may be there without one, None where it is not."""
        for pause in (*self._waits, None):
            least = 0.0
            try:
                with anyio.fail_after(DEADLINE):
                    return await self._outbox.send(outgoing)
            except NotSentError as error:
                logger.info("a card for %s: %s", outgoing.channel, error)
                if error.for_good:
                    return None
                least = error.retry_after or 0.0
            except Exception:  # a channel may fail in any way
                logger.info("a card for %s", outgoing.channel, exc_info=True)
                if not self._outbox.can(outgoing.channel).keys:
                    return ""  # a second one could be a double
            if pause is not None:
                await self._sleep(min(max(pause, least), LONGEST_WAIT))
        return None

    async def edit(self, sent_as: str, outgoing: Outgoing) -> None:
        """Put a text in the place of a card; one that cannot be changed stays as it is."""
        for pause in (*self._waits, None):
            least = 0.0
            try:
                with anyio.fail_after(DEADLINE):
                    return await self._outbox.edit(sent_as, outgoing)
            except NotSentError as error:
                logger.info("the card %s of %s: %s", sent_as, outgoing.channel, error)
                if error.for_good:
                    return None
                least = error.retry_after or 0.0
            except Exception:  # a channel may fail in any way
                logger.info("the card %s of %s", sent_as, outgoing.channel, exc_info=True)
            if pause is not None:
                await self._sleep(min(max(pause, least), LONGEST_WAIT))
        return None
