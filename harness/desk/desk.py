"""What a gateway holds for one agent: takes its messages in, and sees that each is answered once, in its order.

A message is either said into the turn that runs or a part of the next one, see `harness.desk.line`, and what it brings
comes back to its chat by the courier. To stop waits for none of that: no message before it, no store and no harness.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, Generic

import anyio

from harness.agent import Agent
from harness.channels.unheard import Unheard
from harness.compaction import compaction_of
from harness.delivery.advice import NOT_KEPT, Reconciler
from harness.delivery.courier import Courier
from harness.delivery.payload import inbound_of, unpacked
from harness.delivery.starting import Advised, recover, recovering
from harness.desk.commands import QueueCommand, compact_command, is_stop, queue_command, told
from harness.desk.held import END_GRACE
from harness.desk.line import Why
from harness.desk.talk import AnyTurn, Heard, Letter, Talk, Work
from harness.errors import THE_LOG, HarnessError, StoreError
from harness.inbound import ChatKind, InboundMessage
from harness.lean_values import dataclass
from harness.memory.access import Audience
from harness.memory.daily import bare_reset
from harness.replies.gate import Reply
from harness.replies.mode import Delivery
from harness.settings.queue import QueueRules
from harness.store.admitted import Admission, Inbound, Outbound
from harness.store.deliveries import Deliveries
from harness.tasks import beside
from harness.timing import Clock
from harness.turns import Stops, TurnResult

if TYPE_CHECKING:
    from harness.approvals.approvals import Approvals

MOST_SEEN: Final = 10_000
"""Messages of which is known, besides the ledger, that they came in."""
MOST_REMEMBERED: Final = 1_000
"""Messages that an earlier process settled, and that are known at the start; a channel brings the last ones again."""
MOST_OVERRIDDEN: Final = 1_000
"""Conversations in which somebody said how messages are queued."""
PATIENCE: Final = 10.0
"""Seconds that the end of a desk waits for turns that run."""

logger = logging.getLogger(__name__)


class Receipt(Enum):
    """What a message was to the desk."""

    TAKEN_IN = "taken in"
    """It is answered, or its chat hears why it is not."""
    TWICE = "came twice"
    """It came in before, and nothing else is done about it."""
    OBEYED = "obeyed"
    """It was said to the gateway, which did what it says, or tells what is wrong with it."""
    HEARD = "heard"
    """It begins no turn, as it calls nobody or changes what the agent has already; the next message of its conversation
    that the agent hears tells of it."""
    CHANGED = "changed"
    """It waits in the place of the message that it changes."""
    KEPT = "kept"
    """The desk closes; the next start answers it."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a stop found."""

    turns: int
    """Turns that ran in the conversation or were about to, and other agents that worked for it."""
    waiting: int
    """Messages that waited."""

    @property
    def told(self) -> str:
        """What the chat hears of it."""
        let_go = {0: "", 1: "One message that waited was let go of."}
        rest = let_go.get(self.waiting, f"{self.waiting} messages that waited were let go of.")
        return f"Stopped. {rest}".rstrip() if self.turns or self.waiting else "There is nothing to stop."


class Desk(Generic[AnyTurn]):
    """The front of one agent; open one with `open_desk`."""

    def __init__(
        self,
        agent: Agent[AnyTurn],
        deliveries: Deliveries,
        courier: Courier,
        group: anyio.abc.TaskGroup,
        *,
        clock: Clock,
        tell: Callable[[str], None],
        listen: Callable[[InboundMessage, AnyTurn], Heard | None],
        now: Callable[[], float],
        approvals: "Approvals | None" = None,
    ) -> None:
        self._agent = agent
        self._deliveries = deliveries
        self._courier = courier
        self._group = group
        self._now = now
        self._unheard = Unheard(agent.gatherer.settings.replies)
        self._work = Work(
            *(agent, deliveries, courier, group),
            clock=clock,
            tell=tell,
            listen=listen,
            rested=self._look_for_rest,
            unheard=self._unheard,
            approvals=approvals,
        )
        self._talks: dict[str, Talk[AnyTurn]] = {}
        self._said: dict[str, QueueCommand] = {}
        self._seen: dict[str, Receipt] = {}
        """What messages were that came in; of one that came twice, what it was at first."""
        self._rest = anyio.Event()
        self._ailing = False
        """Whether it was told that the store takes no messages in."""

    async def receive(self, message: InboundMessage) -> Receipt:
        """Take a message in. Returns as soon as the ledger has it; a stop is obeyed before that.

        Messages of one conversation are taken in in the order of the calls.
        """
        session_key = self._agent.conversation(message)
        if (receipt := self._obey(message, session_key)) is not None:
            return receipt
        if not message.edited:
            if message.key in self._seen:
                return Receipt.TWICE
            if (said := self._hear(message)) is None:
                return Receipt.HEARD
            message = said
        talk = self._talk(session_key, message.channel)
        talk.users += 1
        stops = talk.stops
        receipt = Receipt.TWICE
        try:
            async with talk.intake:
                with anyio.CancelScope(shield=True):  # what the ledger has is not left there
                    receipt = await self._take_in(message, talk, session_key, stops)
        finally:
            talk.users -= 1
            self._forget(session_key)
        return receipt

    async def stop(self, session_key: str) -> Stopped:
        """End what runs in a conversation, and let go of what waits there. Waits for the ends, seconds at most."""
        talk = self._talks.get(session_key)
        ran, waiting = talk.stop() if talk is not None else (False, 0)
        return await self._stop_the_rest(session_key, int(ran), waiting)

    async def remember(self) -> None:
        """Know again what an earlier process settled; `open_desk` calls this at the begin of its block.

        A stop waits for no store, so one that comes again has to be known for that before.
        """
        try:
            for key in await self._deliveries.settled_keys(MOST_REMEMBERED):
                self._seen[key] = Receipt.TAKEN_IN
        except StoreError as error:
            logger.warning("%s", error)

    async def recover(self, reconciler: Reconciler | None = None) -> list[Advised]:
        """Make up for what an earlier process left open; gives that. For a start, before messages are taken in.

        What cannot be looked up yet is looked for again, beside everything else, and no channel is waited for.

        Args:
            reconciler: Who knows what became of the turns; a harness may.

        Raises:
            StoreError: The store cannot be read.
        """
        steps = (self._deliveries, self._courier, self._again, reconciler)
        advised = await recover(*steps, plan=self._plan, aside=self._work.spawn)
        if any(each.is_pending for each in advised):
            self._group.start_soon(partial(recovering, *steps, plan=self._plan, aside=self._work.spawn))
        return advised

    @property
    def busy(self) -> bool:
        """Whether anything waits or runs, or an answer is on its way."""
        return bool(self._talks or self._work.tasks)

    async def settled(self) -> None:
        """Wait until nothing waits and nothing runs, and every answer is delivered or given up."""
        while self.busy:
            await self._next_rest()

    async def close(self, patience: float = PATIENCE) -> None:
        """Begin nothing any more, and give what runs some time; `open_desk` calls this at the end of its block.

        What waits, and what comes in, is kept for the next start.
        """
        self._work.closing = True
        for talk in self._talks.values():
            talk.rest()
        with anyio.move_on_after(patience):
            while self._work.tasks:
                await self._next_rest()

    # taking in

    def _hear(self, message: InboundMessage) -> InboundMessage | None:
        """The message for the agent, with what was said before it; None for one that is only kept."""
        if bare_reset(message.text) is not None:
            self._unheard.forget(message)
        said = self._unheard.hear(message)
        if said is None:
            self._see(message, Receipt.HEARD)
        return said

    async def _changed(self, message: InboundMessage, talk: Talk[AnyTurn]) -> InboundMessage | Receipt:
        """What a message that changes another one is to the desk; the message for the agent where it is like a new one.

        Whoever was answered is not answered once more because of a mended letter: the agent hears of it next time.
        """
        if (waits := talk.change(message)) is not None:
            self._see(message, Receipt.CHANGED)
            await self._courier.keep(self._deliveries.change(waits.key, waits.inbound.payload))
            return Receipt.CHANGED
        before = replace(message, event_id="").key
        was = self._seen.get(before)
        if was is Receipt.HEARD or (was is None and not await self._knows(message)):
            said = self._hear(message)
            if said is not None:
                self._seen[before] = Receipt.TAKEN_IN
            return said or Receipt.HEARD
        self._see(message, Receipt.HEARD)
        self._unheard.keep(message)
        return Receipt.HEARD

    async def _knows(self, message: InboundMessage) -> bool:
        try:
            return await self._deliveries.knows(message.channel, message.chat.id, message.message_id)
        except StoreError as error:
            logger.warning("%s", error)
            return False

    async def _take_in(self, message: InboundMessage, talk: Talk[AnyTurn], session_key: str, stops: int) -> Receipt:
        if message.key in self._seen:
            self._unheard.give_back(message)
            return Receipt.TWICE
        if message.edited:
            changed = await self._changed(message, talk)
            if isinstance(changed, Receipt):
                return changed
            message = changed
        begins = talk.idle and not self._work.closing
        letter = Letter(message, inbound_of(message, session_key, arrived_at=self._now()))
        try:
            admission = await self._deliveries.admit(letter.inbound, running=begins)
        except StoreError as error:
            logger.warning("%s", error)
            if not self._ailing:
                self._work.tell(f"{error} Until it can, a restart does not know which messages came in.")
            self._ailing, admission = True, Admission.NEW
        except Exception:  # whatever it is, the message at hand is not lost by it
            logger.exception("the store does not take %s in", letter.key)
            admission = Admission.NEW
        else:
            self._ailing = False
        if admission is not Admission.NEW:  # not seen here: the recovery may still take it in
            self._unheard.give_back(message)
            return Receipt.TWICE
        self._see(message)
        if self._work.closing:
            if begins:
                await self._courier.keep(self._deliveries.give_back([letter.key]))
            return Receipt.KEPT
        if talk.stops != stops:  # somebody stopped the conversation after this came
            talk.let_go(letter, Why.STOPPED)
        else:
            resets = bare_reset(message.text) is not None and self._may_stop(message, talk)
            talk.arrive(letter, resets=resets, begun=begins)
        return Receipt.TAKEN_IN

    def _see(self, message: InboundMessage, was: Receipt = Receipt.TAKEN_IN) -> bool:
        """Remember a message; tells whether it is new."""
        if message.key in self._seen:
            return False
        self._seen[message.key] = was
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        return True

    def _plan(self, lead: Inbound, result: TurnResult, taken: int) -> Mapping[int, str] | Reply:
        """See `advice.Plan`: what is to be sent of a turn that an earlier process had, as its chat is spoken to."""
        message = unpacked(lead.payload)
        delivery = self._work.agent.delivery(message) if message is not None else Delivery.AUTOMATIC
        return self._courier.plan(lead, result, taken, delivery=delivery)

    async def _again(self, inbound: Inbound) -> None:
        """Take a message in that an earlier process had."""
        message = unpacked(inbound.payload)
        if message is None:
            await self._courier.late(inbound, [Outbound(inbound.key, 0, NOT_KEPT)], aside=self._work.spawn)
        else:
            await self.receive(message)

    # what is said to the gateway

    def _obey(self, message: InboundMessage, session_key: str) -> Receipt | None:
        """Do what a message says to the gateway; None for one that is for the agent."""
        direct, talk = message.chat.kind is ChatKind.DIRECT, self._talks.get(session_key)
        if is_stop(message.text, direct=direct) and self._may_stop(message, talk):
            if not self._see(message):
                return Receipt.TWICE
            ran, waiting = talk.stop() if talk is not None else (False, 0)
            self._work.spawn(self._tell_stopped, message, session_key, int(ran), waiting)
            return Receipt.OBEYED
        answer = self._work.approvals.heard(message) if self._work.approvals is not None else None
        if answer is not None:
            # A pressed button may come with the id of the message that it stands under, any number of times.
            if not message.pressed and not self._see(message):
                return Receipt.TWICE
            self._work.spawn(answer)
            return Receipt.OBEYED
        if self._work.approvals is None and _may_be_for_an_ask(message):
            from harness.approvals.said import UNKNOWN, is_for_an_ask  # few desks are without, and few messages are

            if is_for_an_ask(message):
                if self._see(message):
                    self._work.spawn(self._answer, message, session_key, UNKNOWN)
                    return Receipt.OBEYED
                return Receipt.TWICE
        problem, command = compact_command(message.text), queue_command(message.text)
        if (problem is None and command is None) or not self._is_owner(message):
            return None
        if not self._see(message):
            return Receipt.TWICE
        if problem is not None:
            self._work.spawn(self._summarise, message, session_key, problem)
            return Receipt.OBEYED
        assert command is not None
        self._work.spawn(self._answer, message, session_key, self._queue(command, session_key, message.channel))
        return Receipt.OBEYED

    def _queue(self, command: QueueCommand, session_key: str, channel: str) -> str:
        """Let something hold in a conversation; gives the sentence about it."""
        if command.problem:
            return command.problem
        said = self._said.pop(session_key, QueueCommand())
        if not command.clears and (merged := said.then(command)) != QueueCommand():
            self._said[session_key] = merged
            if len(self._said) > MOST_OVERRIDDEN:
                del self._said[next(iter(self._said))]
        if (talk := self._talks.get(session_key)) is not None:
            talk.look()
        return told(self._rules(session_key, channel))

    async def _summarise(self, message: InboundMessage, session_key: str, problem: str) -> None:
        """Put a summary in place of what a conversation holds, and say what came of it.

        It takes its turn among the turns of the conversation, and a stop ends it like one of them.
        """
        if not await self._is_new(inbound := inbound_of(message, session_key, arrived_at=self._now())):
            return
        try:
            sentence = problem or compaction_of(await (await self._agent.compact(session_key)).result()).sentence
        except HarnessError as error:
            sentence = str(error)
        except Exception:
            logger.exception("summarising %s", session_key)
            sentence = f"The gateway had an internal error; {THE_LOG}."
        await self._say(inbound, sentence)

    async def _tell_stopped(self, message: InboundMessage, session_key: str, ran: int, waiting: int) -> None:
        inbound, is_new = inbound_of(message, session_key, arrived_at=self._now()), anyio.Event()
        stopped = Stopped(ran, waiting)

        async def admit() -> None:  # beside it: a stop waits for no store
            if await self._is_new(inbound):
                is_new.set()

        async with anyio.create_task_group() as group:
            group.start_soon(admit)
            stopped = await self._stop_the_rest(session_key, ran, waiting)
        if is_new.is_set():
            await self._say(inbound, stopped.told)

    async def _stop_the_rest(self, session_key: str, ran: int, waiting: int) -> Stopped:
        """Also stop what the desk did not begin, and what outlived its turn."""
        harness = self._agent.harness
        if isinstance(harness, Stops):
            try:
                with anyio.move_on_after(END_GRACE):
                    ran = max(ran, await harness.stop(session_key))
            except Exception:  # a backend that breaks its word: whoever stopped it hears of the rest
                logger.exception("what else runs for %s is not stopped", session_key)
        return Stopped(ran, waiting)

    async def _answer(self, message: InboundMessage, session_key: str, sentence: str) -> None:
        """Say something of ours to a message that no turn answers."""
        inbound = inbound_of(message, session_key, arrived_at=self._now())
        if await self._is_new(inbound):
            await self._say(inbound, sentence)

    async def _is_new(self, inbound: Inbound) -> bool:
        """Take what was said to the gateway into the ledger, before anything that takes long is done about it."""
        try:
            return await self._deliveries.admit(inbound) is Admission.NEW
        except StoreError as error:
            logger.warning("%s", error)
        except Exception:  # whatever it is, somebody waits for a word
            logger.exception("the store does not take %s in", inbound.key)
        return True

    async def _say(self, inbound: Inbound, sentence: str) -> None:
        await self._courier.late(inbound, [Outbound(inbound.key, 0, sentence)])

    def _may_stop(self, message: InboundMessage, talk: Talk[AnyTurn] | None) -> bool:
        """Whether somebody may end what others in the conversation wait for."""
        if message.chat.kind is ChatKind.DIRECT or self._agent.owners is None or self._is_owner(message):
            return True
        return talk is not None and talk.answers(message.sender.id)

    def _is_owner(self, message: InboundMessage) -> bool:
        owners = self._agent.owners or ()
        return self._agent.audience(message) is Audience.OWNER or message.sender.id in owners

    # conversations

    def _talk(self, session_key: str, channel: str) -> Talk[AnyTurn]:
        talk = self._talks.get(session_key)
        if talk is None:
            talk = Talk(self._work, lambda: self._rules(session_key, channel), lambda: self._forget(session_key))
            self._talks[session_key] = talk
        return talk

    def _rules(self, session_key: str, channel: str) -> QueueRules:
        rules = self._agent.gatherer.settings.queue.of(channel)
        said = self._said.get(session_key)
        return rules if said is None else said.over(rules)

    def _forget(self, session_key: str) -> None:
        talk = self._talks.get(session_key)
        if talk is not None and talk.forgettable:
            del self._talks[session_key]
            self._look_for_rest()

    async def _next_rest(self) -> None:
        if self._rest.is_set():  # else others wait for it as well
            self._rest = anyio.Event()
        await self._rest.wait()

    def _look_for_rest(self) -> None:
        if not self._work.tasks:
            self._rest.set()


@asynccontextmanager
async def open_desk(
    agent: Agent[AnyTurn],
    deliveries: Deliveries,
    courier: Courier,
    *,
    tell: Callable[[str], None] = logger.warning,
    listen: Callable[[InboundMessage, AnyTurn], Heard | None] = lambda message, turn: None,
    clock: Clock | None = None,
    now: Callable[[], float] = time.time,
    patience: float = PATIENCE,
    approvals: "Approvals | None" = None,
) -> AsyncGenerator[Desk[AnyTurn]]:
    """Take messages in for an agent for as long as the block lasts, which is inside that of its harness.

    Args:
        agent: Who answers.
        deliveries: The ledger.
        courier: Brings the answers.
        tell: Hears, in one sentence, of what a person who runs the gateway should know.
        listen: Says, as a turn begins, who hears its events; None for nobody.
        clock: What pauses go by; the running loop by default.
        now: Unix seconds.
        patience: Seconds that the end waits for turns that run.
        approvals: The way to who may answer what turns ask, and hears their answers; None: each ask is declined.
    """
    async with beside() as group:
        desk = Desk(
            *(agent, deliveries, courier, group),
            clock=clock or asyncio.get_running_loop(),
            tell=tell,
            listen=listen,
            now=now,
            approvals=approvals,
        )
        await desk.remember()
        group.start_soon(courier.keep_trying)
        yield desk
        await desk.close(patience)


def _may_be_for_an_ask(message: InboundMessage) -> bool:
    return bool(message.pressed) or message.text.lstrip()[:1] == "/"
