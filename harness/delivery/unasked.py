"""Brings what no message asked for: an alert of a heartbeat, or what a scheduled job came to.

It goes the way of every answer: the ledger has it before the channel is asked, the courier brings it in the order of
its chat, and what a crash cuts off is brought by the next start, under the same keys. What is told twice under one key
is brought once.
"""

import time
from collections.abc import Awaitable, Callable

from harness.delivery.courier import Courier
from harness.errors import HarnessError
from harness.replies.gate import Say
from harness.store.admitted import Admission, Ending, Inbound, Outbound
from harness.store.deliveries import Deliveries


class UndeliverableError(HarnessError):
    """The chat will not take it, and it is not tried again."""

    def __init__(self, channel: str, chat: str) -> None:
        super().__init__(f"The chat {channel} {chat} does not take it.")


class Unasked:
    """Tells the chats of one agent.

    Args:
        deliveries: The ledger.
        courier: Brings it.
        now: The time in Unix seconds.
    """

    def __init__(self, deliveries: Deliveries, courier: Courier, *, now: Callable[[], float] = time.time) -> None:
        self._deliveries = deliveries
        self._courier = courier
        self._now = now

    async def tell(self, key: str, *, session_key: str, channel: str, chat: str, say: Say) -> None:
        """Tell a chat something. When this returns it was sent, or the ledger has it and it is tried again.

        A text that is longer than the channel takes goes out as several, and a file only where it may.

        Args:
            key: An id that nothing else has, the same when it is told twice: that of the run which says it.
            session_key: The conversation that it belongs to.
            channel: The channel.
            chat: The channel's own id of the chat.
            say: What it is told; nothing is done where that is nothing.

        Raises:
            UndeliverableError: It is not tried again.
        """
        lead = Inbound(
            key=key,
            session_key=session_key,
            channel=channel,
            chat=chat,
            message_id="",
            arrived_at=self._now(),
            payload="",
        )
        plan = self._courier.planned(lead, say)
        if not plan:
            return
        outbound = [Outbound(key, place, text) for place, text in plan.items()]
        admission = await self._courier.kept(self._deliveries.owe(lead, plan), Admission.NEW)
        if admission is not Admission.NEW:
            return
        if await self._courier.late(lead, outbound) is Ending.UNDELIVERABLE:
            raise UndeliverableError(channel, chat)

    def to(self, key: str, *, session_key: str, channel: str, chat: str) -> Callable[[Say], Awaitable[None]]:
        """A way to tell a chat one thing, as `harness.scheduled.run_job` takes it; see `tell`."""

        async def deliver(say: Say) -> None:
            await self.tell(key, session_key=session_key, channel=channel, chat=chat, say=say)

        return deliver
