"""From settings, a workspace and live facts to a prompt: what may change the stable part, and what may not."""

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.conversations import NOTHING, Held
from harness.gather import Gathered, Gatherer, Situation
from harness.habits import Habits
from harness.heartbeat.convention import Ack
from harness.inbound import ChatKind
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.plain import plain_settings
from harness.prompt.account import account_of
from harness.prompt.adapters import Adapter, Assembled, LiveFacts, assemble
from harness.prompt.boundary import split
from harness.prompt.config import configured, resolve_agent_system_prompt_config
from harness.prompt.contributions import Contribution
from harness.prompt.facts import (
    ChatFacts,
    ContextDoc,
    Elevation,
    MessageFacts,
    Mode,
    Reactions,
    RuntimeFacts,
    SandboxFacts,
    SubagentFacts,
    ToolFacts,
)
from harness.prompt.gpt5 import CONTRACT, FRIENDLY
from harness.prompt.registry import Extensions, ProviderContext
from harness.prompt.render import digest_of
from harness.replies.mode import Delivery
from harness.settings.agent import (
    AgentSettings,
    ModelSettings,
    OverlaySettings,
    OwnerSettings,
    SpeechSettings,
    SubagentSettings,
    ToolSettings,
)
from harness.settings.files import FileLimits, FileSettings, WarningMode
from harness.settings.heartbeat import HeartbeatSettings
from harness.settings.memory import MemorySettings
from harness.settings.times import TimeSettings
from harness.turns import Trigger

FILES = {
    "AGENTS.md": "AGENTS_M11 Keep answers short.",
    "SOUL.md": "SOUL_M22 You are Pell, dry but kind.",
    "IDENTITY.md": "IDENT_M33 Name: Pell",
    "USER.md": "USER_M44 The owner prefers metric units.",
    "TOOLS.md": "TOOLS_M55 The printer is called Inkwell.",
    "HEARTBEAT.md": "HEART_M66 - look at the greenhouse sensor",
    "MEMORY.md": "MEM_M77 The boat is blue.",
    "skills/weather/SKILL.md": "---\nname: weather\ndescription: SKILL_M88 forecast lookup\n---\nLook out.",
}
TOOLS = ToolFacts(names=("read", "exec", "session_status", "memory_search", "memory_get", "message"))
RUNTIME = RuntimeFacts(host="box", os="Linux", model="openai/gpt-5.5")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def settings(workspace: Path) -> AgentSettings:
    return plain_settings(workspace, "pell")


async def gathered(
    settings: AgentSettings,
    *,
    trigger: Trigger = Trigger.CHAT,
    audience: Audience = Audience.OWNER,
    key: str = "agent:pell:telegram:direct:7",
    now: datetime = datetime(2031, 5, 6, tzinfo=UTC),
    held: Held = NOTHING,
    tools: ToolFacts = TOOLS,
) -> Gathered:
    words = Layer(LayerName.USER_TEXT, "message", Lifetime.INPUT, Trust.OWNER, "hi")
    situation = Situation(
        trigger=trigger, audience=audience, words=words, session_key=key, tools=frozenset(tools.names), held=held
    )
    return await Gatherer(settings, Habits(), now=lambda: now).gather(situation)


def live(**changes: object) -> LiveFacts:
    base = LiveFacts(session_key="agent:pell:telegram:direct:7", tools=TOOLS, provider="openai", runtime=RUNTIME)
    return replace(base, **changes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def stable(made: Assembled) -> str:
    halves = split(made.prompt.text)
    assert halves is not None
    return halves.stable


def dynamic(made: Assembled) -> str:
    halves = split(made.prompt.text)
    assert halves is not None
    return halves.dynamic


async def test_the_layers_of_a_workspace_become_one_prompt(settings: AgentSettings) -> None:
    """S04, S57; MEMORY.md comes beside the memory tools here."""
    made = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live())
    for marker in ("AGENTS_M11", "SOUL_M22", "IDENT_M33", "USER_M44", "TOOLS_M55", "SKILL_M88"):
        assert (stable(made).count(marker), dynamic(made).count(marker)) == (1, 0)
    assert (stable(made).count("MEM_M77"), dynamic(made).count("MEM_M77")) == (0, 1)
    assert "memory_search finds passages" in dynamic(made)
    assert dynamic(made).count("HEART_M66") == 1
    assert "Time zone: UTC" in stable(made)


async def test_nobody_but_the_owner_reads_the_memory(settings: AgentSettings) -> None:
    """S54, S55."""
    found = await gathered(settings, audience=Audience.GROUP)
    made = assemble(Adapter.EMBEDDED, settings, found, live())
    assert "MEM_M77" not in made.prompt.text
    assert "## Memory Recall" not in made.prompt.text


class Chameleon:
    """A provider's extension that says something else each time, and all that it is told of the turn."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, context: ProviderContext) -> Contribution:
        self.calls += 1
        told = f"call {self.calls} for {context.channel!r} {context.trigger} {context.capabilities}"
        return Contribution(
            stable_prefix=told, dynamic_suffix=told, interaction_style=told, tool_call_style=told, execution_bias=told
        )


async def test_the_stable_part_is_the_same_over_channels_chats_senders_dates_and_triggers(
    settings: AgentSettings,
) -> None:
    """S28, S29, L1: byte for byte, whatever a provider's extension makes of the turn."""
    found: set[str] = set()
    extensions = Extensions(providers=(("openai", Chameleon()),))
    prompts: set[str] = set()
    channels = ("telegram", "discord", "webchat", "irc")
    for channel, kind, delivery in itertools.product(channels, ChatKind, Delivery):
        chat = ChatFacts(
            channel=channel, kind=kind, id="5", title=f"{channel} friends", delivery=delivery, silence="allow"
        )
        for owner, day, beat in itertools.product(("7", "8"), (1, 28), (False, True)):
            audience = Audience.GROUP if kind is ChatKind.GROUP else Audience.OWNER
            trigger = Trigger.HEARTBEAT if beat else Trigger.CHAT
            material = await gathered(
                settings,
                trigger=trigger,
                audience=audience,
                key=f"agent:pell:{channel}:{kind.value}:{owner}",
                now=datetime(2031, 5, day, tzinfo=UTC),
            )
            made = assemble(
                Adapter.EMBEDDED,
                settings,
                material,
                live(
                    session_key=f"agent:pell:{channel}:{kind.value}:{owner}",
                    trigger=trigger,
                    chat=chat,
                    owners=(owner,),
                    capabilities=("inlineButtons", "threadbound-acp-spawn") if channel == "discord" else (),
                    reactions=Reactions(level="minimal", channel=channel),
                    ack=Ack.TOOL if beat else Ack.TOKEN,
                    reasoning="on" if beat else "off",
                ),
                extensions=extensions,
            )
            assert f"'{channel}'" in dynamic(made)
            found.add(stable(made))
            prompts.add(made.prompt.text)
    assert len(found) == 1
    assert len(prompts) == 4 * 2 * 2 * 2 * 2 * 2  # also by the date, since the extension counts its calls


CHANGES: dict[str, Callable[[AgentSettings, LiveFacts], tuple[AgentSettings, LiveFacts]]] = {
    "a tool": lambda s, f: (s, replace(f, tools=ToolFacts(names=(*TOOLS.names, "cron")))),
    "a setting": lambda s, f: (replace(s, tools=ToolSettings(workspace_only=True)), f),
    "an alias": lambda s, f: (replace(s, models=ModelSettings(aliases={"fast": "openai/gpt-5.5"})), f),
    "the zone": lambda s, f: (replace(s, time=TimeSettings(timezone="Europe/Lisbon")), f),
    "the model's family": lambda s, f: (s, replace(f, provider="acme", runtime=replace(RUNTIME, model="acme/rocket"))),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_stable_part_changes_with_tools_and_configuration(settings: AgentSettings, change: str) -> None:
    before = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live())
    other, facts = CHANGES[change](settings, live())
    after = assemble(Adapter.EMBEDDED, other, await gathered(other), facts)
    assert stable(before) != stable(after)


@pytest.mark.parametrize("name", ["SOUL.md", "skills/weather/SKILL.md"])
async def test_the_stable_part_changes_with_the_workspace_and_the_skills(
    settings: AgentSettings, workspace: Path, name: str
) -> None:
    before = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live())
    (workspace / name).write_text(FILES[name].replace("forecast", "tide") + " more", encoding="utf-8")
    after = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live())
    assert stable(before) != stable(after)


async def test_a_preview_is_the_live_run(settings: AgentSettings) -> None:
    """S05."""
    chat = ChatFacts(channel="telegram", kind=ChatKind.DIRECT, id="7")
    facts = live(chat=chat, owners=("7",), sandbox=SandboxFacts(host_workspace="/h"), elevation=Elevation(allowed=True))
    run = assemble(Adapter.EMBEDDED, settings, await gathered(settings), facts)
    preview = assemble(Adapter.PREVIEW, settings, await gathered(settings), facts)
    assert preview == run


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({}, Mode.FULL),
        ({"session_key": ""}, Mode.FULL),
        ({"session_key": "agent:pell:subagent:7"}, Mode.MINIMAL),
        ({"session_key": "subagent:7"}, Mode.MINIMAL),
        ({"session_key": "agent:pell:cron:7"}, Mode.MINIMAL),
        ({"limited": True}, Mode.MINIMAL),
        ({"raw": True}, Mode.NONE),
        ({"mode": Mode.FULL, "session_key": "agent:pell:cron:7"}, Mode.FULL),
    ],
)
async def test_the_run_decides_the_mode(settings: AgentSettings, changes: dict[str, object], mode: Mode) -> None:
    """S38, prompt-builder 4."""
    made = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live(**changes))
    assert made.agent.mode is mode
    assert ("SKILL_M88" in made.prompt.text) is (mode is not Mode.NONE and not changes.get("limited"))


async def test_a_cli_agent_gets_what_its_own_tools_can_use(settings: AgentSettings) -> None:
    """Prompt-builder 15.3."""
    facts = live(
        session_key="agent:pell:subagent:7",
        sandbox=SandboxFacts(),
        elevation=Elevation(allowed=True),
        reactions=Reactions(level="minimal"),
        reasoning_tags=True,
        message=MessageFacts(hints=("hint",)),
    )
    found = await gathered(settings, audience=Audience.SUBAGENT, key="agent:pell:subagent:7")
    made = assemble(Adapter.CLI, settings, found, facts)
    assert made.agent.mode is Mode.FULL
    assert made.agent.contribution == Contribution()
    for text in ("## Sandbox", "## Elevated", "## Reactions", "## Reasoning Format", "hint", "box", CONTRACT):
        assert text not in made.prompt.text
    assert "Every call needs a target" in made.prompt.text
    assert "host=openclaw" in made.prompt.text


async def test_a_compaction_knows_less_of_the_run(settings: AgentSettings, workspace: Path) -> None:
    """Prompt-builder 15.4."""
    (workspace / "BOOTSTRAP.md").write_text("BOOT_M99", encoding="utf-8")
    found = await gathered(settings)
    run = assemble(Adapter.EMBEDDED, settings, found, live())
    made = assemble(Adapter.COMPACTION, settings, found, live())
    assert "## Bootstrap Pending" in run.prompt.text
    assert "commit the changes to its git repository" in dynamic(run)
    assert "## Bootstrap Pending" not in made.prompt.text
    assert "Runtime: agent=pell | session=agent:pell:telegram:direct:7 | host=box" in run.prompt.text
    assert "Runtime: host=box | os=Linux | model=openai/gpt-5.5 | thinking=off" in made.prompt.text


async def test_a_subagents_task_is_its_context(settings: AgentSettings) -> None:
    """S41, S65."""
    key = "agent:pell:subagent:7"
    found = await gathered(settings, audience=Audience.SUBAGENT, key=key)
    task = SubagentFacts(task="Count the boats.")
    made = assemble(Adapter.EMBEDDED, settings, found, live(session_key=key, subagent=task, extra="Be quick."))
    assert "## Subagent Context\nYou are a subagent" in dynamic(made)
    assert "## Your Role\nTask: Count the boats.\n" in dynamic(made)
    assert "\n\nBe quick.\n## Runtime\n" in dynamic(made)
    assert [marker for marker in ("SOUL_M22", "AGENTS_M11", "TOOLS_M55") if marker in made.prompt.text] == [
        "AGENTS_M11",
        "TOOLS_M55",
    ]


async def test_a_scheduled_turn_is_told_that_it_is_one(settings: AgentSettings) -> None:
    key = "agent:pell:cron:daily"
    found = await gathered(settings, trigger=Trigger.CRON, audience=Audience.CRON, key=key)
    made = assemble(Adapter.EMBEDDED, settings, found, live(session_key=key, trigger=Trigger.CRON))
    assert "## Scheduled Turn\nA schedule of the gateway started this turn" in dynamic(made)
    assert "## Scheduled Turn" not in assemble(Adapter.EMBEDDED, settings, await gathered(settings), live()).prompt.text


async def test_a_heartbeat_has_its_rule_only_when_the_agent_has_heartbeats(settings: AgentSettings) -> None:
    """S25, S58."""
    silent = replace(settings, heartbeat=HeartbeatSettings(include_system_prompt_section=False))
    beat = live(trigger=Trigger.HEARTBEAT)
    found = await gathered(settings, trigger=Trigger.HEARTBEAT)
    assert "## Heartbeats" in assemble(Adapter.EMBEDDED, settings, found, beat).prompt.text
    assert "## Heartbeats" not in assemble(Adapter.EMBEDDED, silent, found, beat).prompt.text
    assert "## Heartbeats" not in assemble(Adapter.EMBEDDED, settings, await gathered(settings), live()).prompt.text
    assert "HEART_M66" not in assemble(Adapter.EMBEDDED, silent, await gathered(silent), live()).prompt.text


@pytest.mark.parametrize("adapter", [Adapter.EMBEDDED, Adapter.CLI])
@pytest.mark.parametrize(
    "heartbeat",
    [
        HeartbeatSettings(),
        HeartbeatSettings(include_system_prompt_section=False),
        HeartbeatSettings(default_agent=False),
    ],
    ids=["with its rule", "without its rule", "of another agent"],
)
@pytest.mark.parametrize("chat", [None, *ChatKind])
async def test_a_heartbeat_is_never_taught_another_way_to_be_silent(
    settings: AgentSettings, adapter: Adapter, heartbeat: HeartbeatSettings, chat: ChatKind | None
) -> None:
    """S25, S42: its poll says how, also where the prompt itself says nothing of heartbeats."""
    chosen = replace(settings, heartbeat=heartbeat)
    facts = ChatFacts(channel="telegram", kind=chat, silence="allow") if chat else None
    beat = live(trigger=Trigger.HEARTBEAT, chat=facts)
    made = assemble(adapter, chosen, await gathered(chosen, trigger=Trigger.HEARTBEAT), beat)
    assert ("## Heartbeats" in made.prompt.text) is heartbeat.guidance
    for other in ("NO_REPLY", "Every message wants", "You hear only", "Your answer goes to", "Your answer is posted"):
        assert other not in made.prompt.text
    assert "give it as the poll says" in made.prompt.text


@pytest.mark.parametrize("key", ["subagent:7", "cron:daily"])
async def test_a_cli_agents_helpers_are_not_told_how_to_talk_with_people(settings: AgentSettings, key: str) -> None:
    """They get the full prompt there, and what they bring is awaited."""
    helper = key.startswith("subagent")
    trigger, audience = (Trigger.CHAT, Audience.SUBAGENT) if helper else (Trigger.CRON, Audience.CRON)
    found = await gathered(settings, trigger=trigger, audience=audience, key=f"agent:pell:{key}")
    task = SubagentFacts(task="Count the boats.") if helper else None
    facts = live(session_key=f"agent:pell:{key}", trigger=trigger, subagent=task)
    text = assemble(Adapter.CLI, settings, found, facts).prompt.text
    for other in ("NO_REPLY", "## Messaging", "Your answer goes to"):
        assert other not in text
    assert (text.count("## Subagent Context"), text.count("## Group Chat Context")) == (int(helper), 0)


async def test_memory_and_heartbeat_tools_are_called_as_the_model_knows_them(settings: AgentSettings) -> None:
    """Rule 4."""
    tools = ToolFacts(names=("Memory_Get", "Tool_Search", "Heartbeat_Respond"), hidden=("Memory_Search",))
    found = await gathered(settings, trigger=Trigger.HEARTBEAT)
    text = assemble(
        Adapter.EMBEDDED, settings, found, live(trigger=Trigger.HEARTBEAT, tools=tools, ack=Ack.TOOL)
    ).prompt.text
    assert "Memory_Search finds passages in MEMORY.md and memory/*.md, then Memory_Get reads" in text
    assert "is loaded through Tool_Search." in text
    assert "Answer it with one call of Heartbeat_Respond: notify=false" in text
    assert not re.search(r"\b(memory_search|memory_get|tool_search|heartbeat_respond)\b", text)


@pytest.mark.parametrize(
    ("mode", "seen", "shown"),
    [
        (WarningMode.ALWAYS, False, True),
        (WarningMode.ALWAYS, True, True),
        (WarningMode.ONCE, False, True),
        (WarningMode.ONCE, True, False),
        (WarningMode.OFF, False, False),
    ],
)
async def test_a_cut_is_told_without_names_and_numbers(
    settings: AgentSettings, mode: WarningMode, seen: bool, shown: bool
) -> None:
    """S60, S64."""
    small = replace(settings, files=FileSettings(limits=FileLimits(per_file=30), warning=mode))
    first = await gathered(small)
    assert first.truncation is not None
    found = await gathered(small, held=Held(cuts_told=first.truncation.seen)) if seen else first
    made = assemble(Adapter.EMBEDDED, small, found, live())
    notice = "## Bootstrap Context Notice\nSome workspace files did not fit into this prompt: they are shown in part"
    assert made.prompt.text.count(notice) == shown
    assert (notice in stable(made)) is (mode is WarningMode.ALWAYS)
    assert notice not in assemble(Adapter.CLI, small, found, live()).prompt.text


async def test_an_owners_memory_takes_no_room_from_the_files_of_every_turn(settings: AgentSettings) -> None:
    """The stable part is the same for all, also where the files do not fit."""
    package = settings.workspace / "pkg" / "AGENTS.md"
    package.parent.mkdir()
    package.write_text("package rule\n" * 60, encoding="utf-8")
    (settings.workspace / "MEMORY.md").write_text("The boat is blue.\n" * 40, encoding="utf-8")
    tight = replace(settings, files=FileSettings(limits=FileLimits(total=1_200), extra_files=("pkg/AGENTS.md",)))
    owner = assemble(Adapter.EMBEDDED, tight, await gathered(tight), live())
    group = assemble(Adapter.EMBEDDED, tight, await gathered(tight, audience=Audience.GROUP), live())
    assert stable(owner) == stable(group)
    assert stable(owner).count("package rule") == 60
    assert "Bootstrap Context Notice" not in stable(owner)
    assert "The boat is blue." in owner.prompt.text


async def test_the_configuration_stands_over_what_a_caller_says(settings: AgentSettings) -> None:
    """S03, prompt-builder 15.1."""
    chosen = replace(
        settings,
        owner=OwnerSettings(display="hash"),
        speech=SpeechSettings(auto="always"),
        models=ModelSettings(aliases={"b": "x/b", "a": "x/a"}, primary="x/a"),
        memory=MemorySettings(citations="off"),
        subagents=SubagentSettings(delegation_mode="prefer"),
        tools=ToolSettings(workspace_only=True),
    )
    config = resolve_agent_system_prompt_config(chosen, make_secret=lambda: "made")
    assert config.owner == OwnerSettings(display="hash", secret="made")
    assert config.speech.startswith("Your answers are read out.")
    assert (config.aliases, config.citations, config.delegation, config.workspace_only) == (
        (("a", "x/a"), ("b", "x/b")), "off", "prefer", True
    )  # fmt: skip
    tools = ToolFacts(names=(*TOOLS.names, "sessions_spawn"))
    made = assemble(Adapter.EMBEDDED, chosen, await gathered(chosen), live(owners=("7",), tools=tools))
    for text in (
        "## Voice (TTS)",
        "## Model Aliases",
        "## Sub-Agent Delegation",
        "Scratch files stay",
        "default_model=x/a",
    ):
        assert text in made.prompt.text
    assert "Do not mention paths or line numbers" in made.prompt.text
    assert not re.search(r"Allowed senders: 7\b", made.prompt.text)  # a hash may begin with 7


async def test_a_provider_and_a_channel_and_a_memory_can_be_extended(settings: AgentSettings) -> None:
    """S06, S07, S09, S10."""
    extensions = Extensions(
        providers=(
            ("openai", lambda context: Contribution(dynamic_suffix=f"on {context.model}", interaction_style="MINE")),
        ),
        channel_hints=(("telegram", lambda _: ["Stickers are fine."]),),
        memory=(("wiki", lambda _: ["Also ask the wiki."]),),
        problems=("One was broken.",),
    )
    chat = ChatFacts(channel="telegram", kind=ChatKind.DIRECT)
    made = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live(chat=chat), extensions=extensions)
    assert CONTRACT in stable(made)
    assert FRIENDLY not in stable(made)
    assert "\nMINE\n" in stable(made)
    for text in ("on gpt-5.5", "Stickers are fine.", "Also ask the wiki."):
        assert text in dynamic(made)
    assert made.problems == ("One was broken.",)


@pytest.mark.parametrize(
    ("audience", "tools", "lines"),
    [
        (Audience.OWNER, TOOLS, "memory_get,memory_search"),
        (Audience.OWNER, ToolFacts(names=("read",)), "read"),
        (Audience.GROUP, TOOLS, None),
    ],
    ids=["memory tools", "no memory tools", "a group"],
)
async def test_a_supplement_on_the_memory_needs_no_memory_tool(
    settings: AgentSettings, audience: Audience, tools: ToolFacts, lines: str | None
) -> None:
    """S04: only who reads along can close it."""
    extensions = Extensions(memory=(("wiki", lambda context: [f"Ask the wiki: {','.join(sorted(context.tools))}."]),))
    found = await gathered(settings, audience=audience, tools=tools)
    made = assemble(Adapter.EMBEDDED, settings, found, live(tools=tools), extensions=extensions)
    assert ("Ask the wiki: " in dynamic(made)) is (lines is not None)
    assert lines is None or lines in dynamic(made)
    assert ("memory_search finds passages" in dynamic(made)) is (lines is not None and "memory" in lines)


@pytest.mark.parametrize(
    ("tools", "named", "loaded"),
    [
        (ToolFacts(names=("read",)), False, False),
        (ToolFacts(names=("memory_get",), hidden=("memory_search",)), True, False),
        (ToolFacts(names=("memory_get", "tool_search"), hidden=("memory_search",)), True, True),
        (ToolFacts(names=("memory_get", "memory_search", "tool_search"), hidden=("cron",)), True, False),
    ],
)
async def test_memory_tools_are_named_when_they_can_be_called_and_loading_when_it_is_needed(
    settings: AgentSettings, tools: ToolFacts, named: bool, loaded: bool
) -> None:
    """Also when the workspace was looked at for other tools than the prompt offers."""
    made = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live(tools=tools))
    assert ("memory_search finds passages" in dynamic(made), "through tool_search" in dynamic(made)) == (named, loaded)


async def test_only_the_main_agent_is_a_coordinator(settings: AgentSettings) -> None:
    """S36: a subagent of a CLI agent gets the whole prompt, but is the one to whom work was given."""
    chosen = replace(settings, subagents=SubagentSettings(delegation_mode="prefer"))
    tools = ToolFacts(names=("sessions_spawn",))
    found = await gathered(chosen)
    task = SubagentFacts(task="Count.", depth=2)
    main = assemble(Adapter.CLI, chosen, found, live(tools=tools))
    helper = assemble(Adapter.CLI, chosen, found, live(tools=tools, session_key="agent:pell:subagent:7", subagent=task))
    assert "You are a coordinator" in stable(main)
    assert "You are a coordinator" not in stable(helper)


async def test_a_heartbeat_in_a_group_knows_one_way_to_be_quiet(settings: AgentSettings) -> None:
    """S25, S42, F7."""
    chat = ChatFacts(channel="telegram", kind=ChatKind.GROUP, silence="allow")
    found = await gathered(settings, trigger=Trigger.HEARTBEAT)
    for ack, names, token in (
        (Ack.TOKEN, TOOLS.names, "HEARTBEAT_OK"),
        (Ack.TOOL, TOOLS.names, "HEARTBEAT_OK"),
        (Ack.TOOL, (*TOOLS.names, "heartbeat_respond"), "call of heartbeat_respond"),
    ):
        beat = live(trigger=Trigger.HEARTBEAT, chat=chat, ack=ack, tools=ToolFacts(names=names))
        text = assemble(Adapter.EMBEDDED, settings, found, beat).prompt.text
        said = {each for each in ("NO_REPLY", "HEARTBEAT_OK", "call of heartbeat_respond") if each in text}
        assert said == {token}


@pytest.mark.parametrize(("provider", "friendly"), [("openai", False), ("", False), ("acme", True)])
async def test_the_tone_of_the_overlay_depends_on_the_provider(
    settings: AgentSettings, provider: str, friendly: bool
) -> None:
    """S10."""
    chosen = replace(settings, overlay=OverlaySettings(gpt5="off", gpt5_elsewhere="friendly"))
    facts = live(provider=provider, runtime=replace(RUNTIME, model="gpt-5.5"))
    made = assemble(Adapter.EMBEDDED, chosen, await gathered(chosen), facts)
    assert CONTRACT in made.prompt.text
    assert (FRIENDLY in made.prompt.text) is friendly


async def test_the_account_finds_a_file_whose_path_reads_like_a_heading(settings: AgentSettings) -> None:
    """Its heading is another one then, and it is counted all the same."""
    made = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live())
    docs = tuple(ContextDoc(path, "twelve units") for path in ("Safety", "Runtime ##", " ", "x\ud83e.md", "x.md"))
    prompt = configured(replace(made.agent, files=docs), made.turn, None)
    account = account_of(prompt, (*docs, ContextDoc("gone.md", "twelve units")))
    assert [line.path for line in account.files] == [doc.path for doc in docs]
    assert account.files_units == 12 * len(docs)


async def test_the_account_counts_sections_and_files(settings: AgentSettings) -> None:
    """S62, prompt-builder 13.1."""
    made = assemble(Adapter.EMBEDDED, settings, await gathered(settings), live())
    files = (*made.agent.files, *made.turn.files)
    account = account_of(made.prompt, files)
    assert account.digest == digest_of(made.prompt.text)
    assert account.stable_digest == digest_of(stable(made))
    assert account.units == len(made.prompt.text.encode("utf-16-le")) // 2
    assert account.files_units == sum(line.units for line in account.files)
    assert account.units == account.files_units + account.other_units
    assert {Path(line.path).name: line.units for line in account.files}["SOUL.md"] == len(FILES["SOUL.md"])
    data = account.as_data()
    assert [row["name"] for row in data["sections"]] == [each.name for each in made.prompt.sections]
