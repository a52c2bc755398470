"""The part of `codex-bridge status` about messages that have no answer yet, and what the next start does about them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from harness.delivery.advice import Advice, DeliverLate, Nothing, Notice, RunNow, advise, must_ask
from harness.store.admitted import OpenDelivery
from harness.store.deliveries import open_deliveries_at
from harness.store.owner import holder_of


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Messages that one turn answers, or that wait for one."""

    delivery: OpenDelivery
    plan: str
    """One sentence: who sees to them, or what the next start does."""


def undelivered_in(store: Path, now: float) -> list[Undelivered]:
    """What is open in a store, the first that came in first. Takes it from nobody, and blocks.

    Raises:
        StoreError: It cannot be read.
    """
    found = open_deliveries_at(store)
    holder = holder_of(store) if found else None
    return [Undelivered(each, _plan(each, holder, now)) for each in found]


def as_data(undelivered: Undelivered) -> dict[str, object]:
    """What `--json` prints of it."""
    delivery = undelivered.delivery
    return {
        "messages": [each.key for each in delivery.inbound],
        "sessionKey": delivery.session_key,
        "arrivedAt": delivery.inbound[0].arrived_at,
        "state": delivery.state.value,
        "plan": undelivered.plan,
    }


def _plan(delivery: OpenDelivery, holder: int | None, now: float) -> str:
    if holder not in (None, os.getpid()):
        return f"Process {holder} sees to it."
    if must_ask(delivery):
        return "The next start looks up what became of its turn."
    return _said(advise(delivery, None, now=now))


def _said(advice: Advice) -> str:
    match advice:
        case DeliverLate(texts=texts):
            return f"The next start delivers its answer ({len(texts)} text{'s' if len(texts) > 1 else ''})."
        case Notice(sentence=sentence):
            return f"The next start says: {sentence}"
        case RunNow():
            return "The next start runs it."
        case Nothing(reason=reason):
            return f"Nothing is left to be done: {reason}."
        case _:
            assert_never(advice)
