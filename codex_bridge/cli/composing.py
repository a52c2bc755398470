"""What the commands that look at prompts share: which turn they look at, and how it is composed on either harness."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from codex_bridge.cli.printed import Printed
from codex_bridge.home import state_dir
from codex_bridge.lanes import HABITS, LanePlan, Standing, lanes_of, plan
from codex_bridge.params import ThreadSettings
from codex_bridge.rules import must_be_copied
from codex_bridge.tools import registered
from harness.gather import Gathered, Gatherer
from harness.heartbeat.response import HeartbeatResponder
from harness.heartbeat.wording import RESPONSE_TOOL
from harness.inbound import ChatKind, InboundMessage
from harness.inventory import tool_line, tool_lines
from harness.layers import Composition, LayerName
from harness.memory.index import MemoryIndex
from harness.message_tool.tool import Messaging
from harness.prompt.account import PromptAccount, account_of, really_sent
from harness.prompt.adapters import Adapter, Assembled
from harness.prompt.facts import Mode
from harness.prompt.live import Cause, EmbeddedRuns, of_chat, of_heartbeat, of_message, of_schedule, of_task
from harness.prompt.registry import installed
from harness.prompt.tool_list import CORE, tools_of
from harness.report import Circumstances, PromptReport, report_of
from harness.session_facts import SessionFacts
from harness.session_models import SessionModels
from harness.session_status import Picked, StatusSource
from harness.settings.agent import AgentSettings
from harness.standard_tools import StandardTools, standard_names
from harness.toolbox import Toolbox, ToolTurn, Without
from harness.tools import Tool, name_of

TOOLS: Final = (*CORE, "memory_search", "memory_get")
"""What a gateway offers every agent when nobody says otherwise."""
ABOVE: Final = "system prompt, above the cache boundary"
BELOW: Final = "system prompt, below the cache boundary"
WHOLE: Final = "system prompt, which has no cache boundary"
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


def now() -> str:
    """The time, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    tools: tuple[str, ...] = ()
    """Names of the tools that are offered; none for what a gateway offers the agent by itself."""
    threads: ThreadSettings = field(default_factory=ThreadSettings)
    """What a conversation of Codex may do."""
    at: str = ""
    """The time of the look, ISO 8601."""

    @property
    def cause(self) -> Cause:
        """Why there would be a turn."""
        match self.chat:
            case _ if self.message is not None:
                return of_message(self.settings, self.message)
            case Chat.OWNER:
                return of_chat(self.settings, self.channel, ChatKind.DIRECT)
            case Chat.GROUP:
                return of_chat(self.settings, self.channel, ChatKind.GROUP)
            case Chat.HEARTBEAT:
                return of_heartbeat(self.settings, self.channel)
            case Chat.CRON:
                return of_schedule(self.settings)
            case Chat.SUBAGENT:
                return of_task(self.settings)


@dataclass(frozen=True, slots=True)
class OnCodex:
    """A turn as Codex would get it."""

    gathered: Gathered
    lanes: LanePlan
    report: PromptReport


@dataclass(frozen=True, slots=True)
class Embedded:
    """A turn as a model gets it that does not run on Codex."""

    composition: Composition
    """What the prompt and the message hold, and what neither does."""
    made: Assembled
    report: PromptReport
    account: PromptAccount


async def on_codex(look: Look) -> OnCodex:
    """Compose a turn for Codex."""
    settings, cause = look.settings, look.cause
    box = own_tools(settings, look.threads.without_tools)
    gathered = await Gatherer(settings, HABITS).gather(cause.situation(box.names))
    tools = _on_this_turn(box, gathered)
    offered = registered(tools, direct=look.threads.direct_tools, exclude=look.threads.without_tools)
    # Of several that have the same name the first one is registered.
    kept = {(tool.namespace, tool.name): tool for tool in reversed(tools) if name_of(tool) in offered.names}
    copied = not look.threads.reads_rules or must_be_copied(settings.workspace, gathered.composition)
    apart = cause.light or cause.isolated
    standing = Standing(offered.names, look.threads.subagents)
    lane_plan = plan(gathered.composition, standing, copied=copied, apart=apart)
    lanes = {name: lane.value for name, lane in lanes_of(copied=copied, apart=apart).items()}
    lanes |= {each.layer.name: each.lane.value for each in lane_plan.placed}
    whole = Composition(tuple(each.layer for each in lane_plan.placed), lane_plan.left_out)
    manifest = whole.get(LayerName.TOOL_MANIFEST)
    report = report_of(
        replace(gathered, composition=whole),
        _circumstances(look, cause, sandbox=look.threads.sandbox),
        workspace=str(settings.workspace),
        lanes=lanes,
        tools=tool_lines(kept.values()),
        tool_list=manifest.text if manifest else "",
        tools_left_out=offered.problems,
    )
    return OnCodex(gathered, lane_plan, report)


async def embedded(look: Look) -> Embedded:
    """Compose the system prompt of a turn that runs inside the gateway, as a live run does."""
    settings, cause = look.settings, look.cause
    tools = look.tools or _offered(settings, look.model)
    runs = EmbeddedRuns(settings, tools=tools, model=look.model, extensions=installed())
    gathered, prepared = await runs.prepared(cause, adapter=Adapter.PREVIEW, mode=look.mode)
    made = prepared.assembled
    docs = (*made.agent.files, *made.turn.files)
    whole = really_sent(gathered.composition, made.prompt, docs)
    listed = tools_of(made.agent.tools, made.agent.surface, acp=made.agent.acp).lines
    schemas = {tool.name: tool.input_schema for tool in _on_this_turn(own_tools(settings), gathered)}
    report = report_of(
        replace(gathered, composition=whole),
        _circumstances(look, cause),
        workspace=str(settings.workspace),
        lanes=SIDES,
        tools=tuple(tool_line(name, summary, schemas.get(name.lower())) for name, summary in map(_named, listed)),
        tool_list="\n".join(listed),
    )
    return Embedded(whole, made, report, account_of(made.prompt, docs, report.inventory))


def _offered(settings: AgentSettings, model: str) -> tuple[str, ...]:
    """What every agent has, and what this one has besides; how a heartbeat is answered is up to the gateway."""
    return (*TOOLS, *sorted(standard_names(settings, model or None) - {*TOOLS, RESPONSE_TOOL}))


def own_tools(settings: AgentSettings, without: Iterable[str] = ()) -> Toolbox:
    """The tools that are ours, and not the gateway's; they are looked at and not called, so no index is opened."""
    status = StatusSource(backend=_Nobody(), models=SessionModels(), pick=Picked)
    messaging = Messaging(outbox=Printed(quiet=True))
    return Without(StandardTools(settings, MemoryIndex(state_dir()), messaging=messaging, status=status), without)


class _Nobody:
    """A backend that is not asked."""

    async def session_facts(self, session_key: str, message_key: str = "") -> SessionFacts:
        """See `TellsSessions`."""
        raise NotImplementedError

    def cannot_run(self, model: str) -> str:
        """See `TellsSessions`."""
        raise NotImplementedError


def _on_this_turn(box: Toolbox, gathered: Gathered) -> tuple[Tool, ...]:
    return box.for_turn(ToolTurn(access=gathered.memory.access, responder=HeartbeatResponder(active=False)))


def _circumstances(look: Look, cause: Cause, *, sandbox: str = "") -> Circumstances:
    model = look.model or look.settings.models.primary or ""
    return Circumstances(
        generated_at=look.at,
        agent=look.settings.id,
        session_key=cause.session_key,
        provider=model.partition("/")[0] if "/" in model else "",
        model=model,
        sandbox=sandbox,
    )


def _named(line: str) -> tuple[str, str]:
    name, _, summary = line.removeprefix("- ").partition(": ")
    return name, summary
