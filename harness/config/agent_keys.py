"""Which keys stand under `agents`: the defaults, and one entry for each agent.

Pure. Every key that an agent's entry can override is None here when it is not written, so that the rules in
`resolve` can tell "not written" from a value. Numbers without a remark are bounds of prompt-builder 14.
"""

from typing import Annotated, Literal

from pydantic import Field

from harness.config.choices import OptionalFile
from harness.config.heartbeat_keys import Heartbeat
from harness.config.section import (
    Clamped,
    Limit,
    Opaque,
    PositiveNumber,
    Section,
    Texts,
    Whole,
)
from harness.settings.agent import DelegationMode, Permission
from harness.settings.files import ContextInjection, WarningMode
from harness.settings.memory import ResetAction
from harness.settings.turns import MOST_TURNS


class StartupContext(Section):
    """`startupContext`: the daily notes of a bare /new or /reset (prompt-builder 7.14)."""

    enabled: bool | None = None
    apply_on: Annotated[tuple[ResetAction, ...], Field(strict=False)] | None = None
    daily_memory_days: Annotated[Whole, Field(ge=1, le=14), Clamped()] | None = None
    max_file_bytes: Annotated[Whole, Field(ge=1, le=65_536), Clamped()] | None = None
    max_file_chars: Annotated[Whole, Field(ge=1, le=10_000), Clamped()] | None = None
    max_total_chars: Annotated[Whole, Field(ge=1, le=50_000), Clamped()] | None = None


class ContextLimits(Section):
    """`contextLimits`: sizes of excerpts at run time."""

    memory_get_max_chars: Annotated[Whole, Field(ge=1, le=250_000)] | None = None
    memory_get_default_lines: Annotated[Whole, Field(ge=1, le=5_000)] | None = None
    tool_result_max_chars: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    post_compaction_max_chars: Annotated[Whole, Field(ge=1, le=50_000)] | None = None


class Compaction(Section):
    """`compaction`: what stays in a long conversation."""

    has_open_keys = True
    post_compaction_sections: Texts | None = None
    reserve_tokens: Annotated[Whole, Field(ge=0)] | None = None
    reserve_tokens_floor: Annotated[Whole, Field(ge=0)] | None = None
    truncate_after_compaction: bool | None = None
    max_active_transcript_bytes: int | str | None = None
    model: str | None = None
    provider: str | None = None


class Subagents(Section):
    """`subagents`: how far the prompt urges delegation."""

    has_open_keys = True
    delegation_mode: DelegationMode | None = None
    thinking: str | None = None


class Gpt5Overlay(Section):
    """`promptOverlays.gpt5`."""

    personality: Literal["friendly", "on", "off"] | None = None


class PromptOverlays(Section):
    """`promptOverlays`: texts for a family of models."""

    gpt5: Gpt5Overlay = Gpt5Overlay.model_construct()


class SilentReply(Section):
    """`silentReply`: where an agent may answer with nothing. Direct chats never allow it (prompt-builder 11.1)."""

    direct: Permission | None = None
    group: Permission | None = None
    internal: Permission | None = None


class ModelChoice(Section):
    """`model` in its long form."""

    primary: str | None = None
    fallbacks: Texts | None = None


class AgentRuntime(Section):
    """`agentRuntime`: which harness runs a model."""

    id: str | None = None


class ModelEntry(Section):
    """`models.<provider/model>`: what the configuration knows of one model."""

    has_open_keys = True
    alias: str | None = None
    agent_runtime: AgentRuntime | None = None
    params: Opaque | None = None


class ImageGenerationModel(Section):
    """`imageGenerationModel` in its long form."""

    has_open_keys = True
    primary: str | None = None
    timeout_ms: PositiveNumber | None = None


class SkillsLimits(Section):
    """`agents.list[].skillsLimits`."""

    max_skills_prompt_chars: Annotated[Whole, Field(ge=0)] | None = None


class AgentOverrides(Section):
    """The keys that both the defaults and an agent's entry can hold."""

    workspace: str | None = None
    context_injection: Annotated[ContextInjection, Field(strict=False)] | None = None
    bootstrap_max_chars: Limit = None
    bootstrap_total_max_chars: Limit = None
    context_limits: ContextLimits | None = None
    skills: Texts | None = None
    heartbeat: Heartbeat | None = None
    subagents: Subagents | None = None
    model: str | ModelChoice | None = None
    models: dict[str, ModelEntry] | None = None
    thinking_default: str | None = None
    reasoning_default: Literal["on", "off", "stream"] | None = None
    fast_mode_default: bool | None = None
    sandbox: Opaque | None = None
    """The gateway's own containers; nothing here runs in one."""


class AgentEntry(AgentOverrides):
    """One entry of `agents.list`."""

    id: str | None = None
    default: bool = False
    name: str | None = None
    skills_limits: SkillsLimits | None = None
    compaction: Opaque | None = None


class AgentDefaults(AgentOverrides):
    """`agents.defaults`."""

    repo_root: str | None = None
    skip_bootstrap: bool = False
    skip_optional_bootstrap_files: Annotated[tuple[OptionalFile, ...], Field(strict=False)] = ()
    bootstrap_prompt_truncation_warning: Annotated[WarningMode, Field(strict=False)] | None = None
    startup_context: StartupContext = StartupContext.model_construct()
    compaction: Compaction = Compaction.model_construct()
    user_timezone: str | None = None
    time_format: Literal["auto", "12", "24"] = "auto"
    envelope_timezone: str = "utc"
    """`utc`, `local`, `user` or an IANA name."""
    envelope_timestamp: Literal["on", "off"] = "on"
    envelope_elapsed: Literal["on", "off"] = "on"
    prompt_overlays: PromptOverlays = PromptOverlays.model_construct()
    silent_reply: SilentReply = SilentReply.model_construct()
    timeout_seconds: PositiveNumber | None = None
    max_concurrent: Annotated[Whole, Field(ge=1), Clamped()] = MOST_TURNS
    """Turns at once, over all agents; the original takes less than 1 for 1, too."""
    media_max_mb: PositiveNumber | None = None
    image_generation_model: str | ImageGenerationModel | None = None


class Agents(Section):
    """`agents`."""

    defaults: AgentDefaults = AgentDefaults.model_construct()
    list: Annotated[tuple[AgentEntry, ...], Field(strict=False)] = ()
