"""What was said in chats without beginning a turn, kept until a message begins one.

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
CHANGED: Final = "[changed]"
"""What stands before the words of a message that was changed after somebody was told of it."""


class Unheard:
    """Keeps the messages of groups that do not call the agent, and gives them to the next one that does.

    Each is given once: the message that has it carries it to the agent, wherever that waits meanwhile. One that never
    gets there gives it back.

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
        unmeant = message.mentioned is False and message.chat.kind is not ChatKind.DIRECT
        if unmeant and not self._replies.hears_all(message.channel):
            self.keep(message)
            return None
        before = self._kept.pop(_place(message), None)
        if before is None:
            return message
        before.pop(message.message_id, None)  # an edit that calls the agent now
        return replace(message, quoted=(*before.values(), *message.quoted))

    def keep(self, message: InboundMessage) -> None:
        """Keep a message of any chat for the next one that the agent hears."""
        text = _said(message)
        if not text:
            return
        kept = self._of(message)
        if message.edited and message.message_id not in kept:  # the agent may have it as it was before
            text = f"{CHANGED} {text}"
        author = message.sender.name or message.sender.username
        kept[message.message_id] = Quoted(Relation.BEFORE, text[:LONGEST], author)
        self._trim(kept)

    def give_back(self, message: InboundMessage) -> None:
        """Keep once more what `hear` gave to a message that never reached the agent."""
        before = [each for each in message.quoted if each.relation is Relation.BEFORE]
        if not before:
            return
        kept = self._of(message)
        for number, each in reversed([*enumerate(before)]):  # its ids are gone, and a channel has none like these
            key = f"{message.key} before {number}"
            kept[key] = each
            kept.move_to_end(key, last=False)
        self._trim(kept)

    def forget(self, message: InboundMessage) -> None:
        """Let go of what is kept of a message's conversation, which begins anew."""
        self._kept.pop(_place(message), None)

    def _of(self, message: InboundMessage) -> OrderedDict[str, Quoted]:
        kept = self._kept.setdefault(_place(message), OrderedDict())
        self._kept.move_to_end(_place(message))
        if len(self._kept) > self._chats:
            self._kept.popitem(last=False)
        return kept

    def _trim(self, kept: OrderedDict[str, Quoted]) -> None:
        while len(kept) > self._most:
            kept.popitem(last=False)


def _place(message: InboundMessage) -> tuple[str, str, str]:
    return message.channel, message.chat.id, message.topic


def _said(message: InboundMessage) -> str:
    """What a message says, for one line of the record."""
    brought = (each.text for each in message.quoted if each.relation is not Relation.ANSWERED)
    files = (f"[{each.kind.value}]" for each in message.attachments if each.relation is not Relation.ANSWERED)
    return "\n".join(filter(None, (message.text, *brought, " ".join(files))))
