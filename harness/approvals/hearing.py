"""Who answers an ask, and what is said to whoever may not, comes too late or is not understood."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from harness.approvals.answers import chosen, understood
from harness.approvals.cards import decided
from harness.approvals.handles import digest_of_handle
from harness.approvals.once import Once
from harness.approvals.open_asks import OpenAsks
from harness.approvals.pending import Pending, Shape
from harness.approvals.posting import CardPosting
from harness.approvals.said import UNKNOWN, USAGE, Said, said_by
from harness.asks import Answer, Verdict
from harness.delivery.outbox import Outgoing
from harness.errors import StoreError
from harness.inbound import InboundMessage
from harness.settings.approvals import ApprovalSettings
from harness.store.asked import Asked, AskState, Parked

LOST: Final = (
    "This expired with the restart and nothing was run for it; please send your message again if it still matters."
)
NOT_OWNER: Final = "Only an owner can answer this."
NO_LEAVE: Final = "This is a question: answer it, or decline it with /deny."
NO_QUESTION: Final = "This asks for leave: say /approve or /deny with its handle."
ONLY_DECLINED: Final = "This can only be declined, as it could not be shown whole."
NOT_ALWAYS: Final = "This can be allowed once, and not from now on."
STORE_FAILS: Final = "What was asked before cannot be looked up at the moment."

logger = logging.getLogger(__name__)


class Hearing:
    """Takes the answers of one agent's owners.

    Args:
        asks: What is open.
        asked: What is over.
        posting: Brings our sentences.
        settings: Who may answer.
        once: What was told already.
    """

    def __init__(
        self, asks: OpenAsks, asked: Asked, posting: CardPosting, settings: ApprovalSettings, once: Once
    ) -> None:
        self._asks = asks
        self._asked = asked
        self._posting = posting
        self._settings = settings
        self._once = once

    def heard(self, message: InboundMessage) -> Callable[[], Awaitable[None]] | None:
        """What is to be done about a message that answers an ask, or tries to; None for one that is for the agent.

        Words that a message brings along, or that were changed afterwards, answer nothing. Neither does a message that
        merely follows a question: only a button, a command, or an answer to the card itself.
        """
        said = said_by(message)
        if said is not None:
            return partial(self._take, said, message)
        pending = self._replied(message)
        return None if pending is None else partial(self._answer, pending, Said(words=message.text.strip()), message)

    def _replied(self, message: InboundMessage) -> Pending | None:
        """The open question whose card an owner answers in words of their own."""
        text = message.text.strip()
        if not message.reply_to or message.edited or not text or text.startswith("/") or not self._is_owner(message):
            return None
        found = self._asks.answered_by(message.channel, message.chat.id, message.reply_to)
        is_open = found is not None and found.answer is None and bool(found.shape.questions)
        return found if is_open else None

    def _is_owner(self, message: InboundMessage) -> bool:
        return self._settings.is_owner(message.channel, message.sender.id)

    async def _take(self, said: Said, message: InboundMessage) -> None:
        if not self._is_owner(message):
            where = (message.channel, message.chat.id, message.sender.id)
            logger.warning("in %s %s, %s tried to answer what only an owner may", *where)
            if self._once.first("refused", *where):
                await self._reply(message, NOT_OWNER)
            return
        if not said.handle:
            await self._reply(message, said.problem)
            return
        digest = digest_of_handle(said.handle)
        pending = self._asks.named(digest)
        if pending is None:
            await self._late(digest, message)
        elif not _is_there(pending.parked, message):
            logger.warning("a handle was named in %s %s, and is of another chat", message.channel, message.chat.id)
            await self._reply(message, UNKNOWN)
        else:
            await self._answer(pending, said, message)

    async def _late(self, digest: str, message: InboundMessage) -> None:
        """Say what became of an ask that is over."""
        try:
            row = await self._asked.by_handle(digest)
            if row is None or not _is_there(row, message):
                sentence = UNKNOWN
            elif row.state is AskState.LOST:
                sentence = LOST if await self._asked.tell_lost(row.identity) else ""
            else:
                sentence = "" if row.state is AskState.TOLD else _over(row.told, expired=row.state is AskState.OVER)
        except StoreError as error:
            logger.warning("%s", error)
            sentence = STORE_FAILS
        if sentence:
            await self._reply(message, sentence)

    async def _answer(self, pending: Pending, said: Said, message: InboundMessage) -> None:
        if pending.answer is not None:
            await self._reply(message, _over(pending.told, expired=bool(pending.answer.why)))
            return
        found = _meant(pending.shape, said)
        if isinstance(found, str):
            await self._reply(message, found)
            return
        body, parked = pending.shape.body, pending.parked
        told = decided(found.verdict, message.sender.name, is_question=body.is_question)
        logger.info("%s: %s by %s of %s", parked.identity, found.verdict.value, message.sender.id, message.channel)
        self._asks.end(pending, found, AskState.ANSWERED, told)
        if not self._posting.edits(parked.channel):
            await self._reply(message, told)

    async def _reply(self, message: InboundMessage, sentence: str) -> None:
        outgoing = Outgoing(
            key=f"ask-said:{message.key}:{message.pressed}",
            channel=message.channel,
            chat=message.chat.id,
            text=sentence,
            reply_to="" if message.pressed else message.message_id,
            topic=message.topic,
        )
        await self._posting.send(outgoing)


def _meant(shape: Shape, said: Said) -> Answer | str:
    """The answer that was given, or one sentence about why it is none."""
    offers, verdict, questions = shape.body.offers, said.verdict, shape.questions
    if said.problem:
        return said.problem
    in_words = bool(said.words or said.choice)
    if not in_words and verdict in (Verdict.DECLINE, Verdict.CANCEL):
        return Answer(verdict)
    if Verdict.ALLOW not in offers:
        return ONLY_DECLINED
    if not in_words:
        if questions:
            return NO_LEAVE
        return Answer(verdict) if verdict in offers else NOT_ALWAYS
    if not questions:
        return NO_QUESTION
    if not said.choice:
        found = understood(questions, said.words)
    elif len(questions) == 1:
        found = next(chosen(each, said.choice) for each in questions)
    else:
        return USAGE
    return found.problem or Answer(Verdict.ALLOW, found.words)


def _over(told: str, *, expired: bool) -> str:
    """What a late answer is told; `expired` where nobody decided."""
    return f"{'This has expired' if expired else 'This is over already'}. {told}".rstrip()


def _is_there(parked: Parked, message: InboundMessage) -> bool:
    return (parked.channel, parked.chat, parked.topic) == (message.channel, message.chat.id, message.topic)
