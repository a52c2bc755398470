"""From the text of one configuration file to what every part of the workspace takes, without a step in between."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.clock import time_lines
from harness.config import Surroundings, read_config, resolve_agent
from harness.heartbeat import Ack, BasePoll, heartbeat_guidance, plan_run, pointer_for, within_active_hours
from harness.memory import (
    Audience,
    MemoryFacts,
    MemoryIndex,
    Open,
    memory_note,
    memory_tools,
    post_compaction_text,
    route_memory,
    startup_context,
    startup_notes_off,
)
from harness.settings import AgentSettings, ContextInjection, PluginSkills, SkillSource
from harness.skills import ReadTool, SkillLibrary, listing_options
from harness.workspace import (
    EXTRA_FILES_HOOK,
    Bootstrap,
    BootstrapHooks,
    BootstrapRequest,
    ExtraFiles,
    FirstRunMode,
    Fit,
    GuardedReader,
    Injected,
    RunKind,
    analyse,
    build_context,
    decide_warning,
    ensure_workspace,
    reason_to_skip,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
TEXT = """{
  agents: {
    defaults: {
      workspace: "~/garden", userTimezone: "Europe/Rome", timeFormat: "12",
      bootstrapMaxChars: 60, bootstrapTotalMaxChars: 4000, bootstrapPromptTruncationWarning: "once",
      contextInjection: "continuation-skip", skipOptionalBootstrapFiles: ["USER.md"],
      contextLimits: {memoryGetMaxChars: 90, postCompactionMaxChars: 40},
      compaction: {postCompactionSections: ["Red Lines"]},
      startupContext: {applyOn: ["new"], dailyMemoryDays: 1},
      heartbeat: {every: "2h", includeSystemPromptSection: false, lightContext: true,
                  activeHours: {start: "08:00", end: "22:00", timezone: "local"}},
      skills: ["beans", "boat"],
    },
  },
  channels: {defaults: {heartbeat: {showOk: true}}, telegram: {accounts: {work: {heartbeat: {showAlerts: false}}}}},
  hooks: {internal: {entries: {"bootstrap-extra-files": {paths: ["beds/AGENTS.md"]}}}},
  memory: {citations: "off", groups: true},
  plugins: {entries: {boats: {enabled: false}}},
  skills: {
    limits: {maxSkillsPromptChars: 2000}, load: {extraDirs: ["~/more"], watchDebounceMs: 20},
    entries: {beans: {env: {BEANS: "broad"}}},
  },
  garden: {gate: "open"},
}"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    for path, text in {
        "garden/AGENTS.md": "## Red Lines\n\nNever water at noon. " + "Ask before cutting anything. " * 9,
        "garden/HEARTBEAT.md": "- look at the sensor",
        "garden/SOUL.md": "Calm.",
        "garden/MEMORY.md": "The boat shed is blue.",
        "garden/beds/AGENTS.md": "Beans stand in bed two.",
        "garden/memory/2026-03-02.md": "Planted beans.",
        "garden/skills/beans/SKILL.md": (
            "---\nname: beans\ndescription: Grows beans\n"
            'metadata: {"openclaw": {"requires": {"env": ["BEANS"], "config": ["garden.gate"]}}}\n---\n'
        ),
        "garden/skills/other/SKILL.md": "---\nname: other\ndescription: Not listed\n---\n",
        "boats/skills/boat/SKILL.md": "---\nname: boat\ndescription: Of a plugin that is off\n---\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def agent(home: Path) -> AgentSettings:
    machine = Surroundings(home=home, host_timezone="UTC", environment={"OPENCLAW_STATE_DIR": str(home / "state")})
    return resolve_agent(read_config(TEXT, machine), "main", machine)


async def test_files_and_their_limits(agent: AgentSettings) -> None:
    """S57, S58, S60, S64."""
    reader = GuardedReader()
    hooks = BootstrapHooks(enabled=agent.files.hooks_enabled)
    hooks.register(ExtraFiles(agent.files.extra_files, reader=reader), name=EXTRA_FILES_HOOK)
    request = BootstrapRequest(str(agent.workspace), agent.id, session_key="agent:main:main", heartbeat=agent.heartbeat)

    found = await Bootstrap(reader, hooks=hooks).resolve(request)
    context = build_context(found.files, agent.files.limits)
    analysis = analyse(found.files, [Injected(file.path, file.units) for file in context.files], context.limits)
    first = decide_warning(analysis, agent.files.warning, ())
    second = decide_warning(analysis, agent.files.warning, first.seen)

    read = [file for file in context.files if file.fit is not Fit.MISSING]
    assert [(Path(file.path).relative_to(agent.workspace).as_posix(), file.fit.value, file.units) for file in read] == [
        ("AGENTS.md", "truncated", 59),
        ("SOUL.md", "whole", 5),
        ("MEMORY.md", "whole", 22),
        ("beds/AGENTS.md", "whole", 23),
    ]
    assert [out.name for out in found.left_out] == ["BOOTSTRAP.md", "HEARTBEAT.md"]
    assert (first.shown, second.shown) == (True, False)
    assert agent.files.injection is ContextInjection.CONTINUATION_SKIP
    assert reason_to_skip(agent.files.injection, run=RunKind.DEFAULT, first_run=FirstRunMode.NONE, already_sent=True)


async def test_a_new_workspace(agent: AgentSettings, home: Path) -> None:
    async def no_git(_: str) -> None: ...

    seeded = await ensure_workspace(
        str(home / "new"),
        state_dir=str(home / "state"),
        now=NOON,
        reader=GuardedReader(),
        options=agent.files.seed,
        init_repository=no_git,
    )
    assert "USER.md" not in seeded.created


def test_skills(agent: AgentSettings, home: Path) -> None:
    """S71, S76, S77, S78."""
    skills = agent.skills
    boats = PluginSkills("boats", str(home / "boats"), (str(home / "boats/skills"),))
    library = SkillLibrary(skills.with_plugins([boats]), limits=skills.limits)
    options = listing_options(skills, loading=ReadTool(), check_command="gateway skills list")

    catalogue = library.catalogue(skills.rules, options)

    assert [entry.name for entry in catalogue.entries] == ["beans"]
    assert "~/garden/skills/beans/SKILL.md" in catalogue.text
    assert options.max_units == 2_000
    assert {verdict.name: verdict.why.value for verdict in library.survey(skills.rules, options).verdicts} == {
        "beans": "eligible",
        "boat": "plugin-off",
        "other": "not-allowed",
    }
    assert SkillSource.PERSONAL not in skills.places.exclude
    assert (skills.watch, skills.watch_debounce_ms) == (True, 20)


async def test_memory(agent: AgentSettings, home: Path) -> None:
    """S54, S59, S78."""
    root = str(agent.workspace)
    with MemoryIndex(home / "state") as index:
        tools = {tool.name: tool for tool in memory_tools(index, root, access=Open, limits=agent.excerpts)}
        route = route_memory(MemoryFacts(audience=Audience.GROUP, settings=agent.memory, tools=frozenset(tools)))
        found = await tools["memory_search"].call({"query": "boat"})
        got = await tools["memory_get"].call({"path": "MEMORY.md"})

    assert (route.note, route.access) == (True, Open(cite=False))
    assert "Do not mention paths" in memory_note(route.readers, citations=agent.memory.citations)
    assert "The boat shed is blue." in found.text
    assert len(got.text) <= 90
    assert startup_notes_off("reset", agent.startup, first_run=False, owner_alone=True) is not None
    notes, problems = startup_context(root, now=NOON, zone=agent.time.zone, limits=agent.startup)
    assert ("Planted beans." in (notes or ""), problems) == (True, ())


def test_what_is_said_again_after_a_compaction(agent: AgentSettings) -> None:
    text = post_compaction_text(
        (agent.workspace / "AGENTS.md").read_text(encoding="utf-8"),
        agent.post_compaction_sections,
        today=NOON.date(),
        max_units=agent.excerpts.post_compaction_max_chars,
        time_lines=time_lines(NOON, agent.time.zone, clock=agent.time.clock),
    )
    assert text is not None
    assert "Red Lines" in text
    assert text.endswith(
        "Current time: Monday, March 2nd, 2026 - 1:00 PM (Europe/Rome)\nReference UTC: 2026-03-02 12:00 UTC"
    )


def test_heartbeats(agent: AgentSettings) -> None:
    """S25, S53, S58."""
    settings = agent.heartbeat
    run = plan_run(settings, BasePoll(settings.prompt), session_key="agent:main:main", ack=Ack.TOOL)

    assert (settings.every, settings.runs, settings.guidance) == (timedelta(hours=2), True, False)
    assert (run.light, run.seconds) == (True, 600)
    assert within_active_hours(settings.active_hours, now=NOON)
    assert not within_active_hours(settings.active_hours, now=NOON + timedelta(hours=10))
    assert agent.visibility.of("telegram", "work").show_alerts is False
    assert agent.visibility.of("discord").show_ok
    path = f"{agent.workspace}/HEARTBEAT.md"
    assert path in (pointer_for(path, "- look at the sensor") or "")
    assert "heartbeat_respond" in heartbeat_guidance(Ack.TOOL)
