"""Every key that the settings tables name is read, under its original name."""

import pytest

from harness.config import NotServed, Surroundings, read_tree
from harness.json_value import Json

SECTION_14: dict[str, Json] = {
    "agents.defaults.workspace": "~/work",
    "agents.defaults.repoRoot": "~/code",
    "agents.defaults.skipBootstrap": True,
    "agents.defaults.skipOptionalBootstrapFiles": ["SOUL.md", "HEARTBEAT.md"],
    "agents.defaults.contextInjection": "continuation-skip",
    "agents.defaults.bootstrapMaxChars": 12_000,
    "agents.defaults.bootstrapTotalMaxChars": 60_000,
    "agents.defaults.bootstrapPromptTruncationWarning": "once",
    "agents.defaults.startupContext.enabled": False,
    "agents.defaults.startupContext.applyOn": ["reset"],
    "agents.defaults.startupContext.dailyMemoryDays": 14,
    "agents.defaults.startupContext.maxFileBytes": 65_536,
    "agents.defaults.startupContext.maxFileChars": 10_000,
    "agents.defaults.startupContext.maxTotalChars": 50_000,
    "agents.defaults.contextLimits.memoryGetMaxChars": 250_000,
    "agents.defaults.contextLimits.memoryGetDefaultLines": 5_000,
    "agents.defaults.contextLimits.toolResultMaxChars": 1_000_000,
    "agents.defaults.contextLimits.postCompactionMaxChars": 50_000,
    "agents.defaults.compaction.postCompactionSections": ["Red Lines"],
    "agents.defaults.userTimezone": "Asia/Tokyo",
    "agents.defaults.timeFormat": "24",
    "agents.defaults.envelopeTimezone": "local",
    "agents.defaults.envelopeTimestamp": "off",
    "agents.defaults.envelopeElapsed": "off",
    "agents.defaults.skills": ["weather"],
    "agents.defaults.subagents.delegationMode": "prefer",
    "agents.defaults.promptOverlays.gpt5.personality": "off",
    "agents.defaults.heartbeat.every": "1h",
    "agents.defaults.heartbeat.prompt": "Look around.",
    "agents.defaults.heartbeat.ackMaxChars": "250",
    "agents.defaults.heartbeat.target": "last",
    "agents.defaults.heartbeat.activeHours": {"start": "08:00", "end": "24:00", "timezone": "user"},
    "agents.defaults.heartbeat.lightContext": True,
    "agents.defaults.heartbeat.isolatedSession": True,
    "agents.defaults.heartbeat.includeReasoning": True,
    "agents.defaults.heartbeat.includeSystemPromptSection": False,
    "agents.defaults.heartbeat.suppressToolErrorWarnings": True,
    "agents.defaults.heartbeat.timeoutSeconds": 45,
    "agents.defaults.heartbeat.directPolicy": "block",
    "agents.defaults.heartbeat.skipWhenBusy": True,
    "agents.defaults.silentReply.group": "disallow",
    "agents.defaults.silentReply.internal": "allow",
    "agents.defaults.models": {"openai/gpt-5.5": {"alias": "main", "agentRuntime": {"id": "codex"}}},
    "skills.limits.maxCandidatesPerRoot": 3,
    "skills.limits.maxSkillsLoadedPerSource": 3,
    "skills.limits.maxSkillsInPrompt": 3,
    "skills.limits.maxSkillsPromptChars": 0,
    "skills.limits.maxSkillFileBytes": 3,
    "skills.load.extraDirs": ["~/skills"],
    "skills.load.allowSymlinkTargets": ["/srv"],
    "skills.load.watch": False,
    "skills.load.watchDebounceMs": 100,
    "skills.allowBundled": ["maps"],
    "skills.entries": {"maps": {"enabled": True, "apiKey": {"source": "env"}, "env": {"A": "b"}, "config": {"x": 1}}},
    "plugins.entries": {"openai": {"config": {"personality": "on"}}, "codex": {"enabled": True}},
    "plugins.allow": ["codex"],
    "plugins.load.paths": ["~/plugins"],
    "surfaces": {"discord": {"silentReply": {"group": "allow"}}},
    "memory.citations": "off",
    "memory.groups": True,
    "commands.ownerDisplay": "hash",
    "commands.ownerDisplaySecret": "pepper",
    "tools.fs.workspaceOnly": True,
    "tools.experimental.planTool": True,
    "tools.allow": ["read"],
    "commands.ownerAllowFrom": ["telegram:7", 8],
    "tools.exec": {"ask": "always", "security": "allowlist"},
    "tools.exec.allow": ["git status", ["ls", "-l"]],
    "tools.exec.approvalTimeoutSeconds": 120,
    "tools.media.image.timeoutSeconds": 60,
    "tools.web.search": {
        "enabled": True,
        "provider": "openai",
        "openaiCodex": {
            "enabled": True,
            "mode": "live",
            "allowedDomains": ["example.org"],
            "contextSize": "low",
            "userLocation": {"country": "IT"},
        },
    },
    "hooks.internal.enabled": True,
    "hooks.internal.entries": {"bootstrap-extra-files": {"enabled": True, "paths": ["docs/*/AGENTS.md"]}},
    "channels": {
        "defaults": {"heartbeat": {"showOk": True}},
        "telegram": {"heartbeat": {"showAlerts": False}, "accounts": {"b": {"heartbeat": {"useIndicator": False}}}},
    },
    "browser": {"enabled": False, "evaluateEnabled": False},
    "messages.visibleReplies": "message_tool",
    "messages.groupChat": {"visibleReplies": "automatic", "unmentionedInbound": "drop"},
    "messages.queue": {
        "mode": "collect",
        "byChannel": {"discord": "followup"},
        "debounceMs": 500,
        "debounceMsByChannel": {"discord": 0},
        "cap": 20,
        "drop": "summarize",
    },
    "messages.tts": {"auto": "tagged", "persona": "calm", "maxTextLength": 900},
    "models.providers": {"openai": {"baseUrl": "https://example.org", "agentRuntime": {"id": "codex"}}},
    "auth.order": {"openai": ["work", "home"]},
    "agents.defaults.timeoutSeconds": 600,
    "agents.defaults.maxConcurrent": 4,
    "agents.defaults.mediaMaxMb": 5,
    "agents.defaults.imageGenerationModel": {"primary": "openai/gpt-image-2", "timeoutMs": 1000},
    "agents.defaults.compaction": {
        "reserveTokens": 1,
        "reserveTokensFloor": 1,
        "truncateAfterCompaction": True,
        "maxActiveTranscriptBytes": "10mb",
        "model": "openai/gpt-5.5",
        "provider": "openai",
    },
    "agents.defaults.thinkingDefault": "high",
    "agents.defaults.reasoningDefault": "stream",
    "agents.defaults.fastModeDefault": True,
    "agents.defaults.subagents.thinking": "low",
    "agents.list": [
        {
            "id": "ana",
            "default": True,
            "name": "Ana",
            "workspace": "~/ana",
            "contextInjection": "never",
            "bootstrapMaxChars": 1,
            "bootstrapTotalMaxChars": 1,
            "contextLimits": {"toolResultMaxChars": 1},
            "skills": [],
            "skillsLimits": {"maxSkillsPromptChars": 6_000},
            "subagents": {"delegationMode": "suggest", "thinking": "low"},
            "heartbeat": {"every": 15, "target": "telegram", "to": "42", "accountId": "b"},
            "model": {"primary": "openai/gpt-5.5", "fallbacks": []},
            "models": {"openai/gpt-5.5": {"alias": "best"}},
            "compaction": {"model": "openai/gpt-5.5"},
            "thinkingDefault": "low",
            "reasoningDefault": "off",
            "fastModeDefault": False,
        }
    ],
}


def tree_of(place: str, value: Json) -> dict[str, Json]:
    tree: Json = value
    for key in reversed(place.split(".")):
        tree = {key: tree}
    assert isinstance(tree, dict)
    return tree


@pytest.mark.parametrize("place", SECTION_14)
def test_a_key_of_the_settings_tables_is_known_with_a_valid_value(machine: Surroundings, place: str) -> None:
    """S60, S64, S70, S76, S78: the limits, modes and lists that the pages name are keys of the configuration."""
    findings = read_tree(tree_of(place, SECTION_14[place]), machine).findings
    assert [finding for finding in findings if not isinstance(finding, NotServed)] == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("agents.defaults.timeFormat", "13"),
        ("agents.defaults.bootstrapPromptTruncationWarning", "always "),
        ("agents.defaults.skipBootstrap", "yes"),
        ("agents.defaults.skipOptionalBootstrapFiles", ["AGENTS.md"]),
        ("agents.defaults.heartbeat.activeHours.start", "24:01"),
        ("agents.defaults.heartbeat.activeHours.end", "-1:00"),
        ("agents.defaults.heartbeat.ackMaxChars", "few"),
        ("agents.defaults.heartbeat.every", True),
        ("agents.defaults.heartbeat.timeoutSeconds", 0),
        ("agents.defaults.maxConcurrent", 0),
        ("agents.defaults.contextLimits.memoryGetDefaultLines", 0),
        ("agents.defaults.subagents.delegationMode", "always"),
        ("agents.defaults.promptOverlays.gpt5.personality", "grumpy"),
        ("skills.limits.maxSkillsPromptChars", -1),
        ("memory.citations", True),
        ("commands.ownerDisplay", "initials"),
        ("commands.ownerAllowFrom", "7"),
        ("tools.exec.ask", "sometimes"),
        ("tools.exec.approvalTimeoutSeconds", 0),
    ],
)
def test_a_wrong_value_is_found(machine: Surroundings, place: str, value: Json) -> None:
    findings = read_tree(tree_of(place, value), machine).findings

    assert [finding.place.partition("[")[0] for finding in findings][:1] == [place]
