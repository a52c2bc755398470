"""An outbox that is a terminal: what chats would get is printed, and kept for whoever prints data."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from codex_bridge.cli.saying import said
from harness.delivery.outbox import Abilities, Media, Outgoing, Reaction
from harness.replies.gate import Reply, Silent


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
    rows = (" ".join(f"[{button.label}]" for button in row) for row in outgoing.buttons)
    return [*([outgoing.text] if outgoing.text else []), *file_lines(outgoing.media), *rows]


def file_lines(media: Iterable[Media]) -> list[str]:
    """What is printed of files."""
    return [f"[{'voice' if each.voice else 'file'}: {each.source}]" for each in media]


def messages_of(reply: Reply, *, channel: str, chat: str, reply_to: str = "") -> list[Outgoing]:
    """The messages that a chat would get, one for each text and each file."""
    if isinstance(reply, Silent):
        return []
    answering = reply.answering or ("",) * len(reply.texts)
    empty = Outgoing(key="", channel=channel, chat=chat, text="", reply_to=reply_to)
    texts = zip(reply.texts, answering, strict=True)
    return [
        *(replace(empty, text=text, reply_to=to or reply_to) for text, to in texts),
        *(replace(empty, media=(each,)) for each in reply.media),
    ]


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


def reactions_data(printed: Printed) -> dict[str, object]:
    """What `--json` prints of the reactions; nothing where there are none."""
    return {"reactions": list(map(_reaction_data, printed.reactions))} if printed.reactions else {}


def _reaction_data(reaction: Reaction) -> dict[str, object]:
    """What `--json` prints of a reaction."""
    return {
        "channel": reaction.channel,
        "chat": reaction.chat,
        "message": reaction.message,
        "emoji": reaction.emoji,
        "removed": reaction.removed,
    }
