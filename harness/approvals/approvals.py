"""Asks people in their chats for leave and for answers. One for each agent.

What the configuration answers by itself asks nobody. What nobody may answer is declined at once, and its chat hears
once how that is changed.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from hmac import compare_digest
from typing import Final

import anyio
import anyio.abc

from harness.approvals.cards import asking, body_of
from harness.approvals.handles import digest_of_ask, digest_of_handle, new_handle
from harness.approvals.hearing import Hearing
from harness.approvals.once import Once
from harness.approvals.open_asks import OpenAsks, card_key
from harness.approvals.pending import Pending, Shape
from harness.approvals.policy import ruled
from harness.approvals.posting import CardPosting
from harness.asks import Answer, Ask, Asker, QuestionAsked, Verdict
from harness.delivery.outbox import Outbox, Outgoing
from harness.errors import THE_LOG
from harness.inbound import ChatKind, InboundMessage
from harness.lean_values import dataclass
from harness.settings.approvals import ApprovalSettings
from harness.store.asked import Asked, AskState, Parked
from harness.store.database import Database
from harness.tasks import beside
from harness.timing import Clock

HOW_TO_ENABLE: Final = (
    "I would have to ask an owner first, and nobody is set up for that: put {who} into commands.ownerAllowFrom in"
    " openclaw.json; until then such requests are declined."
)
NOBODY: Final = "No owner is configured who could be asked, so the answer was no."
NOT_HERE: Final = "Only an owner may be asked, and this chat is not with one, so the answer was no."
NO_CHAT: Final = "There is no chat in which anybody could be asked, so the answer was no."
TOO_MANY: Final = "Too many requests wait for an answer in this conversation already, so the answer was no."
GOES_DOWN: Final = "The gateway is shutting down, so the answer was no."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Where:
    """The chat in which somebody is asked."""

    channel: str
    chat: str
    topic: str
    message_id: str
    """The message that the turn answers; empty when that is not known any more."""
    sender: str
    direct: bool


class ChatAsker:
    """The way to the people of one chat, see `Asker`."""

    def __init__(self, approvals: "Approvals", where: Where) -> None:
        self._approvals = approvals
        self._where = where

    async def ask(self, ask: Ask) -> Answer:
        """See `Asker`."""
        return await self._approvals.ask_in(ask, self._where)

    async def withdraw(self, identity: str, why: str) -> None:
        """See `Asker`."""
        await self._approvals.withdraw(identity, why)


class Approvals:
    """What one agent asks people; open one with `open_approvals`.

    It is an `Asker` itself, for what a backend asks again that outlived the gateway: the chat is known from before.
    """

    def __init__(
        self,
        asked: Asked,
        posting: CardPosting,
        settings: ApprovalSettings,
        group: anyio.abc.TaskGroup,
        *,
        clock: Clock,
        now: Callable[[], float],
        random_bytes: Callable[[int], bytes],
        secrets: Collection[str],
    ) -> None:
        self._secrets = secrets
        self._asked = asked
        self._posting = posting
        self._settings = settings
        self._now = now
        self._random_bytes = random_bytes
        self._once = Once()
        self._asks = OpenAsks(asked, posting, group, clock=clock, now=now, seconds=settings.seconds)
        self._hearing = Hearing(self._asks, asked, posting, settings, self._once)
        self._anew: dict[str, Where] = {}
        """Where something was asked that can only be asked anew, by its identity."""

    def of(self, message: InboundMessage) -> Asker:
        """The way to the people of the chat of a message, for the turn that answers it."""
        chat, direct = message.chat, message.chat.kind is ChatKind.DIRECT
        where = Where(message.channel, chat.id, message.topic, message.message_id, message.sender.id, direct)
        return ChatAsker(self, where)

    def heard(self, message: InboundMessage) -> Callable[[], Awaitable[None]] | None:
        """See `Hearing.heard`."""
        return self._hearing.heard(message)

    async def ask(self, ask: Ask) -> Answer:
        """See `Asker`; to an ask that no chat was ever told of the answer is no."""
        return await self.ask_in(ask, None)

    async def ask_in(self, ask: Ask, where: Where | None) -> Answer:
        """Ask in a chat, see `Asker`.

        Args:
            ask: The ask.
            where: The chat; None for the one in which it was asked before.
        """
        if self._asks.closed:
            return Answer(Verdict.DECLINE, why=GOES_DOWN)
        try:
            return await self._ask_in(ask, where)
        except Exception:
            logger.exception("%s could not be asked", ask.identity)
            return Answer(Verdict.DECLINE, why=f"The gateway could not ask, so the answer was no; {THE_LOG}.")

    async def _ask_in(self, ask: Ask, where: Where | None) -> Answer:
        pending = await self._known(ask)
        if pending is None:
            where = where or self._anew.get(ask.identity)
            answer = ruled(ask.what, self._settings) or await self._refusal(where)
            if answer is not None:
                logger.info("%s is not asked: %s, %s", ask.identity, answer.verdict.value, answer.why)
                return answer
            assert where is not None
            if self._asks.is_full(ask.session_key):
                logger.warning("%s is not asked: too much is open in %s", ask.identity, ask.session_key)
                return Answer(Verdict.DECLINE, why=TOO_MANY)
            pending = await self._open(ask, where)
        await pending.done.wait()
        assert pending.answer is not None
        self._asks.collected(pending)
        return pending.answer

    async def withdraw(self, identity: str, why: str) -> None:
        """See `Asker`."""
        pending = self._asks.get(identity)
        if pending is None:
            return
        answer, told = Answer(Verdict.DECLINE, why=why), f"No longer needed: {why}"
        if not self._asks.end(pending, answer, AskState.OVER, told, again=False):
            await pending.done.wait()
            self._asks.forget(pending)
            if not self._asks.closed:
                await self._asks.keep(self._asked.forget_answer(identity))

    async def withdraw_all(self, thread: str, why: str) -> None:
        """Nobody needs any answer of a conversation of a backend any more, as one sentence says: it is gone, say."""
        for identity in self._asks.open_in(thread):
            await self.withdraw(identity, why)

    def close(self) -> None:
        """Ask nobody any more; `open_approvals` calls this at the end of its block."""
        self._asks.close()

    async def recover(self) -> None:
        """Take over what an earlier process left open; `open_approvals` calls this."""
        for each in await self._asks.adopt():
            self._anew[each.identity] = Where(each.channel, each.chat, each.topic, "", "", direct=False)

    async def _known(self, ask: Ask) -> Pending | None:
        """The same ask, where it is open or answered already."""
        pending = self._asks.get(ask.identity)
        if pending is None or compare_digest(pending.parked.digest, digest_of_ask(ask)):
            return pending
        logger.warning("%s asks for something else than before", ask.identity)
        await self.withdraw(ask.identity, "something else is asked in its place.")
        await pending.done.wait()
        self._asks.forget(pending)
        return None

    async def _refusal(self, where: Where | None) -> Answer | None:
        """The answer to what nobody can be asked in a chat; None when somebody can."""
        if where is None:
            return Answer(Verdict.DECLINE, why=NO_CHAT)
        if not self._settings.anybody(where.channel):
            if self._once.first("enable", where.channel, where.chat, where.topic):
                who = f'"{where.channel}:{where.sender}"' if where.direct else "the id of an owner"
                key = f"ask-enable:{where.channel}:{where.chat}:{where.message_id}"
                hint = _addressed(where, key, HOW_TO_ENABLE.format(who=who))
                self._asks.spawn(self._posting.send, hint)
            return Answer(Verdict.DECLINE, why=NOBODY)
        if where.direct and not self._settings.is_owner(where.channel, where.sender):
            return Answer(Verdict.DECLINE, why=NOT_HERE)
        return None

    async def _open(self, ask: Ask, where: Where) -> Pending:
        handle, seconds = new_handle(self._random_bytes), self._settings.seconds
        questions = ask.what.questions if isinstance(ask.what, QuestionAsked) else ()
        shape = Shape(body_of(ask.what, self._posting.limit(where.channel), self._secrets), questions)
        parked = Parked(
            identity=ask.identity,
            handle=digest_of_handle(handle),
            digest=digest_of_ask(ask),
            session_key=ask.session_key,
            thread=ask.thread,
            channel=where.channel,
            chat=where.chat,
            topic=where.topic,
            card=shape.packed(),
            expires_at=self._now() + seconds,
            outlives=ask.outlives,
        )
        card = asking(shape.body, handle, questions, seconds)
        outgoing = replace(_addressed(where, card_key(parked), card.text), buttons=card.buttons)
        pending = Pending(parked, shape)
        await self._asks.begin(pending, outgoing, seconds)
        return pending


@asynccontextmanager
async def open_approvals(
    database: Database,
    outbox: Outbox,
    settings: ApprovalSettings,
    *,
    owners: frozenset[str] | None = None,
    clock: Clock | None = None,
    now: Callable[[], float] = time.time,
    random_bytes: Callable[[int], bytes] = os.urandom,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    secrets: Collection[str] = (),
) -> AsyncGenerator[Approvals]:
    """Ask the owners of an agent for as long as the block lasts, which is around that of its desk.

    What is open at the end of the block stays so in the store: the next start knows what became of it.

    Args:
        database: The store, see `Bindings.database`.
        outbox: The way to the chats.
        settings: Who is asked, and when.
        owners: Sender ids of further owners, see `Agent.owners`.
        clock: What expiry goes by; the running loop by default.
        now: Unix seconds.
        random_bytes: Gives that many bytes that nobody can guess.
        sleep: Waits for a number of seconds.
        secrets: Values that stand in no card.
    """
    settings = replace(settings, owners=(*settings.owners, *sorted(owners or ())))
    async with beside() as group:
        approvals = Approvals(
            Asked(database),
            CardPosting(outbox, sleep=sleep),
            settings,
            group,
            clock=clock or asyncio.get_running_loop(),
            now=now,
            random_bytes=random_bytes,
            secrets=secrets,
        )
        await approvals.recover()
        try:
            yield approvals
        finally:
            approvals.close()


def _addressed(where: Where, key: str, text: str) -> Outgoing:
    return Outgoing(
        key=key, channel=where.channel, chat=where.chat, text=text, reply_to=where.message_id, topic=where.topic
    )
