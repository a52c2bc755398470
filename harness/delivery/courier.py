"""Brings what a turn says to its chat: shows it while it is said, delivers it once, and writes down each step.

The ledger is written before and after each step (`harness.store.deliveries`). A store that fails keeps no answer back;
that a restart would not know of it is told once. The deliveries of one chat keep their order, and those of another chat
wait for none of them.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Final, TypeAlias

import anyio

from harness.delivery.outbox import Outbox
from harness.delivery.posting import LONGEST_WAIT, GaveUpError, Place, Posting
from harness.delivery.showing import Showing
from harness.lean_values import dataclass
from harness.replies.gate import Reply, Say, Silent, decide
from harness.store.admitted import Ending, Inbound, Outbound
from harness.store.deliveries import Deliveries
from harness.turns import EndedBy, Failure, Finished, RunningTurn, Trigger, TurnEvent, TurnResult

WAITS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds between the tries to send a text; after the last one it waits for the next start."""
SEND_DEADLINE: Final = 30.0
"""Seconds for one call of the channel."""

Aside: TypeAlias = Callable[[Callable[[], Awaitable[object]]], None]
"""Runs something in a task of its own."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a turn's answer."""

    result: TurnResult
    reply: Reply
    ending: Ending | None
    """How its messages were settled; None: they are open, and the next start sees to them, or whoever the turn made way
    for, see `made_way`."""


class Courier:
    """Delivers for one agent.

    Args:
        deliveries: The ledger.
        outbox: The way to the chats.
        tell: Hears, in one sentence, of what a person who runs the gateway should know.
        waits: Seconds between the tries to send a text.
        deadline: Seconds for one call of the channel.
        now: Seconds of a clock that only goes forward.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        outbox: Outbox,
        *,
        tell: Callable[[str], None] = logger.warning,
        waits: Sequence[float] = WAITS,
        deadline: float = SEND_DEADLINE,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._deliveries = deliveries
        self._outbox = outbox
        self._posting = Posting(deliveries, outbox, tell=tell, waits=waits, deadline=deadline, sleep=sleep)
        self._now = now
        self._sleep = sleep

    async def carry(
        self,
        turn: RunningTurn,
        lead: Inbound,
        *,
        trigger: Trigger = Trigger.CHAT,
        show: bool = True,
        hear: Callable[[TurnEvent], None] | None = None,
    ) -> Carried:
        """See a turn to its end, and deliver what it says. For a task of its own, as a channel may take its time.

        The messages that it answers are in the ledger as running under `lead`, see `Deliveries.admit` and `.begin`.

        Args:
            turn: The turn; nobody else reads its events.
            lead: The message that the turn is named after, which it answers.
            trigger: Why it runs.
            show: Show the answer while it is said, where the channel can edit. What then turns out to be silence is
                taken back where the channel can do that, so this is not for a chat in which silence is usual.
            hear: Hears every event, as it comes.
        """
        showing = None
        if show and trigger is Trigger.CHAT and self._outbox.can(lead.channel).edits:
            showing = Showing(self._posting, lead, now=self._now, sleep=self._sleep)
        place: Place | None = None

        def over() -> None:
            nonlocal place
            place = self._posting.place(lead)  # now: what shows the answer may still be at it

        try:
            if showing is None and hear is None:
                result = await turn.result()
                over()
            else:
                result = await _followed(turn, showing, hear, over)
            return await self._end(lead, result, trigger, showing, place)
        finally:
            if place is not None:
                place.leave()

    async def _end(
        self, lead: Inbound, result: TurnResult, trigger: Trigger, showing: Showing | None, place: Place | None
    ) -> Carried:
        """Deliver what a turn that is over says."""
        reply = decide(result, trigger)
        if Failure.SHUTDOWN is result.failure or EndedBy.SHUTDOWN is result.ended_by:
            return Carried(result, reply, None)  # the next start looks what became of it
        match reply:
            case Say():
                ending = await self._say(lead, reply, result, showing, place)
            case Silent(chosen=chosen):
                if chosen and showing is not None:
                    await self._withdraw(lead, showing.stands)
                if made_way(result, reply):
                    return Carried(result, reply, None)
                ending = Ending.SILENT if chosen else Ending.STOPPED
                await self._posting.keep(self._deliveries.settle(lead.key, ending))
        return Carried(result, reply, ending)

    async def late(
        self,
        lead: Inbound,
        texts: Sequence[Outbound],
        *,
        conversation: str = "",
        turn: str = "",
        aside: Aside | None = None,
    ) -> Ending | None:
        """Deliver what an earlier process did not. May be called again after it was cut off.

        Args:
            lead: The message that they answer.
            texts: The texts, with the places and the channel's ids that they have already.
            conversation: The backend's id of the conversation, as far as it is known.
            turn: The backend's id of the turn.
            aside: Runs the delivery beside everything else once the ledger has it; None to wait for the channel.

        Returns:
            How the messages were settled; None when they are open still.
        """
        write = self._deliveries.answer(
            lead.key, {each.place: each.text for each in texts}, conversation=conversation, turn=turn
        )
        await self._posting.keep(write)
        if aside is not None:
            aside(partial(self._in_order, lead, texts))
            return None
        return await self._in_order(lead, texts)

    async def keep(self, write: Awaitable[object]) -> None:
        """Write a step into the ledger. A store that fails holds nothing up, and the operator is told of it once."""
        await self._posting.keep(write)

    async def _say(
        self, lead: Inbound, reply: Say, result: TurnResult, showing: Showing | None, place: Place | None
    ) -> Ending | None:
        write = self._deliveries.answer(
            lead.key, dict(enumerate(reply.texts)), conversation=result.conversation, turn=result.turn
        )
        await self._posting.keep(write)
        texts = [Outbound(lead.key, at, text) for at, text in enumerate(reply.texts)]
        if showing is None:
            return await self._in_order(lead, texts, place)
        for text, stands in zip(texts[:], showing.stands, strict=False):
            texts[text.place] = Outbound(lead.key, text.place, text.text, stands.state, stands.sent_as)
        async with self._posting.in_order(lead, place):
            if showing.shown[: len(texts)] != list(reply.texts):
                await showing.rest(LONGEST_WAIT)
            if not reply.rest_stays:
                await self._withdraw(lead, showing.stands[len(texts) :])
            return await self._deliver(lead, texts, showing.shown)

    async def _in_order(self, lead: Inbound, texts: Sequence[Outbound], place: Place | None = None) -> Ending | None:
        async with self._posting.in_order(lead, place):
            return await self._deliver(lead, texts)

    async def _withdraw(self, lead: Inbound, shown: Sequence[Outbound]) -> None:
        for each in shown:
            if each.sent_as:
                await self._posting.withdraw(lead, each)

    async def _deliver(self, lead: Inbound, texts: Sequence[Outbound], shown: Sequence[str] = ()) -> Ending | None:
        """Send texts that the ledger has; `shown` is what the first of their messages show already."""
        for text, after, now in zip(texts, [*texts[1:], None], chain(shown, repeat("")), strict=False):
            try:
                stands = bool(text.sent_as) and text.text == now
                sent_as = text.sent_as if stands else await self._posting.post(lead, text)
            except GaveUpError as error:
                return await self._give_up(lead, text, error)
            then = after.place if after is not None else None
            write = self._deliveries.sent(lead.key, text.place, sent_as, then=then, last=after is None)
            await self._posting.keep(write)
        return Ending.SENT

    async def _give_up(self, lead: Inbound, text: Outbound, error: GaveUpError) -> Ending | None:
        where = f"{lead.channel} {lead.chat}"
        perhaps = " as far as is known" if error.in_doubt else ""
        if error.for_good:
            self._posting.tell(f"An answer to {where} was not delivered{perhaps}, and is not tried again.")
            await self._posting.keep(self._deliveries.settle(lead.key, Ending.UNDELIVERABLE))
            return Ending.UNDELIVERABLE
        self._posting.tell(f"An answer to {where} was not delivered{perhaps}; the next start tries it again.")
        write = self._deliveries.fail(lead.key, text.place, in_doubt=error.in_doubt, repeats=error.repeats)
        await self._posting.keep(write)
        return None


def made_way(result: TurnResult, reply: Reply | None = None) -> bool:
    """Whether a turn made way with nothing for its chat: its messages may still be answered, and are not settled."""
    if result.ended_by is not EndedBy.GIVEN_WAY:
        return False
    return isinstance(reply or decide(result), Silent) and reply != Silent()


def _let_hear(hear: Callable[[TurnEvent], None], event: TurnEvent) -> None:
    try:
        hear(event)
    except Exception:  # whoever listens may fail in any way
        logger.exception("an event of a turn was not heard")


async def _followed(
    turn: RunningTurn, showing: Showing | None, hear: Callable[[TurnEvent], None] | None, over: Callable[[], None]
) -> TurnResult:
    """Read a turn's events to the end, and show its answer meanwhile."""
    async with anyio.create_task_group() as group:
        async for event in turn.events():
            if hear is not None:
                _let_hear(hear, event)
            if isinstance(event, Finished):
                over()
                if showing is not None:
                    showing.end()
                return event.result
            if showing is not None and showing.see(event):
                group.start_soon(showing.run)
    raise AssertionError("a turn always ends with Finished")
