"""The defaults, an agent's entry and the machine become one value for each agent."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from harness.clock import Clock
from harness.config import Surroundings, agent_ids, default_agent_id, describe, read_config, resolve_agent
from harness.settings import (
    AgentSettings,
    ContextInjection,
    DropPolicy,
    ExcerptLimits,
    FileLimits,
    FileSettings,
    HeartbeatSettings,
    Host,
    MemorySettings,
    ModelSettings,
    OwnerSettings,
    PluginSwitches,
    QueueMode,
    QueueRules,
    ReplySettings,
    SearchSettings,
    SeedOptions,
    SkillEntry,
    SkillLimits,
    SkillPlaces,
    SkillRules,
    SkillSettings,
    SpeechSettings,
    StartupSettings,
    SubagentSettings,
    TimeSettings,
    ToolSettings,
    WarningMode,
)
from harness.settings.approvals import ApprovalSettings, Asking

HOME = Path("/home/ana")


def settings_of(text: str, machine: Surroundings, agent: str = "main") -> AgentSettings:
    return resolve_agent(read_config(text, machine), agent, machine)


def test_without_a_configuration_the_built_in_settings_count(machine: Surroundings) -> None:
    """S36, S58, S60, S64, S78: delegation, heartbeat guidance, file limits, warning mode, excerpt sizes."""
    assert settings_of("", machine) == AgentSettings(
        workspace=HOME / ".openclaw/workspace",
        files=FileSettings(limits=FileLimits(20_000, 60_000), warning=WarningMode.ALWAYS),
        skills=SkillSettings(
            places=SkillPlaces(
                workspace="/home/ana/.openclaw/workspace",
                home="/home/ana",
                config_dir="/home/ana/.openclaw",
                plugin_links="/home/ana/.openclaw/plugin-skills",
            ),
            rules=SkillRules(Host("linux")),
            limits=SkillLimits(300, 200, 150, 18_000, 256_000),
            homes=("/home/ana",),
            plugin_folders=("/home/ana/.openclaw/extensions",),
        ),
        startup=StartupSettings(
            daily_memory_days=2, max_file_bytes=16_384, max_file_chars=1_200, max_total_chars=2_800
        ),
        excerpts=ExcerptLimits(
            memory_get_max_chars=12_000, memory_get_default_lines=120, post_compaction_max_chars=1_800
        ),
        heartbeat=HeartbeatSettings(every=timedelta(minutes=30), ack_max_chars=300, timeout_seconds=600),
        time=TimeSettings(timezone="Europe/Rome", host_timezone="Europe/Rome"),
        subagents=SubagentSettings(delegation_mode="suggest"),
    )
    assert settings_of("", machine).heartbeat.guidance


FULL = """{
  agents: {
    defaults: {
      repoRoot: "~/code", model: {primary: "a/one", fallbacks: ["a/two"]}, thinkingDefault: "low",
      models: {
        "a/one": {alias: " zed ", agentRuntime: {id: "codex"}}, "a/two": {alias: "abe"}, "a/three": {alias: " "},
      },
      compaction: {postCompactionSections: [" Red Lines ", ""], reserveTokens: 9000, reserveTokensFloor: 20000},
      userTimezone: " Asia/Tokyo ", timeFormat: "24", envelopeTimezone: "user", envelopeElapsed: "off",
      subagents: {delegationMode: "prefer", thinking: "high"}, timeoutSeconds: 90, maxConcurrent: 7,
      skipBootstrap: true,
      skipOptionalBootstrapFiles: ["USER.md"],
      startupContext: {applyOn: [], enabled: false},
    },
    list: [{
      id: "Ana Maria", name: "Ana", workspace: "~/ana", model: "b/one", models: {"b/one": {alias: "best"}},
      fastModeDefault: false, subagents: {thinking: "off"}, contextInjection: "never",
      skillsLimits: {maxSkillsPromptChars: 0},
    }],
  },
  commands: {ownerDisplay: "hash", ownerDisplaySecret: " pepper "},
  hooks: {internal: {entries: {"bootstrap-extra-files": {paths: [], patterns: [" a/*.md ", " "], files: ["b.md"]}}}},
  memory: {citations: "on", groups: true},
  messages: {
    visibleReplies: "automatic", groupChat: {visibleReplies: "message_tool"},
    tts: {auto: "inbound", persona: "calm", maxTextLength: 900},
  },
  plugins: {load: {paths: ["~/plugins"]}, entries: {maps: {enabled: false}, codex: {enabled: true}, other: {}}},
  skills: {
    allowBundled: [" maps ", ""], load: {
      extraDirs: ["~/more", "near", " "], allowSymlinkTargets: ["~/shared"], watch: false, watchDebounceMs: 40,
    },
    entries: {maps: {apiKey: "", env: {A: "b"}}, mail: {enabled: false, apiKey: {source: "vault"}}},
    limits: {maxSkillsInPrompt: 9},
  },
  tools: {fs: {workspaceOnly: true}, experimental: {planTool: true}},
}"""


@pytest.mark.parametrize(
    ("written", "most"),
    [("", 6_291_456), ("mediaMaxMb: 2", 2_097_152), ("mediaMaxMb: 0.5", 524_288), ("mediaMaxMb: 500", 16_777_216)],
)
def test_a_picture_may_be_as_large_as_is_configured_within_what_a_request_holds(
    machine: Surroundings, written: str, most: int
) -> None:
    config = read_config(f"{{agents: {{defaults: {{{written}}}}}}}", machine)
    assert resolve_agent(config, "main", machine).media_bytes == most


@pytest.mark.parametrize(("written", "most"), [("", 4), ("maxConcurrent: 1", 1), ("maxConcurrent: -2", 1)])
def test_at_least_one_turn_runs_at_a_time(machine: Surroundings, written: str, most: int) -> None:
    config = read_config(f"{{agents: {{defaults: {{{written}}}}}}}", machine)
    assert resolve_agent(config, "main", machine).max_concurrent == most


def test_every_setting_of_an_agent_comes_from_its_key(machine: Surroundings) -> None:
    """S03, S36, S70, S76, S77: what the prompt's configuration step needs is resolved for one agent."""
    environment = {"OPENCLAW_BUNDLED_SKILLS_DIR": "/opt/skills", "OPENCLAW_HOME": "/srv"}
    bundled = replace(machine, environment=environment, platform="darwin", host_clock="12")
    config = read_config(FULL, bundled)

    assert resolve_agent(config, "ana maria", bundled) == AgentSettings(
        id="ana-maria",
        name="Ana",
        is_default=True,
        workspace=Path("/srv/ana"),
        repo_root=Path("/srv/code"),
        models=ModelSettings(
            primary="b/one",
            fallbacks=("a/two",),
            aliases={"abe": "a/two", "best": "b/one", "zed": "a/one"},
            harness_ids={"a/one": "codex"},
            thinking="low",
            fast_mode=False,
        ),
        turn_timeout_seconds=90,
        max_concurrent=7,
        files=FileSettings(
            seed=SeedOptions(skip_bootstrap=True, skip_optional=frozenset({"USER.md"})),
            injection=ContextInjection.NEVER,
            extra_files=("a/*.md",),
        ),
        startup=StartupSettings(enabled=False, apply_on=("new", "reset")),
        post_compaction_sections=("Red Lines",),
        reserve_tokens=20_000,
        time=TimeSettings(
            timezone="Asia/Tokyo",
            host_timezone="Europe/Rome",
            clock="24",
            envelope_timezone="user",
            envelope_elapsed=False,
        ),
        skills=SkillSettings(
            places=SkillPlaces(
                workspace="/srv/ana",
                home="/home/ana",
                config_dir="/srv/.openclaw",
                bundled="/opt/skills",
                extra_dirs=("/srv/more", "near"),
                plugin_links="/srv/.openclaw/plugin-skills",
                allow_symlink_targets=("/srv/shared",),
            ),
            rules=SkillRules(
                Host("darwin", environment),
                entries={
                    "maps": SkillEntry(env={"A": "b"}),
                    "mail": SkillEntry(enabled=False, api_key={"source": "vault"}),
                },
                allow_bundled=frozenset({"maps"}),
                config=config.effective,
            ),
            limits=SkillLimits(max_skills_in_prompt=9, max_skills_prompt_chars=0),
            homes=("/srv", "/home/ana"),
            watch=False,
            watch_debounce_ms=40,
            plugins=PluginSwitches(single={"maps": False, "codex": True}),
            plugin_folders=("/srv/.openclaw/extensions", "/srv/plugins"),
        ),
        heartbeat=HeartbeatSettings(timeout_seconds=90),
        memory=MemorySettings(citations="on", groups=True),
        speech=SpeechSettings(auto="inbound", persona="calm", max_chars=900),
        subagents=SubagentSettings(delegation_mode="prefer", thinking="off"),
        owner=OwnerSettings(display="hash", secret="pepper"),
        tools=ToolSettings(workspace_only=True, plan_tool=True),
        replies=ReplySettings(visible="automatic", group_visible="message_tool"),
    )
    assert list(resolve_agent(config, "ana-maria", bundled).models.aliases) == ["abe", "best", "zed"]


def test_an_agent_that_the_list_does_not_name_has_the_defaults(machine: Surroundings) -> None:
    text = "{agents: {defaults: {bootstrapMaxChars: 7}, list: [{id: 'ana', bootstrapMaxChars: 3}]}}"

    stranger = settings_of(text, machine, "Stranger")

    assert (stranger.id, stranger.is_default, stranger.files.limits.per_file) == ("stranger", False, 7)


# Limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "shared", "limit"),
    [
        (None, None, 20_000),
        (None, "12000", 12_000),
        ("500", "12000", 500),
        ("500.9", None, 500),
        ("0.5", None, 1),
        ("null", "12000", 12_000),
        ("0", "12000", 20_000),
        ("-5", "12000", 20_000),
        ("'lots'", "12000", 20_000),
        ("NaN", "12000", 20_000),
        ("Infinity", "12000", 20_000),
        ("true", "12000", 20_000),
        (None, "0", 20_000),
        (None, "'lots'", 20_000),
    ],
)
def test_a_wrong_limit_of_the_agent_means_the_constant_and_not_the_shared_limit(
    machine: Surroundings, own: str | None, shared: str | None, limit: int
) -> None:
    """S60: `bootstrapMaxChars`, per agent over the defaults."""
    key = "bootstrapMaxChars"
    defaults = f"{{ {key}: {shared} }}" if shared else "{}"
    entry = f"{{ id: 'ana', {key}: {own} }}" if own else "{ id: 'ana' }"

    found = settings_of(f"{{agents: {{defaults: {defaults}, list: [{entry}]}}}}", machine, "ana")

    assert found.files.limits.per_file == limit


def test_the_total_limit_follows_the_same_rule(machine: Surroundings) -> None:
    """S60: `bootstrapTotalMaxChars`."""
    listed = "[{id: 'a', bootstrapTotalMaxChars: 8.5}, {id: 'b', bootstrapTotalMaxChars: 0}, {id: 'c'}]"
    text = f"{{agents: {{defaults: {{bootstrapTotalMaxChars: 9}}, list: {listed}}}}}"

    assert [settings_of(text, machine, agent).files.limits.total for agent in "abc"] == [8, 60_000, 9]


@pytest.mark.parametrize(
    ("written", "mode"), [("off", "off"), ("once", "once"), ("always", "always"), ("loud", "always")]
)
def test_the_warning_mode_is_always_unless_a_valid_one_is_written(
    machine: Surroundings, written: str, mode: str
) -> None:
    """S64: off, once and always; an older configuration may still say once."""
    text = f"{{agents: {{defaults: {{bootstrapPromptTruncationWarning: '{written}'}}}}}}"

    assert settings_of(text, machine).files.warning is WarningMode(mode)


def test_excerpt_limits_of_an_agent_are_laid_over_the_shared_ones_key_by_key(machine: Surroundings) -> None:
    """S78: `agents.list[].contextLimits` over `agents.defaults.contextLimits`."""
    text = """{agents: {
      defaults: {contextLimits: {memoryGetMaxChars: 6000, memoryGetDefaultLines: 50}},
      list: [{id: "ana", contextLimits: {memoryGetMaxChars: 3000, memoryGetDefaultLines: 0, toolResultMaxChars: 9}}],
    }}"""

    assert settings_of(text, machine, "ana").excerpts == ExcerptLimits(
        memory_get_max_chars=3_000,
        memory_get_default_lines=50,
        tool_result_max_chars=9,
        post_compaction_max_chars=1_800,
    )


@pytest.mark.parametrize(
    ("own", "shared", "word"),
    [
        (None, None, "always"),
        (None, "never", "never"),
        ("continuation-skip", "never", "continuation-skip"),
        ("always", "never", "always"),
        ("sometimes", "never", "never"),
    ],
)
def test_an_agents_context_injection_goes_before_the_shared_one(
    machine: Surroundings, own: str | None, shared: str | None, word: str
) -> None:
    defaults = f"{{ contextInjection: '{shared}' }}" if shared else "{}"
    entry = f"{{ id: 'ana', contextInjection: '{own}' }}" if own else "{ id: 'ana' }"

    found = settings_of(f"{{agents: {{defaults: {defaults}, list: [{entry}]}}}}", machine, "ana")

    assert found.files.injection is ContextInjection(word)


# Skills ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shared", "own", "allowed"),
    [
        (None, None, None),
        ("['a', ' b ', '']", None, {"a", "b"}),
        ("['a']", "[]", frozenset[str]()),
        ("['a']", "['c']", {"c"}),
        ("['a']", "null", None),
        ("[]", None, frozenset[str]()),
        ("['a']", "'c'", {"a"}),
    ],
    ids=["nobody", "shared", "own empty", "own", "own null", "shared empty", "own wrong"],
)
def test_an_agents_own_skill_list_counts_whole_even_when_empty(
    machine: Surroundings, shared: str | None, own: str | None, allowed: object
) -> None:
    """S76: `agents.list[].skills` over `agents.defaults.skills`, never merged; absent means every skill."""
    defaults = f"{{ skills: {shared} }}" if shared else "{}"
    entry = f"{{ id: 'ana', skills: {own} }}" if own else "{ id: 'ana' }"

    found = settings_of(f"{{agents: {{defaults: {defaults}, list: [{entry}]}}}}", machine, "ana")

    assert found.skills.allow == allowed


def test_the_skills_budget_of_an_agent_replaces_the_shared_one(machine: Surroundings) -> None:
    """S78: `agents.list[].skillsLimits.maxSkillsPromptChars` over `skills.limits.maxSkillsPromptChars`."""
    text = """{
      skills: {limits: {maxSkillsPromptChars: 50}},
      agents: {list: [{id: 'a', skillsLimits: {maxSkillsPromptChars: 6}}, {id: 'b'}]},
    }"""

    assert [settings_of(text, machine, agent).skills.limits.max_skills_prompt_chars for agent in "ab"] == [6, 50]


def test_secrets_do_not_show_in_the_settings(machine: Surroundings) -> None:
    text = "{commands: {ownerDisplaySecret: 'p3pper'}, skills: {entries: {m: {apiKey: 'k3y', env: {A: 'v4lue'}}}}}"
    shown = repr(settings_of(text, machine))

    assert not any(secret in shown for secret in ("p3pper", "k3y", "v4lue"))


# Agents and places -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "ids", "default"),
    [
        ("[]", ("main",), "main"),
        ("[{id: 'ana'}, {id: 'ben'}]", ("ana", "ben"), "ana"),
        ("[{id: 'ana'}, {id: 'ben', default: true}, {id: 'eve', default: true}]", ("ana", "ben", "eve"), "ben"),
        ("[{id: ' Ana B.! '}, {id: 'ANA-B'}, {}]", ("ana-b", "main"), "ana-b"),
    ],
    ids=["none", "first", "first marked", "spellings"],
)
def test_the_default_agent_is_the_first_marked_one_else_the_first(
    machine: Surroundings, entries: str, ids: tuple[str, ...], default: str
) -> None:
    values = read_config(f"{{agents: {{list: {entries}}}}}", machine).values

    assert (agent_ids(values), default_agent_id(values)) == (ids, default)


@pytest.mark.parametrize(
    ("defaults", "agent", "workspace"),
    [
        ("{}", "ana", HOME / ".openclaw/workspace"),
        ("{}", "ben", HOME / ".openclaw/workspace-ben"),
        ("{}", "eve", Path("/eve")),
        ("{workspace: '~/shared'}", "ana", HOME / "shared"),
        ("{workspace: '~/shared'}", "ben", HOME / "shared/ben"),
        ("{workspace: '~/shared'}", "eve", Path("/eve")),
        ("{workspace: '  '}", "ana", HOME / ".openclaw/workspace"),
    ],
)
def test_each_agent_has_a_workspace_of_its_own(
    machine: Surroundings, defaults: str, agent: str, workspace: Path
) -> None:
    """S19: `agents.defaults.workspace`; other agents stand beside or inside it."""
    text = (
        f"{{agents: {{defaults: {defaults}, list: [{{id: 'ana'}}, {{id: 'ben'}}, {{id: 'eve', workspace: '/eve'}}]}}}}"
    )

    assert settings_of(text, machine, agent).workspace == workspace


# Time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configured", "host", "zone"),
    [
        ("Asia/Tokyo", "Europe/Rome", "Asia/Tokyo"),
        ("Mars/Olympus", "Europe/Rome", "Europe/Rome"),
        ("  ", "Europe/Rome", "Europe/Rome"),
        ("Mars/Olympus", "Moon/Base", "UTC"),
    ],
)
def test_an_unknown_time_zone_falls_back_to_the_machines_then_utc(
    machine: Surroundings, configured: str, host: str, zone: str
) -> None:
    """S70: `agents.defaults.userTimezone`."""
    text = f"{{agents: {{defaults: {{userTimezone: '{configured}'}}}}}}"

    assert settings_of(text, replace(machine, host_timezone=host)).time.timezone == zone


@pytest.mark.parametrize(("written", "zone"), [("user", "user"), ("Asia/Tokyo", "Asia/Tokyo"), ("Mars", "utc")])
def test_the_envelopes_time_zone_is_utc_when_it_is_unknown(machine: Surroundings, written: str, zone: str) -> None:
    text = f"{{agents: {{defaults: {{envelopeTimezone: '{written}'}}}}}}"

    assert settings_of(text, machine).time.envelope_timezone == zone


def test_switching_internal_hooks_off_is_carried_along(machine: Surroundings) -> None:
    text = (
        "{hooks: {internal: {enabled: false, entries: {'bootstrap-extra-files': {enabled: false, paths: ['a.md']}}}}}"
    )

    assert settings_of(text, machine).files == FileSettings(hooks_enabled=False, extra_files=())


@pytest.mark.parametrize(
    ("written", "host", "clock"), [("12", "24", "12"), ("24", "12", "24"), ("auto", "12", "12"), ("36", "12", "12")]
)
def test_the_form_of_the_time_is_the_machines_unless_one_is_written(
    machine: Surroundings, written: str, host: Clock, clock: Clock
) -> None:
    """S70: `agents.defaults.timeFormat`."""
    text = f"{{agents: {{defaults: {{timeFormat: '{written}'}}}}}}"

    assert settings_of(text, replace(machine, host_clock=host)).time.clock == clock


@pytest.mark.parametrize(
    ("tools", "plan"),
    [
        ("{}", None),
        ("{experimental: {planTool: false}}", False),
        ('{allow: ["read", " Update_Plan "]}', True),
        ('{allow: ["read"]}', None),
        ('{allow: ["update_plan"], experimental: {planTool: false}}', False),
    ],
)
def test_the_plan_tool_is_switched_by_its_key_or_by_a_list_that_names_it(
    machine: Surroundings, tools: str, plan: bool | None
) -> None:
    """S12, prompt-builder 3: without a word the model decides."""
    assert settings_of(f"{{tools: {tools}}}", machine).tools.plan_tool is plan


@pytest.mark.parametrize(
    ("text", "search"),
    [
        ("", SearchSettings()),
        ("{enabled: true, provider: 'openai'}", SearchSettings()),
        ("{enabled: false, openaiCodex: {enabled: true}}", SearchSettings(enabled=False)),
        ("{openaiCodex: {enabled: false}}", SearchSettings(enabled=False)),
        (
            """{openaiCodex: {mode: 'live', allowedDomains: [' a.example ', ''], contextSize: 'low',
                userLocation: {country: 'IT', city: ' ', planet: 'Mars'}}}""",
            SearchSettings(mode="live", allowed_domains=("a.example",), context_size="low", location={"country": "IT"}),
        ),
    ],
)
def test_the_web_is_searched_unless_a_key_says_otherwise(
    machine: Surroundings, text: str, search: SearchSettings
) -> None:
    """`tools.web.search`."""
    assert settings_of(f"{{tools: {{web: {{search: {text or '{}'}}}}}}}", machine).tools.search == search


@pytest.mark.parametrize(
    ("text", "channel", "rules"),
    [
        ("", "telegram", QueueRules(mode=QueueMode.STEER, quiet=0.5, cap=20, drop=DropPolicy.SUMMARIZE)),
        (
            "{mode: 'collect', debounceMs: 0, cap: 3, drop: 'new'}",
            "telegram",
            QueueRules(mode=QueueMode.COLLECT, quiet=0.0, cap=3, drop=DropPolicy.NEW),
        ),
        (
            "{mode: 'interrupt', byChannel: {Discord: 'followup'}, debounceMsByChannel: {discord: 2000}}",
            "discord",
            QueueRules(mode=QueueMode.FOLLOWUP, quiet=2.0),
        ),
        ("{mode: 'interrupt', byChannel: {discord: 'followup'}}", "telegram", QueueRules(mode=QueueMode.INTERRUPT)),
        ("{mode: 'steer-backlog', cap: 0, debounceMs: -1, drop: 'some', byChannel: {x: 'queue'}}", "x", QueueRules()),
    ],
)
def test_messages_are_queued_as_the_channel_or_else_all_of_them_say(
    machine: Surroundings, text: str, channel: str, rules: QueueRules
) -> None:
    """`messages.queue`; a value that means nothing is passed over."""
    assert settings_of(f"{{messages: {{queue: {text or '{}'}}}}}", machine).queue.of(channel) == rules


def test_who_is_asked_and_what_needs_no_asking_is_configured(machine: Surroundings) -> None:
    text = """{
      commands: {ownerAllowFrom: ['telegram:7', 8, ' ']},
      tools: {exec: {ask: 'off', allow: ['git status', ['ls', '-l', 'a b']], approvalTimeoutSeconds: 90}},
    }"""
    assert settings_of(text, machine).approvals == ApprovalSettings(
        asking=Asking.NEVER,
        allowed=(("git", "status"), ("ls", "-l", "a b")),
        owners=("telegram:7", "8"),
        seconds=90.0,
    )


def test_what_is_no_beginning_of_a_plain_command_allows_nothing(machine: Surroundings) -> None:
    """An unknown word for asking is told of, and people are asked."""
    config = read_config("{tools: {exec: {ask: 'sometimes', allow: ['git *', '', [], [''], 'ls']}}}", machine)
    words = 'the first words of a plain command, such as "git status", or a list of them'
    assert [describe(finding) for finding in config.findings] == [
        *(
            f"tools.exec.allow[{place}] is {found}, but must be {words}; this item is left out."
            for place, found in enumerate(['"git *"', '""', "a list", "a list"])
        ),
        'tools.exec.ask is "sometimes", but must be "off", "on-miss" or "always"; it counts as not written.',
    ]
    assert resolve_agent(config, "main", machine).approvals == ApprovalSettings(allowed=(("ls",),))
