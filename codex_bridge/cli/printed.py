"""An outbox that is a terminal: what chats would get is printed, and kept for whoever prints data."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from codex_bridge.cli.saying import said
from harness.delivery.outbox import Abilities, Outgoing, Reaction


@dataclass
class Printed:
    """Nothing that stands on paper is edited or taken back."""

    quiet: bool = False
    """Print nothing."""
    before: Callable[[], None] = lambda: None
    """Called before something is printed, to end a line that is not whole."""
    outbox: list[Outgoing] = field(default_factory=list[Outgoing])
    reactions: list[Reaction] = field(default_factory=list[Reaction])

    def can(self, channel: str) -> Abilities:
        """See `Outbox`."""
        del channel
        return Abilities(keys=True, reacts=True)

    async def send(self, outgoing: Outgoing) -> str:
        """See `Outbox`."""
        self.outbox.append(outgoing)
        if not self.quiet:
            self.before()
            for line in lines(outgoing):
                print(line, flush=True)
        return str(len(self.outbox))

    async def edit(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`; nothing is edited here."""

    async def withdraw(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`; nothing is withdrawn here."""

    async def react(self, reaction: Reaction) -> None:
        """See `Reacts`."""
        self.reactions.append(reaction)
        gone = " taken away" if reaction.removed else ""
        self.aside(f"{reaction.emoji}{gone} under message {reaction.message}")

    def aside(self, sentence: str) -> None:
        """Say something that no chat hears."""
        if not self.quiet:
            self.before()
            print(f"[{said(sentence)}]", file=sys.stderr, flush=True)


def lines(outgoing: Outgoing) -> list[str]:
    """What is printed of a message."""
    files = (f"[{'voice' if each.voice else 'file'}: {each.source}]" for each in outgoing.media)
    rows = (" ".join(f"[{button.label}]" for button in row) for row in outgoing.buttons)
    return [*([outgoing.text] if outgoing.text else []), *files, *rows]


def sent_data(outgoing: Outgoing) -> dict[str, object]:
    """What `--json` prints of a message; what it does not have is left out."""
    media = [{"source": each.source, "voice": each.voice} for each in outgoing.media]
    buttons = [[{"text": button.label, "data": button.data} for button in row] for row in outgoing.buttons]
    more = {"topic": outgoing.topic, "media": media, "buttons": buttons}
    return {
        "channel": outgoing.channel,
        "chat": outgoing.chat,
        "replyTo": outgoing.reply_to,
        "text": outgoing.text,
        **{name: value for name, value in more.items() if value},
    }


def reaction_data(reaction: Reaction) -> dict[str, object]:
    """What `--json` prints of a reaction."""
    return {
        "channel": reaction.channel,
        "chat": reaction.chat,
        "message": reaction.message,
        "emoji": reaction.emoji,
        "removed": reaction.removed,
    }
