"""What a gateway makes up for when it starts: looks up what was left open, and carries out what is advised."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, repeat
from typing import Final, assert_never

import anyio

from harness.delivery.advice import (
    BROKE_OFF,
    STALE,
    Advice,
    DeliverLate,
    Fate,
    Looked,
    Nothing,
    Notice,
    Plan,
    Reconciler,
    RunNow,
    advise,
    as_it_is,
    must_ask,
    parted,
)
from harness.delivery.courier import Aside, Courier
from harness.errors import StoreError
from harness.lean_values import dataclass
from harness.store.admitted import Ending, Inbound, OpenDelivery, Outbound
from harness.store.deliveries import Deliveries

LOOK_AGAIN: Final = (5.0, 15.0, 60.0)
"""Seconds after which it is looked again for what could not be known yet."""
MOST_LOOKS: Final = 8
"""Turns that a backend is asked of at once: each takes some calls, which wait for the disk on the other side."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Advised:
    """Messages that were left open, and what to do about them."""

    delivery: OpenDelivery
    advice: Advice

    @property
    def is_pending(self) -> bool:
        """Whether nobody can say yet what is to be done."""
        return not self.delivery.ours and isinstance(self.advice, Nothing) and self.advice.ending is None


async def open_deliveries(
    deliveries: Deliveries,
    reconciler: Reconciler | None = None,
    *,
    now: Callable[[], float] = time.time,
    stale: float = STALE,
    plan: Plan = as_it_is,
) -> list[Advised]:
    """What an earlier process left open, in the order in which it came in, with advice. Changes nothing.

    Args:
        deliveries: The ledger.
        reconciler: Who knows what became of the turns; None for nobody.
        now: Unix seconds.
        stale: See `advice.STALE`.
        plan: Says what is to be sent of a turn's result.

    Raises:
        StoreError: The store cannot be read.
    """
    left = await deliveries.open()
    seen: dict[int, Looked] = {}
    if reconciler is not None:
        places = anyio.CapacityLimiter(MOST_LOOKS)
        async with anyio.create_task_group() as group:
            for at, each in enumerate(left):
                if must_ask(each):
                    group.start_soon(_look, reconciler, each, places, seen, at)
    advised: list[Advised] = []
    for at, each in enumerate(left):
        looked = seen.get(at)
        for part in parted(each, looked):
            found = looked.found if looked is not None else None
            try:
                advice = advise(part, found, now=now(), stale=stale, plan=plan)
            except Exception:  # it costs the others nothing, and its chat hears that there is no answer
                logger.exception("what became of %s cannot be told", part.lead)
                advice = Notice(BROKE_OFF)
            advised.append(Advised(part, advice))
    return advised


async def _look(
    reconciler: Reconciler, each: OpenDelivery, places: anyio.CapacityLimiter, seen: dict[int, Looked], at: int
) -> None:
    """Ask what became of a turn, when there is a place for it."""
    async with places:
        try:
            seen[at] = await reconciler.reconcile(
                each.session_key, each.lead, conversation=each.conversation, steered=each.steered
            )
        except Exception:  # a backend that breaks its word costs the others nothing
            logger.exception("what became of %s cannot be looked up", each.lead)
            seen[at] = Looked(Fate.UNREACHABLE)


async def recover(
    deliveries: Deliveries,
    courier: Courier,
    run: Callable[[Inbound], Awaitable[None]],
    reconciler: Reconciler | None = None,
    *,
    now: Callable[[], float] = time.time,
    stale: float = STALE,
    plan: Plan | None = None,
    aside: Aside | None = None,
) -> list[Advised]:
    """Do what is advised about everything that was left open; gives that. For a start, before messages are taken in.

    May be cut off anywhere, and begun again by the next start: what was done is not done twice. An error that comes up
    with one of them keeps back no other.

    Args:
        deliveries: The ledger.
        courier: Delivers.
        run: Takes a message in as if it came in now; the ledger then has it as new.
        reconciler: See `open_deliveries`.
        now: Unix seconds.
        stale: See `advice.STALE`.
        plan: Says what is to be sent of a turn's result; None for `Courier.plan`.
        aside: See `Courier.late`.

    Raises:
        StoreError: The store cannot be read.
    """
    advised = await open_deliveries(deliveries, reconciler, now=now, stale=stale, plan=plan or courier.plan)
    # Before anything is delivered: what is settled with a turn may not be what the turn does not have.
    runs = [each.key for one in advised if isinstance(one.advice, RunNow) for each in one.delivery.inbound]
    if runs:
        await _written(deliveries.give_back(runs, anybody=True))
    for each in advised:
        logger.info("%s was left open: %s", each.delivery.lead, each.advice)
        try:
            await _carry_out(each, deliveries, courier, run, aside)
        except Exception:
            logger.exception("what was left open of %s is not made up for", each.delivery.lead)
    return advised


async def recovering(
    deliveries: Deliveries,
    courier: Courier,
    run: Callable[[Inbound], Awaitable[None]],
    reconciler: Reconciler | None = None,
    *,
    now: Callable[[], float] = time.time,
    stale: float = STALE,
    plan: Plan | None = None,
    aside: Aside | None = None,
    waits: Sequence[float] = LOOK_AGAIN,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> None:
    """`recover`, and once more after each wait as long as something is left of which nobody can say yet how it ends.

    A turn may still run on a server that outlived the gateway, and a backend may not be there yet. For a task of its
    own, after the first `recover`; the last wait is repeated.
    """
    pauses = chain(waits, repeat(waits[-1]))
    while True:
        try:
            advised = await recover(deliveries, courier, run, reconciler, now=now, stale=stale, plan=plan, aside=aside)
        except StoreError as error:
            logger.warning("what was left open cannot be looked up: %s", error)
        else:
            if not any(each.is_pending for each in advised):
                return
        await sleep(next(pauses))


async def _carry_out(
    advised: Advised,
    deliveries: Deliveries,
    courier: Courier,
    run: Callable[[Inbound], Awaitable[None]],
    aside: Aside | None,
) -> None:
    delivery = advised.delivery
    lead = next((each for each in delivery.inbound if each.key == delivery.lead), delivery.inbound[0])
    match advised.advice:
        case DeliverLate(texts, conversation, turn, rounds):
            await _join(delivery, deliveries)
            await courier.late(lead, texts, conversation=conversation, turn=turn, rounds=rounds, aside=aside)
        case Notice(sentence):
            place, apart = 0, list[str]()
            if delivery.led:
                await _join(delivery, deliveries)
                # What is shown of an answer stays, and the sentence follows it.
                place = max((each.place + 1 for each in delivery.outbound), default=0)
            else:  # the turn that they were said into has its own answer, and is settled
                apart = [each.key for each in delivery.inbound]
            await courier.late(lead, [Outbound(lead.key, place, sentence)], apart=apart, aside=aside)
        case RunNow():
            for each in delivery.inbound:
                await run(each)
        case Nothing(ending=Ending.UNDELIVERABLE):
            await _join(delivery, deliveries)
            await courier.let_go(lead, delivery.rounds)
        case Nothing(ending=Ending() as ending):
            await _join(delivery, deliveries)
            await _written(deliveries.settle(delivery.lead, ending))
        case Nothing():
            pass
        case _:
            assert_never(advised.advice)


async def _join(delivery: OpenDelivery, deliveries: Deliveries) -> None:
    """What was said into the turn shares its end."""
    if delivery.steered:
        await _written(deliveries.joined(delivery.steered))


async def _written(write: Awaitable[None]) -> None:
    try:
        await write
    except StoreError as error:  # made up for, or else found again by the next start
        logger.warning("%s", error)
