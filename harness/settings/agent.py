"""Which settings one agent runs with, every level merged and every default filled in.

Pure values. The numbers without a remark are those of prompt-builder 14; sizes in characters are UTF-16 units.
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Literal

from harness.lean_values import dataclass
from harness.settings.approvals import ApprovalSettings
from harness.settings.excerpts import ExcerptLimits
from harness.settings.files import FileSettings
from harness.settings.heartbeat import ChannelVisibility, HeartbeatSettings
from harness.settings.memory import MemorySettings, StartupSettings
from harness.settings.queue import QueueSettings
from harness.settings.skills import SkillSettings
from harness.settings.times import TimeSettings
from harness.settings.turns import MOST_TURNS

DelegationMode = Literal["suggest", "prefer"]
Personality = Literal["friendly", "off"]
Permission = Literal["allow", "disallow"]
VisibleReplies = Literal["automatic", "message_tool"]
ButtonScope = Literal["off", "dm", "group", "all", "allowlist"]
ReactionLevel = Literal["off", "ack", "minimal", "extensive"]


SearchMode = Literal["cached", "live", "disabled"]
SearchSize = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechSettings:
    """What the prompt says of spoken replies (prompt-builder 11.6)."""

    auto: Literal["off", "always", "inbound", "tagged"] = "off"
    persona: str | None = None
    max_chars: int = 1_500
    summarise: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Which models an agent uses."""

    primary: str | None = None
    fallbacks: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model by alias, sorted by alias."""
    harness_ids: Mapping[str, str] = field(default_factory=dict[str, str])
    """Explicit `agentRuntime.id` by model."""
    thinking: str | None = None
    reasoning: Literal["on", "off", "stream"] | None = None
    fast_mode: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentSettings:
    """How far an agent hands work on."""

    delegation_mode: DelegationMode = "suggest"
    thinking: str | None = None


GPT5_PROVIDERS = frozenset({"codex", "codex-cli", "openai", "azure-openai", "azure-openai-responses"})
"""Providers to which the OpenAI plugin's own `personality` applies (prompt-builder 5.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySettings:
    """The tone of what models of the GPT-5 family get beside the prompt."""

    gpt5: Personality = "friendly"
    """On OpenAI's providers, and where none is known."""
    gpt5_elsewhere: Personality = "friendly"

    def personality(self, provider: str = "") -> Personality:
        """Return the tone on a provider; the empty text for one that is not known."""
        return self.gpt5 if not provider or provider in GPT5_PROVIDERS else self.gpt5_elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSettings:
    """How the owners are named in the prompt."""

    display: Literal["raw", "hash"] = "raw"
    secret: str | None = field(default=None, repr=False)
    """Key of the hashes; None: whoever renders makes one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How an agent may search the web, where its model's provider does that."""

    enabled: bool = True
    mode: SearchMode | None = None
    """None: as the backend does."""
    allowed_domains: tuple[str, ...] = ()
    """Empty: all."""
    context_size: SearchSize | None = None
    location: Mapping[str, str] = field(default_factory=dict[str, str])
    """Any of country, region, city and timezone."""


MEDIA_BYTES: Final = 6 * 1024 * 1024
"""What `mediaMaxMb` of the original is by default (harness reference, 11)."""
MOST_MEDIA_BYTES: Final = 16 * 1024 * 1024
"""The most that is taken for it. Our choice: as text of a request it stays below what a server takes in one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """What is configured about the tools themselves."""

    workspace_only: bool = False
    """The file tools stay inside the workspace."""
    plan_tool: bool | None = None
    """Whether `update_plan` is offered; None: by the model, see `harness.plan_tool.offers_plan`."""
    search: SearchSettings = field(default_factory=SearchSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySettings:
    """How an answer becomes visible; None: by the kind of chat."""

    visible: VisibleReplies | None = None
    group_visible: VisibleReplies | None = None
    group_silence: Permission = "allow"
    """Whether an agent may answer a group with nothing."""
    surface_silence: Mapping[str, Permission] = field(default_factory=dict[str, Permission])
    """The same on the channels that say so themselves."""

    needs_mention: bool = True
    """Whether an agent hears only the messages of a group that call it."""
    channel_needs_mention: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """The same on the channels that say so themselves."""

    def hears_all(self, channel: str) -> bool:
        """Say whether an agent hears every message in the groups of this channel."""
        return not self.channel_needs_mention.get(channel, self.needs_mention)

    def silence(self, channel: str) -> Permission:
        """Say whether an agent may answer a group of this channel with nothing (prompt-builder 11.1)."""
        return self.surface_silence.get(channel, self.group_silence)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """What is configured about what a channel can show (prompt-builder 11.4, 11.5)."""

    capabilities: tuple[str, ...] = ()
    """Ids that are named one by one."""
    buttons: ButtonScope | None = None
    """In which chats buttons are shown; None: that is not said."""
    reactions: ReactionLevel | None = None

    def shows_buttons(self, *, group: bool) -> bool | None:
        """Say whether a chat shows buttons; None when the configuration does not tell."""
        if self.buttons is None:
            return None
        return self.buttons in ("all", "allowlist", "group" if group else "dm")

    def capabilities_of(self, *, group: bool) -> tuple[str, ...]:
        """Return what a chat of this channel can do."""
        return (*self.capabilities, *(("inlineButtons",) if self.shows_buttons(group=group) else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Everything that the configuration says about one agent."""

    id: str = "main"
    name: str | None = None
    is_default: bool = True
    workspace: Path
    repo_root: Path | None = None
    """None: found from the workspace."""
    models: ModelSettings = field(default_factory=ModelSettings)
    turn_timeout_seconds: float | None = None
    media_bytes: int = MEDIA_BYTES
    """How large a picture of a message may be that the model is shown."""
    max_concurrent: int = MOST_TURNS
    """Turns of the gateway at once, those of its other agents among them; see `harness.turn_order`."""
    files: FileSettings = field(default_factory=FileSettings)
    skills: SkillSettings
    memory: MemorySettings = field(default_factory=MemorySettings)
    startup: StartupSettings = field(default_factory=StartupSettings)
    excerpts: ExcerptLimits = field(default_factory=ExcerptLimits)
    post_compaction_sections: tuple[str, ...] = ()
    """Titles of AGENTS.md that are said again after a compaction; empty: none."""
    reserve_tokens: int = 0
    """Tokens of the model's window that a conversation must leave free, or it is compacted; 0: as the backend likes."""
    heartbeat: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    visibility: ChannelVisibility = field(default_factory=ChannelVisibility)
    """What of a heartbeat each channel shows."""
    time: TimeSettings = field(default_factory=TimeSettings)
    speech: SpeechSettings = field(default_factory=SpeechSettings)
    subagents: SubagentSettings = field(default_factory=SubagentSettings)
    owner: OwnerSettings = field(default_factory=OwnerSettings)
    overlay: OverlaySettings = field(default_factory=OverlaySettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    replies: ReplySettings = field(default_factory=ReplySettings)
    queue: QueueSettings = field(default_factory=QueueSettings)
    """What becomes of messages that come while the agent is at another one of their chat."""
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    channels: Mapping[str, ChannelSettings] = field(default_factory=dict[str, ChannelSettings])
    """By the channel's name in lower case; under "defaults" for those that have no entry."""

    def channel(self, name: str) -> ChannelSettings:
        """Return what is configured about a channel."""
        built_in = self.channels.get("defaults") or ChannelSettings()
        own = self.channels.get(name.strip().lower()) or built_in
        return ChannelSettings(
            capabilities=own.capabilities or built_in.capabilities,
            buttons=own.buttons or built_in.buttons,
            reactions=own.reactions or built_in.reactions,
        )
