"""The asks that are open, and how each of them ends, once.

What is in memory decides, as one process owns the store; the store is for the starts after it. An answer is kept before
whoever waits hears of it.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVarTuple

import anyio.abc

from harness.approvals.cards import ended, span
from harness.approvals.handles import held_by
from harness.approvals.pending import OVER, Pending, answer_of, packed_answer, shape_of
from harness.approvals.posting import CardPosting
from harness.asks import Answer, Verdict
from harness.delivery.outbox import Outgoing
from harness.errors import StoreError
from harness.store.asked import Asked, AskState, Parked
from harness.tasks import guarded
from harness.timing import Clock

LOST_CARD: Final = "Expired with the restart."
"""What becomes of a card whose asker is gone."""
MOST_KEPT: Final = 1_000
"""Answers that a backend may ask for once more."""

MOST_OPEN: Final = 20
"""Asks of one conversation that are open at once: a tool server could make any number. Our choice."""

Arguments = TypeVarTuple("Arguments")
logger = logging.getLogger(__name__)


class OpenAsks:
    """What one agent asks people at the moment.

    Args:
        asked: The store.
        posting: Brings the cards.
        group: Where tasks run.
        clock: What expiry goes by.
        now: Unix seconds.
        seconds: How long an answer is waited for.
    """

    def __init__(
        self,
        asked: Asked,
        posting: CardPosting,
        group: anyio.abc.TaskGroup,
        *,
        clock: Clock,
        now: Callable[[], float],
        seconds: float,
    ) -> None:
        self._seconds = seconds
        self._asked = asked
        self._posting = posting
        self._group = group
        self._clock = clock
        self._now = now
        self._held: dict[str, Pending] = {}
        """By identity."""
        self._by_handle: dict[str, Pending] = {}
        """By the digest of the handle."""
        self.closed = False
        """Whether nothing is sent and written any more; the next start does it."""

    def close(self) -> None:
        """Send and write nothing any more. What is open stays so in the store."""
        self.closed = True
        for each in self._held.values():
            if each.timer is not None:
                each.timer.cancel()

    def get(self, identity: str) -> Pending | None:
        """An ask that is open, or whose answer may be asked for once more."""
        return self._held.get(identity)

    def named(self, digest: str) -> Pending | None:
        """The ask with a digest of a handle."""
        return held_by(self._by_handle, digest)

    def open_in(self, thread: str) -> list[str]:
        """What a conversation of a backend asks, by identity."""
        return [identity for identity, each in self._held.items() if each.parked.thread == thread]

    def is_full(self, session_key: str) -> bool:
        """Whether so much is asked in a conversation that nobody is to be asked more."""
        asked = (each for each in self._held.values() if each.parked.session_key == session_key)
        return sum(each.answer is None for each in asked) >= MOST_OPEN

    def answered_by(self, channel: str, chat: str, sent_as: str) -> Pending | None:
        """The ask whose card a message answers that was written in its chat."""
        place = (channel, chat, sent_as)
        found = (each for each in self._held.values() if place == _card_of(each.parked))
        return next(found, None)

    async def begin(self, pending: Pending, card: Outgoing, seconds: float) -> None:
        """Keep an ask, and send its card."""
        self._hold(pending, seconds)
        await self.keep(self._asked.park(pending.parked))
        self.spawn(self._post, pending, card)

    def end(self, pending: Pending, answer: Answer, state: AskState, told: str, *, again: bool = True) -> bool:
        """Settle an ask; tells whether it was open.

        Args:
            pending: The ask.
            answer: What whoever asked hears.
            state: How it ended.
            told: The same for a person who answers too late.
            again: Whether a backend that outlives us may ask for the answer once more.
        """
        if pending.answer is not None:
            return False
        pending.answer, pending.told = answer, told
        if pending.timer is not None:
            pending.timer.cancel()
        if self.closed:
            pending.done.set()
            return True
        self.spawn(self._close, pending, state, again and pending.parked.outlives)
        return True

    def forget(self, pending: Pending) -> None:
        """Nobody asks for the answer any more."""
        if self._held.get(pending.parked.identity) is pending:
            del self._held[pending.parked.identity]
        self._by_handle.pop(pending.parked.handle, None)

    def collected(self, pending: Pending) -> None:
        """Whoever asked has the answer."""
        if not pending.parked.outlives:
            self.forget(pending)
        elif len(self._held) > MOST_KEPT:
            self.forget(next((each for each in self._held.values() if each.done.is_set()), pending))

    async def adopt(self) -> list[Parked]:
        """Take over what an earlier process left open, for a start.

        What a backend asked that is gone is lost, and its card says so. What one asked that outlived the gateway can be
        answered as before, and the answer waits until it asks again.

        Returns:
            What such a backend may ask again and nobody can answer, as its card may not have been sent, or as its
            answer could not be kept.
        """
        try:
            kept, lost = await self._asked.adopt()
        except StoreError as error:
            logger.warning("%s", error)
            return []
        for each in lost:
            shape = shape_of(each.card)
            text = LOST_CARD if shape is None else ended(shape.body.text, LOST_CARD)
            self.spawn(self._edit, each, text)
        return [each for each in kept if not self._adopted(each)]

    def _adopted(self, parked: Parked) -> bool:
        shape, answer = shape_of(parked.card), answer_of(parked.answer)
        left = min(parked.expires_at - self._now(), self._seconds)  # the clock may have been put back
        if parked.state is not AskState.OPEN:
            if answer is None:
                return False
            pending = Pending(parked, OVER)
            pending.answer, pending.told = answer, parked.told
            pending.done.set()
            self._remember(pending)
            return True
        if shape is None or (left > 0 and not parked.sent_as):
            return False
        pending = Pending(parked, shape)
        pending.posted.set()
        self._hold(pending, max(0.0, left))
        return True

    def _hold(self, pending: Pending, seconds: float) -> None:
        self._remember(pending)
        pending.timer = self._clock.call_at(self._clock.time() + seconds, partial(self._expire, pending, seconds))

    def _remember(self, pending: Pending) -> None:
        self._held[pending.parked.identity] = pending
        self._by_handle[pending.parked.handle] = pending

    def _expire(self, pending: Pending, seconds: float) -> None:
        within = f" within {span(seconds)}" if seconds else ""
        why = f"Nobody answered{within}, so it was declined."
        self.end(pending, Answer(Verdict.DECLINE, why=why), AskState.OVER, why)

    async def _post(self, pending: Pending, card: Outgoing) -> None:
        try:
            sent_as = await self._posting.send(card)
            if sent_as is None:
                why = "The request could not be shown in its chat, so the answer was no."
                self.end(pending, Answer(Verdict.DECLINE, why=why), AskState.OVER, why)
            elif sent_as:
                pending.stands(sent_as)
                await self.keep(self._asked.sent(pending.parked.identity, sent_as))
        finally:
            pending.posted.set()

    async def _close(self, pending: Pending, state: AskState, again: bool) -> None:
        answer, identity = pending.answer, pending.parked.identity
        assert answer is not None
        kept = packed_answer(answer) if again and not pending.is_secret else ""
        try:
            await self.keep(self._asked.settle(identity, state, pending.told, answer=kept))
        finally:
            pending.done.set()
        if not again:
            self.forget(pending)
        await pending.posted.wait()
        await self._edit(pending.parked, ended(pending.shape.body.text, pending.told))

    async def _edit(self, parked: Parked, text: str) -> None:
        if parked.sent_as and self._posting.edits(parked.channel):
            card = Outgoing(
                key=card_key(parked), channel=parked.channel, chat=parked.chat, topic=parked.topic, text=text
            )
            await self._posting.edit(parked.sent_as, card)

    async def keep(self, write: Awaitable[object]) -> None:
        """Write a step down. A store that fails keeps nobody from asking; a restart then does not know of it."""
        try:
            await write
        except StoreError as error:
            logger.warning("%s", error)
        except Exception:  # whatever it is, whoever waits for the step goes on
            logger.exception("a step of an ask was not written down")

    def spawn(self, do: Callable[[*Arguments], Awaitable[object]], *arguments: *Arguments) -> None:
        """Do something in a task of its own. Its error ends nothing else."""
        self._group.start_soon(guarded, do, *arguments)


def card_key(parked: Parked) -> str:
    """What the channel tells a repetition of a card by."""
    return f"ask:{parked.handle}"


def _card_of(parked: Parked) -> tuple[str, str, str]:
    return parked.channel, parked.chat, parked.sent_as
