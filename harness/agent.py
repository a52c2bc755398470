"""One agent: a workspace, a backend, and a message or the clock in between."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Generic, cast

from harness.conversations import Carried, Conversations, Held
from harness.gather import Gathered, Gatherer, Situation
from harness.heartbeat.convention import Ack
from harness.inbound import ChatKind, InboundMessage
from harness.layers import Layer, LayerName, Lifetime, Trust, words_of
from harness.lean_values import dataclass
from harness.memory.access import Audience
from harness.memory.daily import bare_reset
from harness.replies.mode import Delivery, delivery_mode, wanted_delivery
from harness.session_models import SessionModels
from harness.toolbox import OwnChat, Toolbox, ToolTurn
from harness.tools import Tool
from harness.turns import Harness, Trigger, TurnRequest, TurnT
from harness.workspace.folder import check_folder

if TYPE_CHECKING:
    from harness.asks import Asker
    from harness.heartbeat.response import HeartbeatResponder
    from harness.heartbeat.run import HeartbeatRun
    from harness.tool_hooks import ToolHook


@dataclass(frozen=True, slots=True)
class Beat(Generic[TurnT]):
    """A heartbeat on its way."""

    turn: TurnT
    responder: "HeartbeatResponder | None"
    """Holds the answer once the agent has given it with its tool; None for an agent without tools."""


@dataclass(frozen=True)
class Agent(Generic[TurnT]):
    """An agent that lives in a workspace and answers messages."""

    harness: Harness[TurnT]
    gatherer: Gatherer
    """Looks at the agent's workspace; holds its settings."""
    model: str | None = None
    effort: str | None = None
    owners: frozenset[str] | None = None
    """Sender ids of the owner. None: whoever the channel lets into a direct chat is the owner."""
    toolbox: Toolbox | None = None
    """Its tools; None for an agent without any."""
    hooks: "tuple[ToolHook, ...]" = ()
    """What stands before and after each call of a tool."""
    conversations: Conversations = field(default_factory=Conversations, compare=False)
    """What each of its conversations holds."""
    models: SessionModels = field(default_factory=SessionModels, compare=False)
    """Which of its conversations run on another model than its own."""

    async def receive(
        self, message: InboundMessage, *more: InboundMessage, left_out: str = "", asker: "Asker | None" = None
    ) -> TurnT:
        """Begin the turn that answers `message`. A bare /new or /reset begins a new conversation.

        Args:
            message: The message, after which the turn is named.
            more: Others of the same conversation that it answers as well, in the order in which they came.
            left_out: What is told of messages before them that were not kept; quoted as data.
            asker: The way to who may answer what the turn asks; None: each ask is declined.

        Raises:
            WorkspaceError: The workspace folder is not there. A missing file in it is no error.
        """
        situation = self._said((message, *more), left_out)
        if not more and (reset := bare_reset(message.text)) is not None:
            situation = replace(situation, reset=reset)
        return (await self._begin(situation, message.key, asker=asker, chat=_chat(message))).turn

    def joining(self, message: InboundMessage, *more: InboundMessage, left_out: str = "") -> tuple[Layer, ...]:
        """What messages bring along that join a running turn of their conversation, for `RunningTurn.steer`."""
        return self.gatherer.joining(self._said((message, *more), left_out))

    def conversation(self, message: InboundMessage) -> str:
        """The session key of the conversation that answers `message`."""
        key = message.session_key(self.gatherer.settings.id)
        # What was said to the owner here, the memory among it, stays in the owner's conversation.
        return f"{key}:other" if self.audience(message) is Audience.OTHER_DIRECT else key

    def delivery(self, message: InboundMessage) -> Delivery:
        """How the answer to `message` reaches its chat."""
        names = self.toolbox.names if self.toolbox is not None else frozenset[str]()
        tools = {name.lower() for name in names}
        return delivery_mode(self.gatherer.settings.replies, message.chat.kind, tools=tools)

    def _said(self, messages: Sequence[InboundMessage], left_out: str) -> Situation:
        first, *more = messages
        audience = self.audience(first)
        words = self._words(first, audience)
        situation = self._situation(Trigger.CHAT, audience, words, self.conversation(first))
        if (quotes := self._quotes(first)) is not None:
            situation = replace(situation, quotes=quotes)
        settings, kind = self.gatherer.settings, first.chat.kind
        if kind is ChatKind.GROUP or wanted_delivery(settings.replies, kind) is Delivery.TOOL_ONLY:
            from harness.prompt.chat import chat_facts  # most direct chats need none

            chat = messages[-1].chat  # as it is called now
            facts = chat_facts(settings, first.channel, kind, id=chat.id, title=chat.title)
            situation = replace(situation, chat=facts)
        if audience is Audience.GROUP:
            situation = replace(situation, senders=tuple(each.sender for each in messages))
        if more:
            said = [(self._quotes(each), self._words(each, audience)) for each in more]
            situation = replace(situation, more=tuple(layer for each in said for layer in each if layer is not None))
        if left_out:
            layer = Layer(LayerName.LEFT_OUT, f"before {first.key}", Lifetime.INPUT, Trust.OUTSIDER, left_out)
            situation = replace(situation, left_out=layer)
        return situation

    def _quotes(self, message: InboundMessage) -> Layer | None:
        if not message.quoted and not message.attachments and not message.edited:
            return None
        from harness.quotes import quotes_of  # most messages bring nothing along

        gatherer = self.gatherer
        return quotes_of(message, gatherer.settings.media_bytes, in_reach=gatherer.habits.shares_files)

    def _words(self, message: InboundMessage, audience: Audience) -> Layer:
        # In a group whoever is not known as the owner is somebody else.
        owner = audience is Audience.OWNER or message.sender.id in (self.owners or ())
        trust = Trust.OWNER if owner else Trust.OUTSIDER
        if message.pressed:
            import json  # few messages are presses

            from harness.prompt.hygiene import literal

            # What a button carries comes from the program that the person uses.
            carried = json.dumps(literal(message.pressed), ensure_ascii=False)
            return words_of(f"I pressed the button that carries {carried}.", message.key, trust)
        words = words_of(message.text, message.key, trust)
        if message.attachments:
            from harness.attached import pictures_of  # most messages bring no files

            if pictures := pictures_of(message.attachments, self.gatherer.settings.media_bytes, own=owner):
                words = replace(words, pictures=pictures)
        return words

    async def heartbeat(self, run: "HeartbeatRun", *, key: str) -> Beat[TurnT]:
        """Begin a heartbeat in the owner's conversation, or beside it.

        Args:
            run: What the gateway says and where, see `harness.heartbeat.plan_run`.
            key: An id that no other heartbeat has.

        Raises:
            WorkspaceError: The workspace folder is not there.
        """
        words = words_of(run.poll.text, key, Trust.OPERATOR)
        audience = Audience.GROUP if run.shared else Audience.OWNER
        situation = self._situation(Trigger.HEARTBEAT, audience, words, run.session_key)
        situation = replace(situation, light=run.light, commitments_only=run.commitments_only)
        return await self._begin(situation, key, isolated=run.isolated, seconds=run.seconds, chat=_told(run))

    async def scheduled(self, prompt: str, *, session_key: str, key: str, light: bool = False) -> TurnT:
        """Begin a scheduled job in a conversation of its own.

        Args:
            prompt: What is to be done.
            session_key: The job's conversation.
            key: An id that no other run has.
            light: The prompt alone, without the workspace and without the runs before.

        Raises:
            WorkspaceError: The workspace folder is not there.
        """
        situation = self._situation(Trigger.CRON, Audience.CRON, words_of(prompt, key, Trust.OPERATOR), session_key)
        return (await self._begin(replace(situation, light=light), key, isolated=light)).turn

    async def compact(self, session_key: str) -> TurnT:
        """Begin to put a summary in place of what a conversation holds.

        `harness.compaction.compaction_of` reads the result.

        Raises:
            NotOnRequestError: The backend does not do that.
            WorkspaceError: The workspace folder is not there.
        """
        from harness.compaction import Compacts, NotOnRequestError  # few conversations are summarised on request

        harness = self.harness
        if not isinstance(harness, Compacts):
            raise NotOnRequestError
        key = f"{session_key} compaction"
        # The owner's own conversation or not, what a thread is loaded with is the same.
        situation = self._situation(Trigger.CHAT, Audience.OWNER, words_of("", key, Trust.OPERATOR), session_key)
        request, _ = await self._request(situation, key, carries=False)
        return cast("Compacts[TurnT]", harness).compact(request)

    @property
    def ack(self) -> Ack:
        """How a heartbeat of this agent says that all is quiet."""
        if self.toolbox is None:
            return Ack.TOKEN
        from harness.heartbeat.wording import ack_convention  # an agent without tools needs none

        return ack_convention(self.toolbox.names)

    def audience(self, message: InboundMessage) -> Audience:
        """Who reads along when the agent answers `message`."""
        if message.chat.kind is ChatKind.GROUP:
            return Audience.GROUP
        known = self.owners is None or message.sender.id in self.owners
        return Audience.OWNER if known else Audience.OTHER_DIRECT

    def _situation(self, trigger: Trigger, audience: Audience, words: Layer, session_key: str) -> Situation:
        tools = self.toolbox.names if self.toolbox else frozenset[str]()
        return Situation(
            trigger=trigger, audience=audience, words=words, session_key=session_key, tools=tools, ack=self.ack
        )

    async def _begin(
        self,
        situation: Situation,
        key: str,
        *,
        isolated: bool = False,
        seconds: float | None = None,
        asker: "Asker | None" = None,
        chat: OwnChat | None = None,
    ) -> Beat[TurnT]:
        carries = situation.trigger is not Trigger.HEARTBEAT
        request, responder = await self._request(
            situation, key, carries=carries, isolated=isolated, seconds=seconds, chat=chat
        )
        request = request if asker is None else replace(request, asker=asker)
        return Beat(self.harness.start(request), responder)

    async def _request(
        self,
        situation: Situation,
        key: str,
        *,
        carries: bool,
        isolated: bool = False,
        seconds: float | None = None,
        chat: OwnChat | None = None,
    ) -> "tuple[TurnRequest, HeartbeatResponder | None]":
        """What is asked of the backend.

        Args:
            situation: The turn.
            key: An id that no other turn has.
            carries: Whether the conversation is told what the gateway says by the way.
            isolated: See `TurnRequest`.
            seconds: See `TurnRequest`.
            chat: The turn's own.
        """
        settings, heartbeat = self.gatherer.settings, situation.trigger is Trigger.HEARTBEAT
        session_key = situation.session_key or ""
        # What is said apart from the conversation says nothing of what that one holds.
        apart = isolated or situation.light
        check_folder(settings.workspace)
        if situation.reset is not None:
            self.conversations.forget(session_key)
        if not apart:
            situation = replace(situation, held=self.conversations.held(session_key))
        gathered = await self.gatherer.gather(situation)
        tools: tuple[Tool, ...] = ()
        responder = None
        may_vanish = None
        if self.toolbox is not None:
            from harness.heartbeat.response import HeartbeatResponder  # an agent without tools needs none

            responder = HeartbeatResponder(active=heartbeat)
            tools = self.toolbox.for_turn(
                ToolTurn(
                    access=gathered.memory.access,
                    responder=responder,
                    key=key,
                    session_key=session_key,
                    trigger=situation.trigger,
                    owned=situation.audience in (Audience.OWNER, Audience.CRON),
                    chat=chat,
                )
            )
        if heartbeat:
            from harness.heartbeat.trace import Trace  # only a heartbeat may leave none

            may_vanish = Trace(responder, settings.heartbeat.ack_max_chars)
        on_end = None
        if not apart:
            on_end = self.conversations.begin(session_key, _carried(gathered, situation.held) if carries else None)
        request = TurnRequest(
            agent=settings.id,
            session_key=session_key,
            trigger=situation.trigger,
            composition=gathered.composition,
            workspace=settings.workspace,
            message_key=key,
            model=self.models.of(session_key) or self.model,
            effort=self.effort,
            tools=tools,
            hooks=self.hooks,
            excerpts=settings.excerpts,
            may_vanish=may_vanish,
            environment=gathered.environment,
            on_end=on_end,
            fresh=isolated or situation.reset is not None,
            light=situation.light,
            isolated=isolated,
            seconds=seconds,
            limit_key="" if seconds is None else "heartbeat.timeoutSeconds",
            zone=settings.time.timezone,
        )
        return request, responder


def _chat(message: InboundMessage) -> OwnChat:
    return OwnChat(
        channel=message.channel,
        chat=message.chat.id,
        topic=message.topic,
        message=message.message_id,
        kind=message.chat.kind,
    )


def _told(run: "HeartbeatRun") -> OwnChat | None:
    """The chat that a heartbeat may write to."""
    if run.target is None:
        return None
    kind = ChatKind.GROUP if run.shared else ChatKind.DIRECT
    return OwnChat(channel=run.target.channel, chat=run.target.chat, kind=kind)


def _carried(gathered: Gathered, held: Held) -> Carried:
    # A turn that was gathered for a compacted conversation says what there is to say of that, if only nothing.
    return Carried(files=gathered.carries_files, cuts_told=gathered.cuts_told, refresh=held.compacted)
