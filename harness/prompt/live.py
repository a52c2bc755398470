"""From what causes a turn to the prompt of a run inside the gateway: the one way of a live run and of its preview.

A message, a chat in which nobody has written yet, or the clock becomes a `Cause`; `EmbeddedRuns` gathers for it and
lets the adapter assemble (S04, S05).
"""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from harness.conversations import NOTHING, Held
from harness.gather import Gathered, Gatherer, Situation
from harness.habits import Habits
from harness.heartbeat.run import isolated_key
from harness.heartbeat.wording import ack_convention
from harness.inbound import ChatKind, InboundMessage, Sender
from harness.layers import Layer, Trust, words_of
from harness.memory.access import Audience
from harness.memory.daily import bare_reset
from harness.prompt.adapters import Adapter, LiveFacts
from harness.prompt.chat import chat_facts
from harness.prompt.facts import ChatFacts, DocsFacts, Mode, RuntimeFacts, SubagentFacts
from harness.prompt.hooks import PromptHooks
from harness.prompt.machine import find_docs, machine_facts
from harness.prompt.prepare import Prepared, prepare
from harness.prompt.registry import Extensions
from harness.quotes import quotes_of
from harness.settings.agent import AgentSettings
from harness.settings.memory import ResetAction
from harness.skills.wording import ReadTool
from harness.turns import Trigger

READ: Final = "read"
"""The tool by which a model opens the file of a skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why there is a turn, and who reads along."""

    trigger: Trigger
    audience: Audience
    session_key: str
    words: Layer
    chat: ChatFacts | None = None
    """None for a turn that no chat caused."""
    sender: Sender | None = None
    """Who wrote; None for nobody yet."""
    quotes: Layer | None = None
    """Words of others that the message brings along."""
    subagent: SubagentFacts | None = None
    """The task, when a subagent does the turn."""
    reset: ResetAction | None = None
    light: bool = False
    """The run asked for light context."""
    isolated: bool = False
    """It begins and ends a conversation of its own."""
    held: Held = NOTHING
    """What the conversation holds already: also which cuts of files it was told of, by `Assembled.truncation`."""
    known: LiveFacts | None = None
    """What the gateway knows of this turn besides; None for what it knows of all of them."""

    def situation(self, tools: frozenset[str]) -> Situation:
        """What is gathered for."""
        return Situation(
            trigger=self.trigger,
            audience=self.audience,
            words=self.words,
            session_key=self.session_key,
            tools=tools,
            ack=ack_convention({name.lower() for name in tools}),
            held=self.held,
            chat=self.chat,
            senders=() if self.sender is None else (self.sender,),
            quotes=self.quotes,
            reset=self.reset,
            light=self.light,
        )


def of_message(settings: AgentSettings, message: InboundMessage) -> Cause:
    """The cause that somebody wrote a message; whom the channel lets into a direct chat is the owner."""
    group = message.chat.kind is ChatKind.GROUP
    words = words_of(message.text, message.key, Trust.OUTSIDER if group else Trust.OWNER)
    chat = chat_facts(settings, message.channel, message.chat.kind, id=message.chat.id, title=message.chat.title)
    return Cause(
        trigger=Trigger.CHAT,
        audience=Audience.GROUP if group else Audience.OWNER,
        session_key=message.session_key(settings.id),
        words=words,
        chat=chat,
        sender=message.sender,
        quotes=quotes_of(message, settings.media_bytes),
        reset=bare_reset(message.text),
    )


def of_chat(settings: AgentSettings, channel: str, kind: ChatKind) -> Cause:
    """The cause that somebody will write in some chat of this kind."""
    group = kind is ChatKind.GROUP
    return Cause(
        trigger=Trigger.CHAT,
        audience=Audience.GROUP if group else Audience.OWNER,
        session_key=f"agent:{settings.id}:{channel}:{kind.value}:{_SOMEBODY}",
        words=_unsaid(Trust.OUTSIDER if group else Trust.OWNER),
        chat=chat_facts(settings, channel, kind),
    )


def of_heartbeat(settings: AgentSettings, channel: str) -> Cause:
    """The cause that it is time for a heartbeat in the owner's chat."""
    key = f"agent:{settings.id}:{channel}:{ChatKind.DIRECT.value}:{_SOMEBODY}"
    heartbeat = settings.heartbeat
    return Cause(
        trigger=Trigger.HEARTBEAT,
        audience=Audience.OWNER,
        session_key=isolated_key(key) if heartbeat.isolated_session else key,
        words=_unsaid(Trust.OPERATOR),
        light=heartbeat.light_context,
        isolated=heartbeat.isolated_session,
    )


def of_schedule(settings: AgentSettings) -> Cause:
    """The cause that a scheduled job is due."""
    key = f"agent:{settings.id}:cron:{_SOMEBODY}"
    return Cause(trigger=Trigger.CRON, audience=Audience.CRON, session_key=key, words=_unsaid(Trust.OPERATOR))


def of_task(settings: AgentSettings, task: str = "") -> Cause:
    """The cause that the agent gave a subagent a task; empty for one that is not known yet."""
    key = f"agent:{settings.id}:subagent:{_SOMEBODY}"
    return Cause(
        trigger=Trigger.CHAT,
        audience=Audience.SUBAGENT,
        session_key=key,
        words=_unsaid(Trust.OPERATOR),
        subagent=SubagentFacts(task=task, session=key),
    )


_SOMEBODY: Final = "look"
"""Stands in session keys for the chat or job that nobody has named."""


def _unsaid(trust: Trust) -> Layer:
    return words_of("", "nobody has said anything yet", trust)


@dataclass(frozen=True)
class EmbeddedRuns:
    """The runs of one agent inside the gateway, as far as their prompt.

    Args:
        settings: The agent's.
        tools: What the model is offered, in the letter case that it knows.
        model: The model, instead of the configured one.
        extensions: What installed packages add.
        hooks: The gateway's own; None for none.
        known: What the gateway knows of every turn: sandbox, owners, the message tool, what plugins say. What is
            configured, and what a cause says, need not stand there.
        package: The folder of the installed gateway, where its documentation may be; None when it is not known.
    """

    settings: AgentSettings
    tools: tuple[str, ...] = ()
    model: str = ""
    extensions: Extensions | None = None
    hooks: PromptHooks | None = field(default=None, repr=False)
    known: LiveFacts = field(default_factory=LiveFacts, repr=False)
    package: Path | None = None

    @cached_property
    def gatherer(self) -> Gatherer:
        """Looks at the agent's workspace, over all its turns."""
        read = next((name for name in self.tools if name.lower() == READ), None)
        return Gatherer(self.settings, Habits(), loading=ReadTool(read) if read else None)

    async def prepared(
        self, cause: Cause, *, adapter: Adapter = Adapter.EMBEDDED, mode: Mode | None = None
    ) -> tuple[Gathered, Prepared]:
        """Look at the workspace as it is now and make the prompt of a turn.

        Args:
            cause: Why there is one.
            adapter: A live run, or the preview of one.
            mode: How much of the prompt, instead of what the turn would get.
        """
        known = cause.known or self.known
        situation = cause.situation(frozenset((*self.tools, *known.tools.hidden)))
        gathered = await self.gatherer.gather(situation)
        live = replace(
            known,
            session_key=cause.session_key,
            trigger=cause.trigger,
            mode=mode or known.mode,
            tools=replace(known.tools, names=self.tools),
            chat=cause.chat,
            subagent=cause.subagent,
            ack=situation.ack,
            docs=known.docs if known.docs != DocsFacts() else find_docs(self.settings.workspace, self.package),
            runtime=self._runtime(known.runtime),
        )
        made = await prepare(adapter, self.settings, gathered, live, extensions=self.extensions, hooks=self.hooks)
        return gathered, made

    def _runtime(self, known: RuntimeFacts) -> RuntimeFacts:
        """The facts about the machine, and over them what the gateway knows."""
        better = {each.name: value for each in fields(known) if (value := getattr(known, each.name))}
        return replace(machine_facts(self.settings, model=self.model), **better)
