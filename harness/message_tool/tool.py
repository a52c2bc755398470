"""The tool itself: reads a call, settles where it goes, and does it.

Its name, description and schema are the same on every turn and channel.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from hashlib import sha256
from typing import Final

import anyio

from harness.delivery.outbox import Media, Outbox, Outgoing, Reaction, Reacts
from harness.inbound import ChatKind
from harness.json_value import Json
from harness.lean_values import dataclass
from harness.message_tool.arguments import DESCRIPTION, SCHEMA, Action, Wish, read_wish
from harness.message_tool.reach import Destination, Reach, destination
from harness.message_tool.sending import Done, Handed, Hands, Refused, Unknown
from harness.message_tool.visible import says_nothing, seen
from harness.replies.chunks import chunks
from harness.replies.media import Checked, Dropped, MediaRules, checked
from harness.replies.mode import MESSAGE_TOOL
from harness.replies.silence import told
from harness.settings.agent import AgentSettings
from harness.toolbox import ToolTurn
from harness.tools import Sent, Tool, ToolResult
from harness.turns import Trigger

MOST_OWN: Final = 1_000
"""Messages of the agent's own that it may change or take back later."""
SECONDS: Final = 120.0
"""How long a call may take (harness reference, 5.5): a channel may want to be asked again."""
NOTHING_SENT: Final = "Nothing was sent: the text says no more than that there is nothing to say."
ALREADY: Final = "The same was sent there on this turn, and is not sent again."
IN_DOUBT: Final = "It is not known whether it arrived. Do not send it again; say so if it matters."


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Messaging:
    """What a gateway provides for the tool."""

    outbox: Outbox
    reach: Reach = field(default_factory=Reach)
    files: MediaRules = field(default_factory=MediaRules)
    """Where files may be taken from; the agent's workspace need not stand there."""
    mirror: Callable[[Destination, str], Awaitable[None]] | None = None
    """Keeps what a chat was told that is not the turn's own, so that the conversation there knows of it."""


@dataclass(slots=True)
class _Turn:
    """What one turn has sent."""

    turn: ToolTurn
    sent: dict[str, str] = field(default_factory=dict[str, str])
    """The channel's id, by key."""
    in_doubt: set[str] = field(default_factory=set[str])
    """Keys of what may have arrived."""
    order: anyio.Lock = field(default_factory=anyio.Lock)
    """Of several calls at once each waits for the one before: what they send keeps its order."""


class MessageTool:
    """`message` of one agent.

    Args:
        gateway: What the gateway provides.
        settings: The agent's.
        hands: The way to the channels; None for the usual one to the gateway's outbox.
    """

    def __init__(self, gateway: Messaging, settings: AgentSettings, *, hands: Hands | None = None) -> None:
        self._gateway = gateway
        self._settings = settings
        self._hands = hands or Hands(gateway.outbox)
        self._own: dict[tuple[str, str, str], Outgoing] = {}
        """What the agent sent by the tool, by channel, chat and the channel's id."""

    def for_turn(self, turn: ToolTurn) -> Tool:
        """The tool of one turn."""
        state = _Turn(turn)

        async def call(arguments: Mapping[str, Json]) -> ToolResult:
            wish = read_wish(arguments)
            where = wish if isinstance(wish, str) else destination(wish, turn, self._gateway.reach)
            if isinstance(wish, str) or isinstance(where, str):
                return ToolResult(False, str(where))
            async with state.order:
                match wish.action:
                    case Action.SEND | Action.REPLY:
                        return await self._send(seen(wish), where, state)
                    case Action.REACT:
                        return await self._react(wish, where)
                    case Action.EDIT:
                        return await self._edit(seen(wish), where)
                    case Action.DELETE:
                        return await self._delete(wish, where)

        return Tool(MESSAGE_TOOL, DESCRIPTION, SCHEMA, call, seconds=SECONDS)

    # sending

    async def _send(self, wish: Wish, where: Destination, state: _Turn) -> ToolResult:
        if says_nothing(wish):
            return ToolResult(True, NOTHING_SENT)
        answers = wish.message
        if wish.action is Action.REPLY and not answers:
            answers = where.own.message if where.own is not None else ""
            if not answers:
                return ToolResult(False, "reply needs messageId: this turn answers no message there.")
        if wish.buttons and self._hides_buttons(where):
            return ToolResult(False, f"Buttons are not shown in {where.name}; ask in words.")
        media = await self._media(wish)
        if isinstance(media, Dropped):
            return ToolResult(False, f"{media.line} Nothing else was sent either.")
        whole = Outgoing(
            key="",
            channel=where.channel,
            chat=where.chat,
            topic=where.topic,
            text=wish.text,
            reply_to=answers,
            media=media,
            buttons=wish.buttons,
        )
        ends = wish.final and where.own is not None and state.turn.trigger is Trigger.CHAT
        messages = self._messages(replace(whole, key=_key(whole, state.turn)))
        ids = [state.sent[each.key] for each in messages if each.key in state.sent]
        if len(ids) == len(messages):
            return ToolResult(True, f"{ALREADY} It is message {', '.join(ids)}.", ends_turn=ends)
        went: list[Outgoing] = []
        for each in messages[len(ids) :]:
            handed = await self._hand(each, state)
            if not isinstance(handed, Done):
                failed = _failed(handed, where, "sent")
                if not ids:
                    return failed
                said = f"Only {len(ids)} of {len(messages)} messages arrived. {failed.text}"
                return ToolResult(False, said, sent=(_receipt(*went),) if went else ())
            ids.append(handed.sent_as)
            went.append(each)
        await self._mirror(where, wish.text)
        said = f"Sent to {where.name} as message {', '.join(ids)}."
        return ToolResult(True, said, ends_turn=ends, sent=(replace(_receipt(*went), text=whole.text, final=ends),))

    def _messages(self, whole: Outgoing) -> list[Outgoing]:
        """What is sent one after the other: files and what is answered go with the first, buttons with the last."""
        can = self._gateway.outbox.can(whole.channel)
        texts = chunks(whole.text, can.limit, can.unit) or [""]
        return [
            replace(
                whole,
                key=f"{whole.key}/{at}" if at else whole.key,
                text=text,
                reply_to="" if at else whole.reply_to,
                media=() if at else whole.media,
                buttons=whole.buttons if at == len(texts) - 1 else (),
            )
            for at, text in enumerate(texts)
        ]

    async def _hand(self, outgoing: Outgoing, state: _Turn) -> Handed:
        again = outgoing.key in state.in_doubt
        if again and not self._gateway.outbox.can(outgoing.channel).keys:
            return Unknown()
        handed = await self._hands.send(outgoing, again=again)
        match handed:
            case Done(sent_as):
                state.sent[outgoing.key] = sent_as
                self._remember(sent_as, outgoing)
            case Unknown():
                state.in_doubt.add(outgoing.key)
            case Refused():
                pass
        return handed

    async def _mirror(self, where: Destination, text: str) -> None:
        if where.own is not None or self._gateway.mirror is None or not text:
            return
        try:
            await self._gateway.mirror(where, text)
        except Exception:  # it was sent all the same
            logger.exception("what was sent to %s is not kept for it", where.name)

    async def _media(self, wish: Wish) -> tuple[Media, ...] | Dropped:
        found: list[Media] = []
        for source in wish.media:
            looked = await anyio.to_thread.run_sync(self._look, source.strip())
            if isinstance(looked, Dropped):
                return looked
            found.append(Media(source=looked, voice=wish.voice))
        return tuple(found)

    def _look(self, source: str) -> Checked:
        return checked(source, replace(self._gateway.files, workspace=str(self._settings.workspace)))

    def _hides_buttons(self, where: Destination) -> bool:
        if where.own is None:
            return False
        channel = self._settings.channel(where.channel)
        return channel.shows_buttons(group=where.own.kind is ChatKind.GROUP) is False

    def _remember(self, sent_as: str, outgoing: Outgoing) -> None:
        self._own[outgoing.channel, outgoing.chat, sent_as] = outgoing
        if len(self._own) > MOST_OWN:
            del self._own[next(iter(self._own))]

    # what stands there already

    async def _react(self, wish: Wish, where: Destination) -> ToolResult:
        outbox, emoji = self._gateway.outbox, told(wish.emoji).strip()
        if not emoji:
            return ToolResult(True, NOTHING_SENT)
        if not (outbox.can(where.channel).reacts and isinstance(outbox, Reacts)):
            return ToolResult(False, f"There are no reactions on {where.channel}; answer in words, if at all.")
        if self._settings.channel(where.channel).reactions in ("off", "ack"):
            return ToolResult(False, f"Reactions are switched off on {where.channel}.")
        message = wish.message or (where.own.message if where.own is not None else "")
        if not message:
            return ToolResult(False, "react needs messageId: this turn answers no message there.")
        reaction = Reaction(
            channel=where.channel,
            chat=where.chat,
            topic=where.topic,
            message=message,
            emoji=emoji,
            removed=wish.removed,
        )
        handed = await self._hands.do(where.channel, lambda: outbox.react(reaction))
        if not isinstance(handed, Done):
            return _failed(handed, where, "put there")
        done = "taken off" if wish.removed else "put under"
        return ToolResult(True, f"{emoji} was {done} message {message} in {where.name}.")

    async def _edit(self, wish: Wish, where: Destination) -> ToolResult:
        if not wish.text:
            return ToolResult(True, "Nothing was changed: the text says no more than that there is nothing to say.")
        before = self._own.get((where.channel, where.chat, wish.message))
        if before is None:
            return _not_own(wish, where)
        if not self._gateway.outbox.can(where.channel).edits:
            return ToolResult(False, f"On {where.channel} a message stays as it was sent; send another one.")
        after = replace(before, text=wish.text, buttons=wish.buttons)
        if len(self._messages(after)) > 1:
            return ToolResult(False, f"The text is too long for one message on {where.channel}; send another one.")
        handed = await self._hands.do(where.channel, lambda: self._gateway.outbox.edit(wish.message, after))
        if not isinstance(handed, Done):
            return _failed(handed, where, "changed")
        self._remember(wish.message, after)
        return ToolResult(True, f"Message {wish.message} in {where.name} was changed.", sent=(_receipt(after),))

    async def _delete(self, wish: Wish, where: Destination) -> ToolResult:
        before = self._own.get((where.channel, where.chat, wish.message))
        if before is None:
            return _not_own(wish, where)
        if not self._gateway.outbox.can(where.channel).withdraws:
            return ToolResult(False, f"On {where.channel} nothing that was sent is taken back.")
        empty = Outgoing(key=before.key, channel=where.channel, chat=where.chat, topic=before.topic, text="")
        handed = await self._hands.do(where.channel, lambda: self._gateway.outbox.withdraw(wish.message, empty))
        if not isinstance(handed, Done):
            return _failed(handed, where, "taken back")
        del self._own[where.channel, where.chat, wish.message]
        return ToolResult(True, f"Message {wish.message} in {where.name} was taken back.")


def _key(outgoing: Outgoing, turn: ToolTurn) -> str:
    """The key of something that is sent: of the same thing once more on the same turn it is the same."""
    what: tuple[object, ...] = (
        *(outgoing.channel, outgoing.chat, outgoing.topic, outgoing.text, outgoing.reply_to),
        [(each.source, each.voice) for each in outgoing.media],
        [[(button.label, button.data) for button in row] for row in outgoing.buttons],
    )
    digest = sha256(repr(what).encode()).hexdigest()[:16]
    return f"{turn.key or turn.session_key}:message:{digest}"


def _receipt(*went: Outgoing) -> Sent:
    """What a chat has of a message, by the pieces that arrived."""
    text = "\n".join(each.text for each in went)
    media = tuple(file.source for each in went for file in each.media)
    return Sent(channel=went[0].channel, chat=went[0].chat, topic=went[0].topic, text=text, media=media)


def _not_own(wish: Wish, where: Destination) -> ToolResult:
    return ToolResult(False, f"Message {wish.message!r} in {where.name} is none that you sent with this tool.")


def _failed(handed: Handed, where: Destination, what: str) -> ToolResult:
    if isinstance(handed, Refused):
        return ToolResult(False, f"It was not {what}: {where.channel} says {handed.why}.")
    return ToolResult(False, IN_DOUBT if what == "sent" else f"It is not known whether it was {what}.")
