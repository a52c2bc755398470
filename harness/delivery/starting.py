"""What a gateway makes up for when it starts: looks up what was left open, and carries out what is advised."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import assert_never

from harness.delivery.advice import STALE, Advice, DeliverLate, Nothing, Notice, Reconciler, RunNow, advise, must_ask
from harness.delivery.courier import Courier
from harness.errors import StoreError
from harness.lean_values import dataclass
from harness.store.admitted import Ending, Inbound, OpenDelivery, Outbound
from harness.store.deliveries import Deliveries

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Advised:
    """Messages that were left open, and what to do about them."""

    delivery: OpenDelivery
    advice: Advice


async def open_deliveries(
    deliveries: Deliveries,
    reconciler: Reconciler | None = None,
    *,
    now: Callable[[], float] = time.time,
    stale: float = STALE,
) -> list[Advised]:
    """What an earlier process left open, in the order in which it came in, with advice. Changes nothing.

    Args:
        deliveries: The ledger.
        reconciler: Who knows what became of the turns; None for nobody.
        now: Unix seconds.
        stale: See `advice.STALE`.

    Raises:
        StoreError: The store cannot be read.
    """
    advised: list[Advised] = []
    for each in await deliveries.open():
        found = None
        if reconciler is not None and must_ask(each):
            found = await reconciler.reconcile(each.session_key, each.conversation, each.turn, each.lead)
        advised.append(Advised(each, advise(each, found, now=now(), stale=stale)))
    return advised


async def recover(
    deliveries: Deliveries,
    courier: Courier,
    run: Callable[[Inbound], Awaitable[None]],
    reconciler: Reconciler | None = None,
    *,
    now: Callable[[], float] = time.time,
    stale: float = STALE,
) -> list[Advised]:
    """Do what is advised about everything that was left open; gives that. For a start, before messages are taken in.

    May be cut off anywhere, and begun again by the next start: what was done is not done twice.

    Args:
        deliveries: The ledger.
        courier: Delivers.
        run: Takes a message in as if it came in now; the ledger then has it as new.
        reconciler: See `open_deliveries`.
        now: Unix seconds.
        stale: See `advice.STALE`.

    Raises:
        StoreError: The store cannot be read.
    """
    advised = await open_deliveries(deliveries, reconciler, now=now, stale=stale)
    for each in advised:
        logger.info("%s was left open: %s", each.delivery.lead, each.advice)
        try:
            await _carry_out(each, deliveries, courier, run)
        except StoreError as error:
            logger.warning("%s stays open: %s", each.delivery.lead, error)
    return advised


async def _carry_out(
    advised: Advised, deliveries: Deliveries, courier: Courier, run: Callable[[Inbound], Awaitable[None]]
) -> None:
    delivery = advised.delivery
    lead = next((each for each in delivery.inbound if each.key == delivery.lead), delivery.inbound[0])
    match advised.advice:
        case DeliverLate(texts, conversation, turn):
            await courier.late(lead, texts, conversation=conversation, turn=turn)
        case Notice(sentence):
            # What is shown of an answer stays, and the sentence follows it.
            place = max((each.place + 1 for each in delivery.outbound), default=0)
            await courier.late(lead, [Outbound(delivery.lead, place, sentence)])
        case RunNow():
            await deliveries.release(delivery.lead)
            for each in delivery.inbound:
                await run(each)
        case Nothing(ending=Ending() as ending):
            await deliveries.settle(delivery.lead, ending)
        case Nothing():
            pass
        case _:
            assert_never(advised.advice)
