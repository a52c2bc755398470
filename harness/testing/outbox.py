"""An outbox that keeps what it is given, and fails when it is told to."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from harness.delivery.outbox import Abilities, NotSentError, Outgoing, Reaction


@dataclass
class RecordingOutbox:
    """A channel in memory. It honours keys, as long as `abilities` says so."""

    abilities: Abilities = field(default_factory=lambda: Abilities(keys=True, edits=True, withdraws=True, reacts=True))
    before: Callable[[str, Outgoing], None] = lambda call, outgoing: None
    """Called with "send", "edit", "withdraw" or "react" before anything is done; what it raises, the channel does."""
    after: Callable[[str, Outgoing], None] = lambda call, outgoing: None
    """The same, when it is done: what it raises hides that it was."""
    messages: dict[str, Outgoing] = field(default_factory=dict[str, Outgoing])
    """What stands in the chats, by the channel's id, in the order in which it was sent."""
    seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Every text that was visible at some time, by the channel's id."""
    reactions: list[Reaction] = field(default_factory=list[Reaction])
    """Those that stand."""

    def can(self, channel: str) -> Abilities:
        """See `Outbox`."""
        del channel
        return self.abilities

    async def send(self, outgoing: Outgoing) -> str:
        """See `Outbox`."""
        self.before("send", outgoing)
        known = next((sent_as for sent_as, each in self.messages.items() if each.key == outgoing.key), None)
        if known is None or not self.abilities.keys:
            known = str(len(self.seen) + 1)
            self._put(known, outgoing)
        self.after("send", outgoing)
        return known

    async def edit(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`."""
        self.before("edit", outgoing)
        if sent_as not in self.messages:
            raise NotSentError(f"there is no message {sent_as}", for_good=True)
        self._put(sent_as, replace(outgoing, key=self.messages[sent_as].key))
        self.after("edit", outgoing)

    async def withdraw(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`."""
        self.before("withdraw", outgoing)
        self.messages.pop(sent_as, None)
        self.after("withdraw", outgoing)

    async def react(self, reaction: Reaction) -> None:
        """See `Reacts`."""
        where = (reaction.channel, reaction.chat)
        outgoing = Outgoing(key="", channel=where[0], chat=where[1], text=reaction.emoji, reply_to=reaction.message)
        self.before("react", outgoing)
        stands = replace(reaction, removed=False)
        self.reactions = [each for each in self.reactions if each != stands]
        if not reaction.removed:
            self.reactions.append(stands)
        self.after("react", outgoing)

    def texts(self, chat: str | None = None) -> list[str]:
        """What stands in a chat now, or in all of them."""
        return [each.text for each in self.messages.values() if chat in (None, each.chat)]

    def _put(self, sent_as: str, outgoing: Outgoing) -> None:
        self.messages[sent_as] = outgoing
        if self.seen[-1:] != [(sent_as, outgoing.text)]:
            self.seen.append((sent_as, outgoing.text))
