"""How the defaults, an agent's entry and the machine become the settings of one agent.

Pure.
"""

from harness.config.agent_keys import AgentDefaults, AgentEntry, Subagents
from harness.config.channel_keys import Capabilities, Channel, Queue
from harness.config.heartbeat_rules import heartbeat_of, visibility_of
from harness.config.levels import filled
from harness.config.model_rules import models_of
from harness.config.read import Config
from harness.config.replies import ELSEWHERE, gpt5_personality, silent_reply
from harness.config.root import OpenClawConfig
from harness.config.roster import agent_id_of, default_agent_id, entry_of, workspace_of
from harness.config.skill_rules import skills_of
from harness.config.surroundings import Surroundings
from harness.config.timezones import ENVELOPE_WORDS, is_zone_name, user_timezone
from harness.config.tool_keys import SearchPlace, Tools, WebSearch
from harness.config.workspace_rules import files_of, trimmed
from harness.settings.agent import (
    MEDIA_BYTES,
    MOST_MEDIA_BYTES,
    AgentSettings,
    ChannelSettings,
    OverlaySettings,
    OwnerSettings,
    ReplySettings,
    SearchSettings,
    SpeechSettings,
    SubagentSettings,
    ToolSettings,
)
from harness.settings.approvals import ApprovalSettings
from harness.settings.excerpts import ExcerptLimits
from harness.settings.memory import MemorySettings, StartupSettings
from harness.settings.queue import QueueRules, QueueSettings
from harness.settings.times import TimeSettings
from harness.simple_command import simple_argv
from harness.tool_names import PLAN_TOOL


def resolve_agent(
    config: Config, agent_id: str, surroundings: Surroundings, *, anthropic_oauth: bool = False
) -> AgentSettings:
    """Return everything that the configuration says about one agent.

    The same configuration gives an equal value, so keep it as long as `ConfigSource.current` returns the same one.

    Args:
        config: The configuration.
        agent_id: Any spelling of the id; an agent that the list does not name has the defaults.
        surroundings: Facts about the machine.
        anthropic_oauth: The agent's provider is Anthropic by OAuth or setup token; heartbeats are then hourly.
    """
    values, wanted, tools = config.values, agent_id_of(agent_id), config.values.tools
    defaults, entry = values.agents.defaults, entry_of(values, wanted) or AgentEntry()
    time, workspace = _time(defaults, surroundings), workspace_of(values, wanted, surroundings)
    repo_root = (defaults.repo_root or "").strip()
    return AgentSettings(
        id=wanted,
        name=entry.name,
        is_default=wanted == default_agent_id(values),
        workspace=workspace,
        repo_root=surroundings.path(repo_root) if repo_root else None,
        models=models_of(defaults, entry),
        turn_timeout_seconds=defaults.timeout_seconds,
        media_bytes=_media_bytes(defaults.media_max_mb),
        max_concurrent=defaults.max_concurrent,
        files=files_of(values, entry),
        skills=skills_of(config, entry, surroundings, workspace),
        memory=filled(MemorySettings(), values.memory),
        startup=filled(StartupSettings(), defaults.startup_context),
        excerpts=filled(ExcerptLimits(), entry.context_limits, defaults.context_limits),
        post_compaction_sections=trimmed(defaults.compaction.post_compaction_sections or ()),
        reserve_tokens=max(defaults.compaction.reserve_tokens or 0, defaults.compaction.reserve_tokens_floor or 0),
        heartbeat=heartbeat_of(
            values, wanted, time=time, is_timezone=surroundings.is_timezone, anthropic_oauth=anthropic_oauth
        ),
        visibility=visibility_of(values),
        time=time,
        speech=_speech(values),
        subagents=_subagents(defaults, entry),
        owner=_owner(values),
        overlay=OverlaySettings(gpt5=gpt5_personality(values), gpt5_elsewhere=gpt5_personality(values, ELSEWHERE)),
        tools=ToolSettings(
            workspace_only=tools.fs.workspace_only, plan_tool=_plan_tool(tools), search=_search(tools.web.search)
        ),
        replies=_replies(values),
        queue=_queue(values.messages.queue),
        approvals=_approvals(values),
        channels={name.strip().lower(): _channel(channel) for name, channel in sorted(values.channels.items())},
    )


def _media_bytes(megabytes: float | None) -> int:
    return MEDIA_BYTES if megabytes is None else min(int(megabytes * 1024 * 1024), MOST_MEDIA_BYTES)


def _plan_tool(tools: Tools) -> bool | None:
    """The explicit word counts; without one, a list of allowed tools may name it (prompt-builder 3)."""
    named = any(name.strip().lower() == PLAN_TOOL for name in tools.allow)
    return True if tools.experimental.plan_tool is None and named else tools.experimental.plan_tool


def _search(written: WebSearch) -> SearchSettings:
    codex = written.openai_codex
    place = {} if codex.user_location is None else codex.user_location.model_dump(include=set(SearchPlace.model_fields))
    return SearchSettings(
        enabled=written.enabled is not False and codex.enabled is not False,
        mode=codex.mode,
        allowed_domains=trimmed(codex.allowed_domains or ()),
        context_size=codex.context_size,
        location={name: text.strip() for name, text in place.items() if text and text.strip()},
    )


def _time(defaults: AgentDefaults, surroundings: Surroundings) -> TimeSettings:
    envelope = defaults.envelope_timezone.strip()
    word = envelope.lower() if envelope.lower() in ENVELOPE_WORDS else envelope
    return TimeSettings(
        timezone=user_timezone(defaults.user_timezone, surroundings.host_timezone, surroundings.is_timezone),
        host_timezone=surroundings.host_timezone,
        clock=surroundings.host_clock if defaults.time_format == "auto" else defaults.time_format,
        envelope_timezone=word if is_zone_name(word, ENVELOPE_WORDS, surroundings.is_timezone) else "utc",
        envelope_timestamp=defaults.envelope_timestamp == "on",
        envelope_elapsed=defaults.envelope_elapsed == "on",
    )


def _speech(values: OpenClawConfig) -> SpeechSettings:
    written, built_in = values.messages.tts, SpeechSettings()
    return SpeechSettings(
        auto=written.auto,
        persona=(written.persona or "").strip() or None,
        max_chars=min(built_in.max_chars, written.max_text_length or built_in.max_chars),
    )


def _subagents(defaults: AgentDefaults, entry: AgentEntry) -> SubagentSettings:
    own, shared = entry.subagents or Subagents(), defaults.subagents or Subagents()
    return SubagentSettings(
        delegation_mode=own.delegation_mode or shared.delegation_mode or "suggest",
        thinking=own.thinking or shared.thinking,
    )


def _owner(values: OpenClawConfig) -> OwnerSettings:
    written = values.commands
    return OwnerSettings(display=written.owner_display, secret=(written.owner_display_secret or "").strip() or None)


def _approvals(values: OpenClawConfig) -> ApprovalSettings:
    written, built_in = values.tools.exec, ApprovalSettings()
    words = [simple_argv(each) if isinstance(each, str) else each for each in written.allow]
    return ApprovalSettings(
        asking=written.ask or built_in.asking,
        allowed=tuple(each for each in words if each),
        owners=trimmed(tuple(map(str, values.commands.owner_allow_from))),
        seconds=written.approval_timeout_seconds or built_in.seconds,
    )


def _channel(written: Channel) -> ChannelSettings:
    can = written.capabilities
    return ChannelSettings(
        capabilities=trimmed(can) if isinstance(can, tuple) else (),
        buttons=can.inline_buttons if isinstance(can, Capabilities) else None,
        reactions=written.reaction_level,
    )


def _queue(written: Queue) -> QueueSettings:
    built_in = QueueRules()
    quiet = built_in.quiet if written.debounce_ms is None else written.debounce_ms / 1000
    return QueueSettings(
        rules=QueueRules(
            mode=written.mode or built_in.mode,
            quiet=quiet,
            cap=written.cap or built_in.cap,
            drop=written.drop or built_in.drop,
        ),
        modes={name.strip().lower(): mode for name, mode in sorted(written.by_channel.items())},
        quiets={name.strip().lower(): ms / 1000 for name, ms in sorted(written.debounce_ms_by_channel.items())},
    )


def _replies(values: OpenClawConfig) -> ReplySettings:
    written = values.messages
    return ReplySettings(
        visible=written.visible_replies,
        group_visible=written.group_chat.visible_replies or written.visible_replies,
        group_silence=silent_reply(values, surface="", conversation="group"),
        needs_mention=values.channels.get("defaults", Channel()).require_mention is not False,
        channel_needs_mention={
            name: channel.require_mention
            for name, channel in sorted(values.channels.items())
            if name != "defaults" and channel.require_mention is not None
        },
        surface_silence={
            name: silent_reply(values, surface=name, conversation="group") for name in sorted(values.surfaces)
        },
    )
