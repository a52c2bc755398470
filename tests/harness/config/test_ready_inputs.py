"""From the text of one configuration file to what every part of the workspace takes, without a step in between."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.config import Surroundings, read_config, resolve_agent
from harness.conversations import NOTHING, Held
from harness.gather import Gathered, Gatherer, Situation
from harness.habits import Habits
from harness.heartbeat import Ack, BasePoll, Place, heartbeat_guidance, plan_run, pointer_for, within_active_hours
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory import (
    Audience,
    MemoryFacts,
    MemoryIndex,
    Open,
    memory_note,
    memory_tools,
    route_memory,
    startup_context,
    startup_notes_off,
)
from harness.plain import in_workspace
from harness.settings import AgentSettings, SkillSource
from harness.skills import ReadTool
from harness.turns import Trigger
from harness.workspace import Fit
from harness.workspace.starter_files import STARTERS

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
        "state/extensions/boats/openclaw.plugin.json": '{"id": "boats", "skills": ["skills"]}',
        "state/extensions/boats/skills/boat/SKILL.md": "---\nname: boat\ndescription: Of a plugin that is off\n---\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def agent(home: Path) -> AgentSettings:
    machine = Surroundings(home=home, host_timezone="UTC", environment={"OPENCLAW_STATE_DIR": str(home / "state")})
    return resolve_agent(read_config(TEXT, machine), "main", machine)


def gatherer(agent: AgentSettings) -> Gatherer:
    return Gatherer(agent, Habits(), loading=ReadTool(), now=lambda: NOON)


async def turn(agent: AgentSettings, held: Held = NOTHING) -> Gathered:
    """What a backend that reads nothing by itself gets."""
    words = Layer(LayerName.USER_TEXT, "m", Lifetime.INPUT, Trust.OWNER, "hi")
    return await gatherer(agent).gather(
        Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=words, session_key="agent:main:main", held=held)
    )


async def test_files_and_their_limits(agent: AgentSettings) -> None:
    """S57, S58, S60, S64."""
    first = await turn(agent)
    assert first.truncation is not None
    second = await turn(agent, Held(cuts_told=first.truncation.seen))
    third = await turn(agent, Held(holds_files=True))

    read = [file for file in first.files.files if file.fit is not Fit.MISSING]
    assert [(Path(file.path).relative_to(agent.workspace).as_posix(), file.fit.value, file.units) for file in read] == [
        ("AGENTS.md", "truncated", 59),
        ("SOUL.md", "whole", 5),
        ("beds/AGENTS.md", "whole", 23),
        ("MEMORY.md", "whole", 22),
    ]
    assert {out.name for out in first.composition.left_out} >= {LayerName.BOOTSTRAP, LayerName.HEARTBEAT}
    told = [gathered.composition.get(LayerName.CUTS) for gathered in (first, second)]
    assert [layer and layer.lifetime for layer in told] == [Lifetime.ONCE, None]
    assert {layer.name for layer in third.composition.layers} == {LayerName.SKILLS, LayerName.USER_TEXT}


async def test_a_new_workspace(agent: AgentSettings, home: Path) -> None:
    seeded = await gatherer(in_workspace(agent, home / "new")).prepare(home / "state")
    assert set(STARTERS) - set(seeded.created) == {"USER.md"}


async def test_skills(agent: AgentSettings, home: Path) -> None:
    """S71, S76, S77, S78."""
    one, gathered = gatherer(agent), await turn(agent)
    assert [entry.name for entry in gathered.catalogue.entries] == ["beans"]
    assert "~/garden/skills/beans/SKILL.md" in gathered.catalogue.text
    assert gathered.environment == {"BEANS": "broad"}
    assert one.options.max_units == 2_000
    assert {
        verdict.name: verdict.why.value for verdict in one.library.survey(agent.skills.rules, one.options).verdicts
    } == {
        "beans": "eligible",
        "boat": "plugin-off",
        "other": "not-allowed",
    }
    assert SkillSource.PERSONAL not in agent.skills.places.exclude
    assert (agent.skills.watch, agent.skills.watch_debounce_ms) == (True, 20)


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


async def test_what_is_said_again_after_a_compaction(agent: AgentSettings) -> None:
    said = (await turn(agent, Held(compacted=True))).composition.get(LayerName.REFRESH)
    assert said is not None
    assert "\n## Red Lines\n[...more in AGENTS.md...]\n" in said.text
    assert said.text.endswith(
        "Current time: Monday, March 2nd, 2026 - 1:00 PM (Europe/Rome)\nReference UTC: 2026-03-02 12:00 UTC"
    )


def test_heartbeats(agent: AgentSettings) -> None:
    """S25, S53, S58."""
    settings = agent.heartbeat
    run = plan_run(settings, BasePoll(settings.prompt), place=Place(session_key="agent:main:main"), ack=Ack.TOOL)

    assert (settings.every, settings.runs, settings.guidance) == (timedelta(hours=2), True, False)
    assert (run.light, run.seconds) == (True, 600)
    assert within_active_hours(settings.active_hours, now=NOON)
    assert not within_active_hours(settings.active_hours, now=NOON + timedelta(hours=10))
    assert agent.visibility.of("telegram", "work").show_alerts is False
    assert agent.visibility.of("discord").show_ok
    path = f"{agent.workspace}/HEARTBEAT.md"
    assert path in (pointer_for(path, "- look at the sensor") or "")
    assert "heartbeat_respond" in heartbeat_guidance(Ack.TOOL)
