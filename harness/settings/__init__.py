"""What can be decided about one agent, as plain values with the built-in defaults.

Whoever reads a configuration fills them in; whoever does the work takes them. Neither knows the other.
"""

from harness.settings.agent import (
    AgentSettings,
    ModelSettings,
    OwnerSettings,
    ReplySettings,
    SearchSettings,
    SpeechSettings,
    SubagentSettings,
    ToolSettings,
)
from harness.settings.excerpts import ExcerptLimits
from harness.settings.files import (
    EXTRA_FILES_HOOK,
    ContextInjection,
    FileLimits,
    FileSettings,
    SeedOptions,
    WarningMode,
)
from harness.settings.heartbeat import (
    ACK_MAX_CHARS,
    ActiveHours,
    ChannelVisibility,
    HeartbeatSettings,
    Visibility,
    ack_limit,
    day_minutes,
)
from harness.settings.memory import CitationsMode, MemorySettings, ResetAction, StartupSettings
from harness.settings.queue import DropPolicy, QueueMode, QueueRules, QueueSettings
from harness.settings.skills import (
    Host,
    PluginSkills,
    PluginSwitches,
    RemoteNode,
    SkillEntry,
    SkillLimits,
    SkillPlaces,
    SkillRules,
    SkillSettings,
    SkillSource,
    name_filter,
)
from harness.settings.times import TimeSettings

__all__ = [
    "ACK_MAX_CHARS",
    "EXTRA_FILES_HOOK",
    "ActiveHours",
    "AgentSettings",
    "ChannelVisibility",
    "CitationsMode",
    "ContextInjection",
    "DropPolicy",
    "ExcerptLimits",
    "FileLimits",
    "FileSettings",
    "HeartbeatSettings",
    "Host",
    "MemorySettings",
    "ModelSettings",
    "OwnerSettings",
    "PluginSkills",
    "PluginSwitches",
    "QueueMode",
    "QueueRules",
    "QueueSettings",
    "RemoteNode",
    "ReplySettings",
    "ResetAction",
    "SearchSettings",
    "SeedOptions",
    "SkillEntry",
    "SkillLimits",
    "SkillPlaces",
    "SkillRules",
    "SkillSettings",
    "SkillSource",
    "SpeechSettings",
    "StartupSettings",
    "SubagentSettings",
    "TimeSettings",
    "ToolSettings",
    "Visibility",
    "WarningMode",
    "ack_limit",
    "day_minutes",
    "name_filter",
]
