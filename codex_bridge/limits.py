"""When a usage limit is lifted of which Codex did not say it: the server asks the provider."""

import logging
from dataclasses import replace
from typing import Final

from codex_bridge.client import Client
from codex_bridge.errors import CodexError
from codex_bridge.replays import Pending
from codex_bridge.telling import Telling
from codex_bridge.wire.besides import LIMITS_READ, LimitsReadParams
from codex_bridge.wire.requests import TurnError
from harness.turns import Finished, TurnEvent

LOOK_WITHIN: Final = 5.0
"""Seconds for that (harness reference, 11); a gateway waits with the end of the turn for it."""

logger = logging.getLogger("codex_bridge")


async def with_reset(
    client: Client, pending: Pending, error: TurnError | None, telling: Telling, zone: str
) -> tuple[TurnEvent, ...]:
    """Look up when the limit is lifted that ended a turn; gives the end as it is to be told.

    Args:
        client: The server.
        pending: The end as it would be told without.
        error: What Codex said of it.
        telling: Tells what that means, and remembers the limits.
        zone: The time zone that the person is told times in.
    """
    try:
        limits = await client.call(LIMITS_READ, LimitsReadParams(), deadline=LOOK_WITHIN)
    except CodexError as problem:  # a provider that has no accounts is not asked
        logger.info("when the usage limit is lifted is not known: %s", problem)
        return pending.events
    told = telling.tell(error, zone, limits.rate_limits)
    known = Finished(replace(pending.result, error=told.sentence, retry_at=told.retry_at))
    return tuple(known if isinstance(event, Finished) else event for event in pending.events)
