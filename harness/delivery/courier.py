"""Brings what a turn says to its chat: shows it while it is said, delivers it once, and writes down each step.

The ledger is written before and after each step (`harness.store.deliveries`). A store that fails keeps no answer back;
that a restart would not know of it is told once. The deliveries of one chat keep their order, and those of another chat
wait for none of them.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import Final, TypeAlias, TypeVar

import anyio
import anyio.abc

from harness.delivery.advice import is_hopeless
from harness.delivery.outbox import Outbox
from harness.delivery.parcel import NOT_SENT, deliverable, files, is_file, planned, unpacked
from harness.delivery.payload import topic_of
from harness.delivery.posting import LONGEST_WAIT, GaveUpError, Place, Posting
from harness.delivery.showing import Showing
from harness.lean_values import dataclass
from harness.replies.gate import Reply, Say, Silent, Way, decide
from harness.replies.media import MediaRules
from harness.replies.mode import Delivery
from harness.settings.heartbeat import ACK_MAX_CHARS
from harness.store.admitted import Ending, Inbound, Outbound, Sending
from harness.store.deliveries import Deliveries
from harness.turns import EndedBy, Failure, Finished, RunningTurn, Trigger, TurnEvent, TurnResult

WAITS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds between the tries to send a text; after the last one it is given up for now, and waits for a later round."""
LATER: Final = (60.0, 300.0, 900.0, 3600.0)
"""Seconds between two rounds of such tries, the last one repeated; how many there are says `advice.is_hopeless`."""
MOST_LATER: Final = 1_000
"""Answers that wait for a later round; more wait for the next start."""
SEND_DEADLINE: Final = 30.0
"""Seconds for one call of the channel."""

Kept = TypeVar("Kept")
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
        media: Where the files of answers may be taken from; by default nothing but addresses goes out.
        ack_max_chars: How long what stands beside a heartbeat's token may be and still be dropped with it.
        tell: Hears, in one sentence, of what a person who runs the gateway should know.
        waits: Seconds between the tries to send a text.
        deadline: Seconds for one call of the channel.
        now: Seconds of a clock that only goes forward.
        sleep: Waits for a number of seconds.
        wall: The time in Unix seconds.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        outbox: Outbox,
        *,
        media: MediaRules = MediaRules(),  # noqa: B008 - frozen
        ack_max_chars: str | float | None = ACK_MAX_CHARS,
        tell: Callable[[str], None] = logger.warning,
        waits: Sequence[float] = WAITS,
        deadline: float = SEND_DEADLINE,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._deliveries = deliveries
        self._posting = Posting(deliveries, outbox, tell=tell, waits=waits, deadline=deadline, sleep=sleep)
        self._media = media
        self._ack_max_chars = ack_max_chars
        self._now = now
        self._sleep = sleep
        self._wall = wall
        self._trying: anyio.abc.TaskGroup | None = None
        self._waiting: set[str] = set()
        """The messages whose answers wait for a later round."""

    async def keep_trying(self) -> None:
        """Offer again what was given up, later and later, until it is taken or hopeless.

        For a task of its own, for as long as the courier is used; without it what was given up waits for the next
        start. What it is cut off at, that start makes up for as well.
        """
        async with anyio.create_task_group() as self._trying:
            try:
                await anyio.sleep_forever()
            finally:
                self._trying = None

    async def carry(
        self,
        turn: RunningTurn,
        lead: Inbound,
        *,
        trigger: Trigger = Trigger.CHAT,
        show: bool = True,
        delivery: Delivery = Delivery.AUTOMATIC,
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
            delivery: How what it says reaches the chat. Nothing is shown where the message tool alone speaks.
            hear: Hears every event, as it comes.
        """
        showing = None
        if show and delivery is Delivery.AUTOMATIC and trigger is Trigger.CHAT and self._posting.can(lead).edits:
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
            way = Way(delivery=delivery, channel=lead.channel, chat=lead.chat, topic=topic_of(lead.payload))
            return await self._end(lead, result, trigger, way, showing, place)
        finally:
            if place is not None:
                place.leave()

    async def _end(
        self,
        lead: Inbound,
        result: TurnResult,
        trigger: Trigger,
        way: Way,
        showing: Showing | None,
        place: Place | None,
    ) -> Carried:
        """Deliver what a turn that is over says."""
        reply = self._decided(result, trigger, way)
        if Failure.SHUTDOWN is result.failure or EndedBy.SHUTDOWN is result.ended_by:
            return Carried(result, reply, None)  # the next start looks what became of it
        match reply:
            case Say():
                ending = await self._say(lead, reply, result, showing, place)
            case Silent(chosen=chosen, said=said, why=why):
                if why:
                    self._posting.tell(f"{why} ({_where(lead)})")
                if chosen and showing is not None:
                    await self._withdraw(lead, showing.stands)
                if made_way(result, reply):
                    return Carried(result, reply, None)
                ending = Ending.SENT if said else Ending.SILENT if chosen else Ending.STOPPED
                await self._posting.keep(self._deliveries.settle(lead.key, ending))
        return Carried(result, reply, ending)

    async def late(
        self,
        lead: Inbound,
        texts: Sequence[Outbound],
        *,
        conversation: str = "",
        turn: str = "",
        rounds: int = 1,
        apart: Sequence[str] = (),
        aside: Aside | None = None,
    ) -> Ending | None:
        """Deliver what an earlier process did not. May be called again after it was cut off.

        Args:
            lead: The message that they answer.
            texts: The texts, with the places and the channel's ids that they have already.
            conversation: The backend's id of the conversation, as far as it is known.
            turn: The backend's id of the turn.
            rounds: How often they were offered, this time included.
            apart: See `Deliveries.answer`.
            aside: Runs the delivery beside everything else once the ledger has it; None to wait for the channel.

        Returns:
            How the messages were settled; None when they are open still.
        """
        kept = {each.place: each.text for each in texts}
        write = self._deliveries.answer(
            lead.key, kept, conversation=conversation, turn=turn, rounds=rounds, apart=apart
        )
        await self._posting.keep(write)
        if aside is not None:
            aside(partial(self._in_order, lead, texts, rounds=rounds))
            return None
        return await self._in_order(lead, texts, rounds=rounds)

    async def let_go(self, lead: Inbound, rounds: int) -> None:
        """An answer was offered often enough: settle it, and say so once."""
        self._posting.tell(f"An answer to {_where(lead)} was not delivered in {rounds} rounds, and is not tried again.")
        await self._posting.keep(self._deliveries.settle(lead.key, Ending.UNDELIVERABLE))

    async def keep(self, write: Awaitable[object]) -> None:
        """Write a step into the ledger. A store that fails holds nothing up, and the operator is told of it once."""
        await self._posting.keep(write)

    async def kept(self, write: Awaitable[Kept], otherwise: Kept) -> Kept:
        """What a write into the ledger gives; where the store fails, which is told as by `keep`, `otherwise`."""
        found = otherwise

        async def noting() -> None:
            nonlocal found
            found = await write

        await self._posting.keep(noting())
        return found

    async def _say(
        self, lead: Inbound, reply: Say, result: TurnResult, showing: Showing | None, place: Place | None
    ) -> Ending | None:
        stands = showing.stands if showing is not None else []
        plan = planned(reply, self._posting.can(lead), len(stands))
        write = self._deliveries.answer(lead.key, plan, conversation=result.conversation, turn=result.turn)
        await self._posting.keep(write)
        texts = [Outbound(lead.key, at, text) for at, text in plan.items()]
        if showing is None:
            return await self._in_order(lead, texts, place)
        words = sum(at < len(stands) for at in plan)  # these take the place of what was shown
        for at, shown in enumerate(stands[:words]):
            texts[at] = replace(texts[at], state=shown.state, sent_as=shown.sent_as)
        async with self._posting.in_order(lead, place):
            if showing.shown[:words] != [unpacked(each.text).text for each in texts[:words]] or words < len(texts):
                await showing.rest(LONGEST_WAIT)
            if not reply.rest_stays:
                await self._withdraw(lead, stands[words:])
            return await self._deliver(lead, texts, showing.shown[:words])

    def _decided(self, result: TurnResult, trigger: Trigger, way: Way) -> Reply:
        """What the chat is told, with the files that may go out."""
        reply = decide(result, trigger, ack_max_chars=self._ack_max_chars, way=way)
        return deliverable(reply, self._media, self._posting.tell)

    def planned(self, lead: Inbound, say: Say) -> dict[int, str]:
        """The messages by place, with the files that may go out, of what a chat is told that did not ask."""
        return planned(files(say, self._media, self._posting.tell), self._posting.can(lead))

    def plan(
        self, lead: Inbound, result: TurnResult, taken: int, *, delivery: Delivery = Delivery.AUTOMATIC
    ) -> Mapping[int, str] | Reply:
        """What is to be sent of a turn that an earlier process began, by place, see `advice.Plan`."""
        way = Way(delivery=delivery, channel=lead.channel, chat=lead.chat, topic=topic_of(lead.payload))
        reply = self._decided(result, Trigger.CHAT, way)
        if isinstance(reply, Silent) or reply.notice:
            return reply
        return planned(reply, self._posting.can(lead), taken)

    async def _in_order(
        self, lead: Inbound, texts: Sequence[Outbound], place: Place | None = None, *, rounds: int = 1
    ) -> Ending | None:
        async with self._posting.in_order(lead, place):
            return await self._deliver(lead, texts, rounds=rounds)

    async def _withdraw(self, lead: Inbound, shown: Sequence[Outbound]) -> None:
        for each in shown:
            if each.sent_as:
                await self._posting.withdraw(lead, each)

    async def _deliver(
        self, lead: Inbound, texts: Sequence[Outbound], shown: Sequence[str] = (), *, rounds: int = 1
    ) -> Ending | None:
        """Send texts that the ledger has; `shown` is what the first of their messages show already."""
        afters = [*texts[1:], None]
        for at, (text, after, now) in enumerate(zip(texts, afters, chain(shown, repeat("")), strict=False)):
            try:
                stands = bool(text.sent_as) and unpacked(text.text).text == now
                sent_as = text.sent_as if stands else await self._post(lead, text)
            except GaveUpError as error:
                return await self._give_up(lead, texts[at:], error, rounds)
            then = after.place if after is not None else None
            write = self._deliveries.sent(lead.key, text.place, sent_as, then=then, last=after is None)
            await self._posting.keep(write)
        return Ending.SENT

    async def _post(self, lead: Inbound, text: Outbound) -> str:
        """Send a message, or the sentence that it could not be, where it is a file that the channel will never take."""
        try:
            return await self._posting.post(lead, text)
        except GaveUpError as error:
            if not error.for_good or error.in_doubt or not is_file(text.text):
                raise
            self._posting.tell(f"The file {unpacked(text.text).media} was not taken by {_where(lead)}.")
        return await self._posting.post(lead, replace(text, text=NOT_SENT, state=Sending.PLANNED))

    async def _give_up(self, lead: Inbound, left: Sequence[Outbound], error: GaveUpError, rounds: int) -> Ending | None:
        text, perhaps = left[0], " as far as is known" if error.in_doubt else ""
        told = f"An answer to {_where(lead)} was not delivered{perhaps}"
        if error.for_good:
            self._posting.tell(f"{told}, and is not tried again.")
            await self._posting.keep(self._deliveries.settle(lead.key, Ending.UNDELIVERABLE))
            return Ending.UNDELIVERABLE
        if is_hopeless(rounds, lead.arrived_at, self._wall()):
            await self.let_go(lead, rounds)
            return Ending.UNDELIVERABLE
        write = self._deliveries.fail(lead.key, text.place, in_doubt=error.in_doubt, repeats=error.repeats)
        await self._posting.keep(write)
        state = Sending.SENDING if error.in_doubt else Sending.FAILED
        again = (Outbound(lead.key, text.place, text.text, state, text.sent_as, error.repeats), *left[1:])
        group, is_known = self._trying, lead.key in self._waiting
        if group is None or (not is_known and len(self._waiting) >= MOST_LATER):
            self._posting.tell(f"{told}; the next start tries it again.")
            return None
        if not is_known:
            self._waiting.add(lead.key)
            self._posting.tell(f"{told}; it is tried again later.")
        group.start_soon(self._try_later, lead, again, rounds)
        return None

    async def _try_later(self, lead: Inbound, texts: Sequence[Outbound], rounds: int) -> None:
        await self._sleep(LATER[min(rounds, len(LATER)) - 1])
        try:
            ending = await self.late(lead, texts, rounds=rounds + 1)
        except Exception:  # it must end no other answer; the next start has it
            logger.exception("the answer to %s was not offered again", lead.key)
            ending = Ending.UNDELIVERABLE
        if ending is not None:
            self._waiting.discard(lead.key)


def _where(lead: Inbound) -> str:
    return f"{lead.channel} {lead.chat}"


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
