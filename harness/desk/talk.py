"""One conversation at the desk: its line, the turn that runs, and what was said into that.

What is decided is in `harness.desk.line`; here it is done, each order by a task of its own, so that nothing that takes
long holds up a stop. Whatever goes wrong stays in the conversation.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar, TypeVarTuple, assert_never

import anyio
import anyio.abc
import anyio.lowlevel

from harness.agent import Agent
from harness.channels.unheard import Unheard
from harness.delivery.courier import Courier, made_way
from harness.delivery.payload import packed
from harness.desk.held import END_GRACE, Held, Over, failed
from harness.desk.left_out import left_out_text
from harness.desk.line import Batch, Begin, Interrupt, Join, LetGo, Line, Order, Why
from harness.desk.lookup import has_words, never_began, said_into, steer_in_time
from harness.errors import THE_LOG, HarnessError
from harness.inbound import ChatKind, InboundMessage, Relation
from harness.lean_values import dataclass
from harness.memory.daily import bare_reset
from harness.settings.queue import DropPolicy, QueueRules
from harness.store.admitted import Ending, Inbound, Outbound
from harness.store.deliveries import Deliveries
from harness.tasks import unbroken
from harness.timing import Clock, Timer
from harness.turns import (
    EndedBy,
    Failure,
    Outcome,
    RunningTurn,
    Steered,
    TurnEvent,
    TurnResult,
)

if TYPE_CHECKING:
    from harness.approvals.approvals import Approvals

Heard: TypeAlias = Callable[[TurnEvent], None]
"""Hears the events of a turn."""
AnyTurn = TypeVar("AnyTurn", bound=RunningTurn)
Arguments = TypeVarTuple("Arguments")
ENDINGS: Final = {Why.FULL: Ending.DROPPED, Why.STOPPED: Ending.STOPPED, Why.ANEW: Ending.STOPPED}
TOO_MANY: Final = "Too many messages wait while I am at work. I do not read all of them; please say what matters again."

NOT_KNOWN: Final = (
    "I do not know whether I have read this message in time; please send it again if I have not answered it."
)
"""What a chat is told of words that were said into a turn which never tells whether it has them."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Letter:
    """A message, and as the ledger has it."""

    message: InboundMessage
    inbound: Inbound

    @property
    def key(self) -> str:
        """The message's id."""
        return self.inbound.key


class Work(Generic[AnyTurn]):
    """What all conversations of a desk work with.

    Args:
        agent: Who answers.
        deliveries: The ledger.
        courier: Brings the answers.
        group: Where tasks run.
        clock: What pauses go by.
        tell: Hears, in one sentence, of what a person who runs the gateway should know.
        listen: Says who hears the events of a turn.
        rested: Called when no task is left.
        unheard: Takes back what a message brings that was said before it, and that no turn has.
        approvals: The way to who may answer what turns ask; None for nobody.
    """

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
        rested: Callable[[], None],
        unheard: Unheard,
        approvals: "Approvals | None" = None,
    ) -> None:
        self.approvals = approvals
        self.unheard = unheard
        self.agent = agent
        self.deliveries = deliveries
        self.courier = courier
        self.clock = clock
        self.tell = unbroken(tell)
        self.listen = listen
        self.closing = False
        """Whether nothing is begun any more; what waits is for the next start."""
        self.tasks = 0
        self._group = group
        self._rested = rested

    def spawn(self, do: Callable[[*Arguments], Awaitable[object]], *arguments: *Arguments) -> None:
        """Do something in a task of its own. Its error ends nothing else."""
        self.tasks += 1
        self._group.start_soon(self._guarded, do, arguments)

    async def _guarded(self, do: Callable[[*Arguments], Awaitable[object]], arguments: tuple[*Arguments]) -> None:
        try:
            await do(*arguments)
        except Exception:
            logger.exception("something at the desk of %s failed", self.agent.gatherer.settings.id)
        finally:
            self.tasks -= 1
            if not self.tasks:
                self._rested()


class AtWork:
    """The turn that a conversation is at, from before it is gathered."""

    def __init__(self, batch: Batch[Letter]) -> None:
        self.lead = batch.messages[0]
        """The message that it is named after."""
        self.senders = {each.message.sender.id for each in batch.messages}
        """Whom it answers."""
        self.turn: Held | Over | None = None
        self.result: TurnResult | None = None
        """How that ended."""
        self.known = anyio.Event()
        """Set once there is `turn`."""
        self.scope = anyio.CancelScope()
        """Around all that comes before it."""
        self.ends: EndedBy | None = None
        """Who wants its end."""
        self.in_order = anyio.Lock()
        """What joins it is said to it in its order."""
        self.limit: Timer | None = None
        """When it is given up, once somebody wants its end."""


class Talk(Generic[AnyTurn]):
    """One conversation.

    Args:
        work: What it works with.
        rules: Says what holds in it now.
        left: Called when it may be forgotten.
    """

    def __init__(self, work: Work[AnyTurn], rules: Callable[[], QueueRules], left: Callable[[], None]) -> None:
        self.intake = anyio.Lock(fast_acquire=True)
        """Messages are taken in one after the other, in the order in which they came."""
        self.users = 0
        """Those who are about to do something with it."""
        self.stops = 0
        """How often it was stopped."""
        self._work = work
        self._rules = rules
        self._left = left
        self._line = Line[Letter]()
        self._at: AtWork | None = None
        self._timer: Timer | None = None
        self._told_full = False

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return self._line.idle

    @property
    def forgettable(self) -> bool:
        """Whether nothing is lost with it."""
        return self.idle and not self.users

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return len(self._line.waiting)

    def answers(self, sender: str) -> bool:
        """Whether the turn that runs answers somebody."""
        return self._at is not None and sender in self._at.senders

    def arrive(self, letter: Letter, *, resets: bool, begun: bool) -> None:
        """Take a message in that the ledger has.

        Args:
            letter: The message.
            resets: It is a bare /new or /reset of somebody who may say so.
            begun: The ledger has it as running in a turn of its own, as nobody was at work.
        """
        orders = self._line.arrive(letter, self._rules(), self._work.clock.time(), resets=resets)
        self._do(orders, begun=begun)

    def change(self, message: InboundMessage) -> Letter | None:
        """Let a changed message wait in the place of the one that it changes; None when that one does not wait.

        Gives what waits now, under the other one's id; what was said before and came with that comes with it.
        """
        now = list[Letter]()

        def same(other: Letter) -> bool:
            was = other.message
            is_reset = bare_reset(was.text) is not None
            return was.message_id == message.message_id and not was.pressed and not is_reset

        def changed(other: Letter) -> Letter:
            was = other.message
            before = (each for each in was.quoted if each.relation is Relation.BEFORE)
            # Nobody was told of it as it was before, so to the agent it is no changed one.
            made = replace(message, quoted=(*before, *message.quoted), edited=was.edited, event_id=was.event_id)
            now.append(Letter(made, replace(other.inbound, payload=packed(made))))
            return now[0]

        return now[0] if self._line.change(same, changed) is not None else None

    def stop(self) -> tuple[bool, int]:
        """End the turn, and let go of what waits; tells whether there was a turn, and how many waited."""
        waited, at = self.waiting, self._at
        self.stops += 1
        self._do(self._line.stop())
        return at is not None, waited

    def look(self) -> None:
        """See what is to be done, as time has passed or other rules hold."""
        self._do(self._line.look(self._rules(), self._work.clock.time()))

    def rest(self) -> None:
        """Look at nothing any more: the desk closes."""
        self._set_timer()

    def let_go(self, letter: Letter, why: Why) -> None:
        """Do nothing about a message that the ledger has."""
        self._take_back(letter, why)
        self._work.spawn(self._let_go, letter, why)

    # orders

    def _do(self, orders: Sequence[Order[Letter]], *, begun: bool = False) -> None:
        for order in orders:
            match order:
                case Begin(batch):
                    if not self._work.closing:
                        self._at = AtWork(batch)
                        self._work.spawn(self._run, self._at, batch, begun)
                case Join(batch):
                    if self._at is not None and not self._work.closing:
                        self._at.senders.update(each.message.sender.id for each in batch.messages)
                        self._work.spawn(self._join, self._at, batch)
                case Interrupt(stopped):
                    if self._at is not None:
                        self._end(self._at, EndedBy.PERSON if stopped else EndedBy.GIVEN_WAY)
                case LetGo(letter, why):
                    self._take_back(letter, why)
                    self._work.spawn(self._let_go, letter, why)
                case _:
                    assert_never(order)
        self._set_timer()
        if self.forgettable:
            self._told_full = False
            self._left()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = None if self._work.closing else self._line.due(self._rules())
        if due is not None:
            self._timer = self._work.clock.call_at(due, self.look)

    def _end(self, at: AtWork, by: EndedBy) -> None:
        at.ends = at.ends or by
        if at.turn is None:
            at.scope.cancel()
        else:
            self._interrupt(at, at.turn, at.ends)

    def _interrupt(self, at: AtWork, turn: Held | Over, by: EndedBy) -> None:
        self._work.spawn(turn.interrupt, by)
        if isinstance(turn, Held) and at.limit is None and at.result is None:
            clock = self._work.clock
            at.limit = clock.call_at(clock.time() + END_GRACE, partial(self._give_up, at, turn, by))

    def _give_up(self, at: AtWork, turn: Held, by: EndedBy) -> None:
        where = f"{at.lead.inbound.channel} {at.lead.inbound.chat}"
        self._work.tell(f"A turn of {where} goes on though it was to end; nobody waits for it any longer.")
        turn.give_up(by)

    # one turn

    async def _run(self, at: AtWork, batch: Batch[Letter], begun: bool) -> None:
        if not begun:
            keys = [each.key for each in batch.messages]
            await self._work.courier.keep(self._work.deliveries.begin(keys, at.lead.key))
        heard: Heard | None = None
        try:
            with at.scope:
                await anyio.lowlevel.checkpoint_if_cancelled()  # somebody stopped it while the ledger was written
                first, *more = (each.message for each in batch.messages)
                approvals = self._work.approvals
                asker = None if approvals is None else approvals.of(first)
                turn = await self._work.agent.receive(first, *more, left_out=_left_out(batch), asker=asker)
                at.turn = Held(turn)
                heard = self._work.listen(first, turn)
        except HarnessError as error:
            at.turn = at.turn or Over(failed(str(error)))
        except Exception:
            logger.exception("the turn for %s could not be begun", at.lead.key)
            at.turn = at.turn or Over(failed(f"The gateway had an internal error; {THE_LOG}."))
        if at.turn is None:
            at.turn = Over(TurnResult(Outcome.INTERRUPTED, "", ended_by=at.ends or EndedBy.PERSON))
        elif at.ends is not None:
            self._interrupt(at, at.turn, at.ends)
        at.known.set()
        self._work.spawn(self._carry, at.turn, at.lead, heard)
        try:
            at.result = await at.turn.result()
        finally:
            if at.limit is not None:
                at.limit.cancel()
        back: Batch[Letter] | None = None
        try:
            back = batch if await self._is_owed(at, batch) else None
        except Exception:  # whatever it is, the conversation goes on
            logger.exception("whether %s is owed an answer is not known", at.lead.key)
        is_known = isinstance(at.turn, Over) or at.turn.end is None
        if back is None and is_known and never_began(at.result):
            for each in batch.messages:
                self._work.unheard.give_back(each.message)
        self._at = None
        self._do(self._line.over(self._rules(), self._work.clock.time(), back=back))

    async def _is_owed(self, at: AtWork, batch: Batch[Letter]) -> bool:
        """Whether a turn made way before the conversation had the words that it was begun with. Settles them if not."""
        if at.turn is None or at.result is None or not made_way(at.result):
            return False
        keep, deliveries = self._work.courier.keep, self._work.deliveries
        if await has_words(self._work.agent.harness, at.lead.inbound, at.result):
            await keep(deliveries.settle(at.lead.key, Ending.STOPPED))
            return False
        await keep(deliveries.give_back([each.key for each in batch.messages]))
        return True

    async def _carry(self, turn: Held | Over, lead: Letter, heard: Heard | None) -> None:
        if isinstance(turn, Held):
            with turn.within():
                await self._bring(turn, lead, heard)
                return
            turn, heard = Over(await turn.result()), None
        await self._bring(turn, lead, heard)

    async def _bring(self, turn: RunningTurn, lead: Letter, heard: Heard | None) -> None:
        # In a group silence is usual, and what was shown would have to be taken back.
        show = lead.message.chat.kind is ChatKind.DIRECT
        try:
            delivery = self._work.agent.delivery(lead.message)
            await self._work.courier.carry(turn, lead.inbound, show=show, delivery=delivery, hear=heard)
        except Exception:
            logger.exception("the answer to %s was not delivered", lead.key)
            self._work.tell(f"An answer to {lead.inbound.channel} {lead.inbound.chat} was not delivered; {THE_LOG}.")

    # what joins it

    async def _join(self, at: AtWork, batch: Batch[Letter]) -> None:
        async with at.in_order:
            await at.known.wait()
            keys = [each.key for each in batch.messages]
            await self._work.courier.keep(self._work.deliveries.begin(keys, at.lead.key, steered=True))
            self._work.spawn(self._steer, at, batch, keys)

    async def _steer(self, at: AtWork, batch: Batch[Letter], keys: list[str]) -> None:
        turn, deliveries = at.turn, self._work.deliveries
        first, *more = (each.message for each in batch.messages)
        steered: Steered | None = Steered.OVER
        if turn is not None:
            try:
                words = self._work.agent.joining(first, *more, left_out=_left_out(batch))
                steered = None
                steered = await steer_in_time(turn, words, keys[0], self._work.clock)
            except Exception:
                logger.exception("%s could not be said into the turn for %s", keys[0], at.lead.key)
        if steered is None and turn is not None:
            steered = await said_into(self._work.agent.harness, at.lead.inbound, keys, turn)
            if steered is Steered.UNKNOWN and not await _goes_down(turn):
                self._own_up(batch)
                self._joined(batch)
                return
        assert steered is not None
        if steered.refused:
            await self._work.courier.keep(deliveries.give_back(keys))
        elif steered is Steered.TAKEN or not await _goes_down(turn):  # else the next start looks who has them
            await self._work.courier.keep(deliveries.joined(keys))
        self._joined(batch, taken=not steered.refused)

    def _joined(self, batch: Batch[Letter], *, taken: bool = True) -> None:
        self._do(self._line.joined(batch, self._rules(), self._work.clock.time(), taken=taken))

    def _own_up(self, batch: Batch[Letter]) -> None:
        """Say that nobody knows whether messages were read: they are not said twice, and not passed over in silence."""
        first, *_ = batch.messages
        where = f"{first.inbound.channel} {first.inbound.chat}"
        self._work.tell(f"It is not known whether a message of {where} was read; its chat is told.")
        apart = [each.key for each in batch.messages]
        self._work.spawn(
            partial(self._work.courier.late, first.inbound, [Outbound(first.key, 0, NOT_KNOWN)], apart=apart)
        )

    # what is let go of

    def _take_back(self, letter: Letter, why: Why) -> None:
        if why is not Why.ANEW:  # that forgets what was said before
            self._work.unheard.give_back(letter.message)

    async def _let_go(self, letter: Letter, why: Why) -> None:
        await self._work.courier.keep(self._work.deliveries.settle(letter.key, ENDINGS[why]))
        if why is Why.FULL and not self._told_full and self._rules().drop is not DropPolicy.SUMMARIZE:
            self._told_full = True
            where = f"{letter.inbound.channel} {letter.inbound.chat}"
            self._work.tell(f"Too many messages of {where} wait, and some are let go of.")
            if letter.message.chat.kind is ChatKind.DIRECT:
                await self._work.courier.late(letter.inbound, [Outbound(letter.key, 0, TOO_MANY)])


async def _goes_down(turn: RunningTurn | None) -> bool:
    """Whether the gateway's end ended a turn of which nobody knows what it has."""
    if turn is None:
        return False
    result = await turn.result()
    return result.failure is Failure.SHUTDOWN or result.ended_by is EndedBy.SHUTDOWN


def _left_out(batch: Batch[Letter]) -> str:
    return left_out_text([each.message.message for each in batch.left_out], batch.left_out_count)
