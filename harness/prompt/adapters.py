"""Who gathers what for a prompt: the run inside the gateway, a run on a CLI agent, previews, compaction.

All of them lead through `harness.prompt.config.configured`, and a preview is the run inside the gateway without a
message (S04, S05). What differs between them stands in one table, `_TRAITS` (prompt-builder 15).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

from harness.gather import Gathered
from harness.heartbeat.convention import Ack
from harness.inbound import ChatKind
from harness.layers import LayerName
from harness.memory.access import Standing
from harness.memory.note import recall_lines
from harness.prompt.config import configured, resolve_agent_system_prompt_config
from harness.prompt.contributions import Contribution, merged
from harness.prompt.facts import (
    AgentFacts,
    ChatFacts,
    ContextDoc,
    DocsFacts,
    Elevation,
    MessageFacts,
    Mode,
    Reactions,
    RuntimeFacts,
    SandboxFacts,
    SubagentFacts,
    Surface,
    ToolFacts,
    TurnFacts,
)
from harness.prompt.gpt5 import gpt5_contribution
from harness.prompt.registry import Asked, ChannelContext, Extensions, MemoryContext, ProviderContext
from harness.prompt.render import SystemPrompt
from harness.prompt.tool_list import Tools, tools_of
from harness.settings.agent import AgentSettings
from harness.settings.files import WarningMode
from harness.settings.memory import CitationsMode
from harness.turns import Trigger
from harness.workspace.analysis import BudgetAnalysis, Injected, analyse
from harness.workspace.budget import ContextFile, comes_and_goes
from harness.workspace.first_run import FirstRunMode, workspace_notes
from harness.workspace.names import BOOTSTRAP, SessionKind, session_kind
from harness.workspace.warning_history import TruncationReport, decide_warning
from harness.workspace.warning_text import prompt_notice

TOOL_SEARCH: Final = "tool_search"
"""The tool by which a model loads those that it does not see."""
ULTRA: Final = "ultra"
"""The thinking level at which an agent splits work by itself (prompt-builder 1)."""


class Adapter(StrEnum):
    """Where a prompt is for."""

    EMBEDDED = "embedded"
    """A run inside the gateway."""
    CLI = "cli"
    """A run on a CLI agent, which has tools of its own."""
    PREVIEW = "preview"
    """What /context, an export or `codex-bridge prompt` shows."""
    COMPACTION = "compaction"
    """The summary of a long conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Traits:
    """What one adapter does otherwise than a run inside the gateway."""

    surface: Surface | None = None
    """None: by the session."""
    host: str | None = None
    contributes: bool = True
    sandboxed: bool = True
    reacts: bool = True
    notices: bool = True
    """A cut is told in the prompt; for the others in the person's words."""
    minimal_for_helpers: bool = True
    """Subagents and scheduled jobs get the small prompt."""
    first_run: bool = True
    whole_runtime: bool = True


_TRAITS: Final[Mapping[Adapter, _Traits]] = MappingProxyType(
    {
        Adapter.EMBEDDED: _Traits(),
        Adapter.PREVIEW: _Traits(),
        Adapter.CLI: _Traits(
            surface=Surface.CLI,
            host="openclaw",
            contributes=False,
            sandboxed=False,
            reacts=False,
            notices=False,
            minimal_for_helpers=False,
        ),
        Adapter.COMPACTION: _Traits(first_run=False, whole_runtime=False),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFacts:
    """What only the running gateway knows of a turn."""

    session_key: str = ""
    trigger: Trigger = Trigger.CHAT
    mode: Mode | None = None
    """None: by the session (prompt-builder 4)."""
    raw: bool = False
    """The model is asked directly: it gets no prompt but the identity."""
    tools: ToolFacts = field(default_factory=ToolFacts)
    limited: bool = False
    """This run may use only some tools, by a list of its own: it gets the small prompt, without skills."""
    provider: str = ""
    thinking: str = ""
    """Empty: as it is configured."""
    reasoning: Literal["off", "on", "stream"] | None = None
    """None: as it is configured."""
    reasoning_tags: bool = False
    acp: bool = False
    guidance: tuple[str, ...] = ()
    sandbox: SandboxFacts | None = None
    elevation: Elevation | None = None
    chat: ChatFacts | None = None
    """The chat that the message came from; None for a turn that no chat caused."""
    subagent: SubagentFacts | None = None
    """The task, when a subagent does the turn."""
    extra: str = ""
    """What is said besides."""
    capabilities: tuple[str, ...] = ()
    """What the channel can do besides what is configured for it."""
    message: MessageFacts = field(default_factory=MessageFacts)
    owners: tuple[str, ...] = ()
    reactions: Reactions | None = None
    """None: as it is configured."""
    ack: Ack = Ack.TOKEN
    docs: DocsFacts = field(default_factory=DocsFacts)
    runtime: RuntimeFacts = field(default_factory=RuntimeFacts)
    gateway: bool = True
    """A gateway process is behind the run, which can schedule and send later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A prompt, and all that it was made from."""

    prompt: SystemPrompt
    agent: AgentFacts
    turn: TurnFacts
    truncation: TruncationReport
    """Whether and why a cut is told; keep its `seen` for the next turn of the conversation."""
    problems: tuple[str, ...]
    """One sentence for each extension that failed."""


def assemble(
    adapter: Adapter,
    settings: AgentSettings,
    gathered: Gathered,
    live: LiveFacts,
    *,
    extensions: Extensions | None = None,
) -> Assembled:
    """Make the system prompt of a turn.

    Args:
        adapter: Where it is for.
        settings: What is configured for the agent.
        gathered: The workspace as it is now.
        live: What the gateway knows of the turn.
        extensions: What installed packages add, see `harness.prompt.registry.installed`.
    """
    traits, asked = _TRAITS[adapter], Asked(extensions or Extensions())
    live = _with_what_is_configured(settings, live)
    surface = traits.surface or _surface(live.session_key)
    config = resolve_agent_system_prompt_config(settings)
    if session_kind(live.session_key) is SessionKind.SUBAGENT:
        config = replace(config, delegation="suggest")  # it is the one to whom work was given
    mode = _mode(live, traits)
    channel = live.chat.channel.strip().lower() if live.chat else ""
    truncation = gathered.truncation or decide_warning(analysis_of(gathered), settings.files.warning, ())
    notice = prompt_notice() if traits.notices and truncation.shown else ""
    files = gathered.files.files
    # Above the cache boundary stands nothing that comes and goes, nor a warning that is given only once.
    shared, own = [f for f in files if not comes_and_goes(f.file)], [f for f in files if comes_and_goes(f.file)]
    stays = notice if settings.files.warning is WarningMode.ALWAYS and any(map(_cut, shared)) else ""
    comes = notice if not stays and any(map(_cut, files)) else ""
    added = _contribution(settings, live, mode, channel, asked) if traits.contributes else Contribution()
    agent = AgentFacts(
        workspace=str(settings.workspace),
        mode=mode,
        surface=surface,
        tools=live.tools,
        guidance=live.guidance,
        acp=live.acp,
        orchestrates=live.thinking == ULTRA,
        skills="" if live.limited else gathered.catalogue.bare,
        timezone=settings.time.timezone,
        notes=workspace_notes(bootstrap_present=False, embedded=adapter is not Adapter.CLI, gateway=live.gateway),
        docs=live.docs,
        sandbox=live.sandbox if traits.sandboxed else None,
        notice=stays,
        reasoning_tags=live.reasoning_tags and adapter is not Adapter.CLI,
        files=tuple(map(_document, shared)),
        contribution=replace(added, dynamic_suffix=""),
    )
    turn = TurnFacts(
        chat=live.chat,
        subagent=live.subagent,
        capabilities=live.capabilities,
        message=_message(settings, live, channel, traits, asked),
        owners=live.owners,
        extra=live.extra,
        reactions=live.reactions if traits.reacts else None,
        suffix=added.dynamic_suffix,
        heartbeat=live.ack if live.trigger is Trigger.HEARTBEAT else None,
        heartbeat_rule=settings.heartbeat.guidance,
        buttons=_buttons(settings, live),
        schedule=_text_of(gathered, LayerName.CRON_GUIDANCE),
        first_run=gathered.first_run if traits.first_run else FirstRunMode.NONE,
        notes=workspace_notes(bootstrap_present=_holds(own, BOOTSTRAP), embedded=False, gateway=True),
        memory=_memory(gathered, tools_of(live.tools, surface, acp=False), config.citations, asked),
        files=tuple(map(_document, own)),
        notice=comes,
        elevation=live.elevation if traits.sandboxed else None,
        thinking=live.thinking,
        reasoning=live.reasoning or "off",
        runtime=_runtime(settings, live, traits),
    )
    return Assembled(
        prompt=configured(agent, turn, config),
        agent=agent,
        turn=turn,
        truncation=truncation,
        problems=(*asked.extensions.problems, *asked.problems),
    )


def _with_what_is_configured(settings: AgentSettings, live: LiveFacts) -> LiveFacts:
    """The facts of a turn, those that nobody knew better by the configuration."""
    models = settings.models
    helper = session_kind(live.session_key) is SessionKind.SUBAGENT
    thinking = live.thinking or (helper and settings.subagents.thinking) or models.thinking or "off"
    live = replace(live, thinking=thinking, reasoning=live.reasoning or models.reasoning or "off")
    chat = live.chat
    if chat is None:
        return live
    channel = settings.channel(chat.channel)
    level = channel.reactions
    configured = Reactions(level=level, channel=chat.channel) if level in ("minimal", "extensive") else None
    can = channel.capabilities_of(group=chat.kind is ChatKind.GROUP)
    return replace(live, capabilities=(*live.capabilities, *can), reactions=live.reactions or configured)


def _buttons(settings: AgentSettings, live: LiveFacts) -> bool | None:
    """Whether the configuration lets the chat show buttons; None when it does not tell."""
    chat = live.chat
    return settings.channel(chat.channel).shows_buttons(group=chat.kind is ChatKind.GROUP) if chat else None


def _mode(live: LiveFacts, traits: _Traits) -> Mode:
    if live.mode is not None:
        return live.mode
    if live.raw:
        return Mode.NONE
    helper = session_kind(live.session_key) is not SessionKind.ORDINARY
    return Mode.MINIMAL if traits.minimal_for_helpers and (helper or live.limited) else Mode.FULL


def _surface(session_key: str) -> Surface:
    parts = session_key.strip().lower().split(":")
    rest = parts[2:] if parts[0] == "agent" and len(parts) > 2 else parts
    if len(rest) > 1 and rest[0] == "acp":
        return Surface.ACP
    return Surface.SUBAGENT if session_kind(session_key) is SessionKind.SUBAGENT else Surface.MAIN


def _holds(files: list[ContextFile], name: str) -> bool:
    return any(file.name == name for file in files)


def _text_of(gathered: Gathered, name: LayerName) -> str:
    layer = gathered.composition.get(name)
    return layer.text if layer else ""


def _cut(file: ContextFile) -> bool:
    return file.truncation is not None and file.truncation.truncated


def _document(file: ContextFile) -> ContextDoc:
    return ContextDoc(file.path, file.text)


def analysis_of(gathered: Gathered) -> BudgetAnalysis:
    """How the files of a turn fit into their budget."""
    files = gathered.files.files
    return analyse([each.file for each in files], [Injected(each.path, each.units) for each in files], gathered.limits)


def _model_parts(live: LiveFacts) -> tuple[str, str]:
    """Provider and model; an id such as "openai/gpt-5.5" names both."""
    before, slash, after = live.runtime.model.partition("/")
    return (live.provider or (before if slash else "")).strip().lower(), after if slash else before


def _contribution(settings: AgentSettings, live: LiveFacts, mode: Mode, channel: str, asked: Asked) -> Contribution:
    provider, model = _model_parts(live)
    base = gpt5_contribution(
        model,
        personality=settings.overlay.personality(provider),
        heartbeat=live.trigger is Trigger.HEARTBEAT and settings.heartbeat.guidance,
    )
    context = ProviderContext(
        provider=provider,
        model=model,
        mode=mode,
        agent=settings.id,
        workspace=str(settings.workspace),
        channel=channel,
        capabilities=live.capabilities,
        trigger=live.trigger.value,
        base=base or Contribution(),
    )
    return merged(base, *asked.contributions(context))


def _message(settings: AgentSettings, live: LiveFacts, channel: str, traits: _Traits, asked: Asked) -> MessageFacts:
    if not traits.reacts:
        helper = session_kind(live.session_key) is SessionKind.SUBAGENT
        return MessageFacts(explicit_target=live.message.explicit_target or helper, channels=live.message.channels)
    context = ChannelContext(channel=channel, agent=settings.id, capabilities=live.capabilities)
    return replace(live.message, hints=(*live.message.hints, *(asked.hints(context) if channel else ())))


def _memory(gathered: Gathered, tools: Tools, citations: CitationsMode, asked: Asked) -> tuple[str, ...]:
    """The agent's own lines when this turn may look things up, and those of supplements.

    Supplements need no tool of ours, so they are asked on every turn whose listeners may hear from the memory.
    """
    readers = [name for name in gathered.memory.readers if tools.has(name.lower())] if gathered.memory.note else []
    # What is hidden has to be loaded first, which is spoken of only where there is a tool for it.
    deferred = tools.has(TOOL_SEARCH) and any(tools.hides(name.lower()) for name in readers)
    own = recall_lines(
        [tools.called(name.lower()) for name in readers],
        citations=citations,
        loader=tools.called(TOOL_SEARCH) if deferred else "",
    )
    if gathered.memory.standing is Standing.CLOSED:
        return own
    return (*own, *asked.memory_lines(MemoryContext(tools=tools.available, citations=citations)))


def _runtime(settings: AgentSettings, live: LiveFacts, traits: _Traits) -> RuntimeFacts:
    facts = live.runtime
    if traits.host is not None:
        facts = replace(facts, host=traits.host)
    if not traits.whole_runtime:
        return replace(facts, agent="", session="", session_id="", repo="", default_model="")
    return replace(
        facts,
        agent=facts.agent or settings.id,
        session=facts.session or live.session_key,
        default_model=facts.default_model or settings.models.primary or "",
    )
