"""How `message` hands something to a channel: in time, a few times, and nothing twice.

A call that ends in any other way than with an answer, or with `NotSentError`, may have done what it was to do.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

import anyio

from harness.delivery.outbox import NotSentError, Outbox, Outgoing
from harness.lean_values import dataclass

DEADLINE: Final = 20.0
"""Seconds for one call of the channel."""
WAITS: Final = (1.0, 4.0)
"""Seconds between two tries."""
LONGEST_WAIT: Final = 15.0
"""Seconds that a channel may ask for between two tries: the model waits meanwhile, and all of it has to end within the
time of a tool (harness reference, 5.5)."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refused:
    """The channel did not do it."""

    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The channel did not say whether it did it."""


@dataclass(frozen=True, slots=True)
class Done:
    """The channel did it."""

    sent_as: str = ""


Handed = Done | Refused | Unknown


class Hands:
    """The way to the channels.

    Args:
        outbox: The gateway's.
        waits: See `WAITS`.
        deadline: See `DEADLINE`.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        outbox: Outbox,
        *,
        waits: Sequence[float] = WAITS,
        deadline: float = DEADLINE,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._outbox = outbox
        self._waits = tuple(waits)
        self._deadline = deadline
        self._sleep = sleep

    async def send(self, outgoing: Outgoing, *, again: bool = False) -> Handed:
        """Send something. `again`: an earlier attempt ended without an answer."""
        keys = self._outbox.can(outgoing.channel).keys
        in_doubt = again

        async def once() -> str:
            return await self._outbox.send(replace(outgoing, again=in_doubt))

        for pause in (*self._waits, None):
            handed, wait = await self._once(outgoing.channel, once)
            if isinstance(handed, Unknown):
                in_doubt = True
                if not keys:  # it would stand there twice
                    return handed
            if isinstance(handed, Done) or wait is None or pause is None:
                return handed
            if (seconds := max(pause, wait)) > LONGEST_WAIT:
                return handed
            await self._sleep(seconds)
        raise AssertionError("the last try returns")

    async def do(self, channel: str, call: Callable[[], Awaitable[None]]) -> Handed:
        """Do something that may be done twice: change a message, take it back, react to it."""

        async def once() -> str:
            await call()
            return ""

        for pause in (*self._waits, None):
            handed, wait = await self._once(channel, once)
            if isinstance(handed, Done) or wait is None or pause is None or max(pause, wait) > LONGEST_WAIT:
                return handed
            await self._sleep(max(pause, wait))
        raise AssertionError("the last try returns")

    async def _once(self, channel: str, call: Callable[[], Awaitable[str]]) -> tuple[Handed, float | None]:
        """Try it once: what came of it, and after how many seconds it may be tried again; None for never."""
        try:
            with anyio.fail_after(self._deadline):
                return Done(await call()), None
        except NotSentError as error:
            logger.info("a tool at %s: %s", channel, error)
            why = str(error).rstrip(".")
            later = error.retry_after
            if not error.for_good and later is not None and later > LONGEST_WAIT:
                why = f"{why}; the channel wants to be asked again in {later:.0f} s"
            return Refused(why), None if error.for_good else later or 0.0
        except Exception:  # a channel may fail in any way
            logger.info("a tool at %s", channel, exc_info=True)
            return Unknown(), 0.0
