"""What was said in groups while nobody called the agent, kept until somebody does.

Pure: nothing is read or written, and a restart begins with nothing.
"""

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from harness.inbound import ChatKind, InboundMessage, Quoted, Relation
from harness.settings.agent import ReplySettings

MOST_MESSAGES: Final = 50
"""Messages of one chat, unless told otherwise. How much of them is quoted has a limit of its own, see
`harness.quotes.quotes_text`."""
MOST_CHATS: Final = 1_000
"""Chats of which any are kept."""
LONGEST: Final = 2_000
"""Characters of one message."""


class Unheard:
    """Keeps the messages of groups that do not call the agent, and gives them to the next one that does.

    Args:
        replies: Says on which channels the agent hears every message.
        most: Messages that are kept of one chat, or topic of it; the oldest go first.
        chats: Chats of which any are kept; the one in which nothing was said for the longest time goes first.
    """

    def __init__(self, replies: ReplySettings, *, most: int = MOST_MESSAGES, chats: int = MOST_CHATS) -> None:
        self._replies = replies
        self._most, self._chats = most, chats
        self._kept: OrderedDict[tuple[str, str, str], OrderedDict[str, Quoted]] = OrderedDict()

    def hear(self, message: InboundMessage) -> InboundMessage | None:
        """Take in a message.

        Returns:
            The message for the agent, with what was said before it and was never given to anybody; None when the
            message does not call the agent, and is kept.
        """
        if message.chat.kind is ChatKind.DIRECT:
            return message
        place = (message.channel, message.chat.id, message.topic)
        if message.mentioned is False and not self._replies.hears_all(message.channel):
            self._keep(place, message)
            return None
        before = self._kept.pop(place, None)
        if before is None:
            return message
        before.pop(message.message_id, None)  # an edit that calls the agent now
        return replace(message, quoted=(*before.values(), *message.quoted))

    def _keep(self, place: tuple[str, str, str], message: InboundMessage) -> None:
        text = _said(message)[:LONGEST]
        kept = self._kept.get(place)
        if not text or not self._most:
            return
        if kept is None:
            kept = self._kept[place] = OrderedDict()
            if len(self._kept) > self._chats:
                self._kept.popitem(last=False)
        self._kept.move_to_end(place)
        kept[message.message_id] = Quoted(Relation.BEFORE, text, message.sender.name or message.sender.username)
        if len(kept) > self._most:
            kept.popitem(last=False)


def _said(message: InboundMessage) -> str:
    """What a message says, for one line of the record."""
    brought = (each.text for each in message.quoted if each.relation is not Relation.ANSWERED)
    files = (f"[{each.kind.value}]" for each in message.attachments if each.relation is not Relation.ANSWERED)
    return "\n".join(filter(None, (message.text, *brought, " ".join(files))))
