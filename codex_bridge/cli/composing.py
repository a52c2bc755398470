"""What the commands that look at prompts share: which turn they look at, and how it is composed on either harness."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from codex_bridge.lanes import HABITS, LanePlan, Standing, lanes_of, plan
from codex_bridge.rules import must_be_copied
from harness.gather import Gathered, Gatherer, Situation
from harness.habits import Habits
from harness.inbound import ChatKind, InboundMessage
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.prompt.adapters import Adapter, Assembled, LiveFacts, assemble
from harness.prompt.chat import ChatFacts
from harness.prompt.facts import Mode, ToolFacts
from harness.prompt.machine import find_docs, machine_facts
from harness.prompt.registry import installed
from harness.prompt.tool_list import CORE
from harness.report import PromptReport, report_of
from harness.settings.agent import AgentSettings
from harness.skills.wording import ReadTool
from harness.standard_tools import NAMES
from harness.turns import Trigger

MEMORY_TOOLS: Final = ("memory_search", "memory_get")
TOOLS: Final = (*CORE, *MEMORY_TOOLS)
"""What a gateway offers when nobody says otherwise."""
ABOVE: Final = "system prompt, above the cache boundary"
BELOW: Final = "system prompt, below the cache boundary"
MESSAGE: Final = "the message"


_TURN: Final = (
    LayerName.HEARTBEAT,
    LayerName.HEARTBEAT_GUIDANCE,
    LayerName.CRON_GUIDANCE,
    LayerName.MEMORY_NOTE,
    LayerName.BOOTSTRAP,
    LayerName.MEMORY,
)
SIDES: Final = {**dict.fromkeys(LayerName, ABOVE), **dict.fromkeys(_TURN, BELOW), LayerName.USER_TEXT: MESSAGE}
"""Where each layer stands for a model that does not run on Codex."""


class Backend(Enum):
    """Which harness runs the turn."""

    CODEX = "codex"
    EMBEDDED = "embedded"


class Chat(Enum):
    """Who would be talking."""

    OWNER = "owner"
    GROUP = "group"
    HEARTBEAT = "heartbeat"
    CRON = "cron"
    SUBAGENT = "subagent"


_SITUATIONS: Final = {
    Chat.OWNER: (Trigger.CHAT, Audience.OWNER),
    Chat.GROUP: (Trigger.CHAT, Audience.GROUP),
    Chat.HEARTBEAT: (Trigger.HEARTBEAT, Audience.OWNER),
    Chat.CRON: (Trigger.CRON, Audience.CRON),
    Chat.SUBAGENT: (Trigger.CHAT, Audience.SUBAGENT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which turn to look at."""

    settings: AgentSettings
    chat: Chat = Chat.OWNER
    channel: str = "telegram"
    message: InboundMessage | None = None
    """What was said; None for a turn without a word said."""
    model: str = ""
    mode: Mode | None = None
    tools: tuple[str, ...] = TOOLS

    @property
    def session_key(self) -> str:
        """The conversation."""
        agent = self.settings.id
        match self.chat:
            case Chat.CRON | Chat.SUBAGENT:
                return f"agent:{agent}:{self.chat.value}:look"
            case Chat.GROUP:
                return f"agent:{agent}:{self.channel}:group:look"
            case _:
                return self.message.session_key(agent) if self.message else f"agent:{agent}:{self.channel}:direct:look"


@dataclass(frozen=True, slots=True)
class OnCodex:
    """A turn as Codex would get it."""

    gathered: Gathered
    lanes: LanePlan
    report: PromptReport


@dataclass(frozen=True, slots=True)
class Embedded:
    """A turn as a model gets it that does not run on Codex."""

    gathered: Gathered
    made: Assembled
    report: PromptReport


async def on_codex(look: Look) -> OnCodex:
    """Compose a turn for Codex."""
    settings = look.settings
    gathered = await Gatherer(settings, HABITS).gather(_situation(look, tools=frozenset(MEMORY_TOOLS)))
    copied = must_be_copied(settings.workspace, gathered.composition)
    lanes = {name: lane.value for name, lane in lanes_of(copied=copied).items()}
    lane_plan = plan(gathered.composition, Standing(tuple(sorted(NAMES))), copied=copied)
    whole = replace(gathered.composition, layers=tuple(each.layer for each in lane_plan.placed))
    report = report_of(replace(gathered, composition=whole), str(settings.workspace), lanes)
    return OnCodex(gathered, lane_plan, report)


async def embedded(look: Look) -> Embedded:
    """Compose the system prompt of a turn that runs inside the gateway."""
    settings = look.settings
    read = next((name for name in look.tools if name.lower() == "read"), "read")
    gatherer = Gatherer(settings, Habits(), loading=ReadTool(read))
    gathered = await gatherer.gather(_situation(look, tools=frozenset(look.tools)))
    trigger, _ = _SITUATIONS[look.chat]
    live = LiveFacts(
        session_key=look.session_key,
        trigger=trigger,
        mode=look.mode,
        tools=ToolFacts(names=look.tools),
        chat=_chat(look),
        docs=find_docs(settings.workspace),
        runtime=machine_facts(settings, model=look.model),
    )
    made = assemble(Adapter.PREVIEW, settings, gathered, live, extensions=installed())
    return Embedded(gathered, made, report_of(gathered, str(settings.workspace), SIDES))


def _situation(look: Look, *, tools: frozenset[str]) -> Situation:
    trigger, audience = _SITUATIONS[look.chat]
    said = look.message
    words = Layer(
        LayerName.USER_TEXT,
        said.key if said else "the person's words",
        Lifetime.INPUT,
        Trust.OWNER,
        said.text if said else "",
    )
    return Situation(trigger=trigger, audience=audience, words=words, session_key=look.session_key, tools=tools)


def _chat(look: Look) -> ChatFacts | None:
    if look.chat not in (Chat.OWNER, Chat.GROUP):
        return None
    group = look.chat is Chat.GROUP
    facts = ChatFacts(
        channel=look.channel,
        kind=ChatKind.GROUP if group else ChatKind.DIRECT,
        silence="allow" if group else "disallow",
    )
    return replace(facts, id=look.message.chat.id) if look.message else facts
