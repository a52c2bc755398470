"""From a folder on disk to a composition."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from harness.gather import Gathered, Gatherer, Situation
from harness.habits import Habits
from harness.inbound import ChatKind
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.plain import in_workspace, plain_settings
from harness.prompt.chat import chat_facts
from harness.settings.agent import AgentSettings
from harness.settings.files import ContextInjection, FileLimits, FileSettings
from harness.settings.memory import MemorySettings
from harness.turns import Trigger
from harness.workspace.hooks import BootstrapEvent, BootstrapHooks

CODEX = Habits(
    reads_agents_file=True, points_to_heartbeat_file=True, replaces_memory_file=True, marks_missing_files=False
)
WORDS = Layer(LayerName.USER_TEXT, "telegram:7:9", Lifetime.INPUT, Trust.OWNER, "hi")
W1 = {
    "AGENTS.md": "AGENTS_M11 Keep answers short.",
    "SOUL.md": "SOUL_M22 You are Pell, dry but kind.",
    "IDENTITY.md": "IDENT_M33 Name: Pell",
    "USER.md": "USER_M44 The owner prefers metric units.",
    "TOOLS.md": "TOOLS_M55 The printer is called Inkwell.",
    "HEARTBEAT.md": "HEART_M66 - look at the greenhouse sensor",
    "MEMORY.md": "MEM_M77 The boat is blue.",
    "skills/weather/SKILL.md": "---\nname: weather\ndescription: SKILL_M88 forecast lookup\n---\nLook out.",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, text in W1.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def gatherer(settings: AgentSettings, habits: Habits = CODEX) -> Gatherer:
    return Gatherer(settings, habits, now=lambda: datetime(2031, 5, 6, tzinfo=UTC))


async def look(
    settings: AgentSettings, *, habits: Habits = CODEX, trigger: Trigger = Trigger.CHAT,
    audience: Audience = Audience.OWNER, tools: Iterable[str] = (), key: str | None = None, light: bool = False,
) -> Gathered:  # fmt: skip
    situation = Situation(
        trigger=trigger, audience=audience, words=WORDS, session_key=key, tools=frozenset(tools), light=light
    )
    return await gatherer(settings, habits).gather(situation)


def where(gathered: Gathered, *markers: str) -> dict[str, list[str]]:
    layers = gathered.composition.layers
    return {marker: [layer.name.name for layer in layers if marker in layer.text] for marker in markers}


def reason(gathered: Gathered, name: LayerName) -> str:
    return next(each.reason for each in gathered.composition.left_out if each.name is name)


async def test_every_file_is_one_layer_in_the_owners_chat(workspace: Path) -> None:
    """T01 b; S48, S55, S76."""
    gathered = await look(plain_settings(workspace))
    markers = ("AGENTS_M11", "SOUL_M22", "IDENT_M33", "USER_M44", "TOOLS_M55", "HEART_M66", "MEM_M77", "SKILL_M88")
    assert where(gathered, *markers) == {
        "AGENTS_M11": ["AGENTS"],
        "SOUL_M22": ["SOUL"],
        "IDENT_M33": ["IDENTITY"],
        "USER_M44": ["USER"],
        "TOOLS_M55": ["TOOLS"],
        "HEART_M66": [],
        "MEM_M77": ["MEMORY"],
        "SKILL_M88": ["SKILLS"],
    }


@pytest.mark.parametrize("tools", [{"memory_search", "memory_get"}, {"memory_get"}])
async def test_with_a_memory_tool_a_note_points_to_the_memory(workspace: Path, tools: set[str]) -> None:
    """T01 a, c; S54."""
    gathered = await look(plain_settings(workspace), tools=tools)
    note = gathered.composition.get(LayerName.MEMORY_NOTE)
    assert where(gathered, "MEM_M77") == {"MEM_M77": []}
    assert note is not None
    assert f"- {workspace}/MEMORY.md" in note.text
    assert reason(gathered, LayerName.MEMORY) == "the memory tools serve this workspace"


@pytest.mark.parametrize("audience", [Audience.GROUP, Audience.OTHER_DIRECT])
async def test_nobody_but_the_owner_gets_the_memory(workspace: Path, audience: Audience) -> None:
    gathered = await look(plain_settings(workspace), audience=audience)
    assert where(gathered, "MEM_M77") == {"MEM_M77": []}
    assert reason(gathered, LayerName.MEMORY).startswith("memory is private to the owner's direct chat")


@pytest.mark.parametrize("leads_to", ["memory/2031-05-06.md", "MEMORY.md"])
@pytest.mark.parametrize("injection", [ContextInjection.ALWAYS, ContextInjection.NEVER])
async def test_rules_that_lead_to_the_memory_are_memory(
    workspace: Path, leads_to: str, injection: ContextInjection
) -> None:
    """Else a backend that reads AGENTS.md by itself would show the owner's notes to a group."""
    (workspace / "memory").mkdir()
    (workspace / "memory" / "2031-05-06.md").write_text("MEM_M77 of a day", encoding="utf-8")
    (workspace / "AGENTS.md").unlink()
    (workspace / "AGENTS.md").symlink_to(leads_to)
    settings = replace(plain_settings(workspace), files=FileSettings(injection=injection))
    for audience in (Audience.GROUP, Audience.OTHER_DIRECT, Audience.SUBAGENT, Audience.CRON):
        gathered = await look(settings, audience=audience)
        assert where(gathered, "MEM_M77") == {"MEM_M77": []}
        assert gathered.agents_file is None
        assert f"{workspace}/AGENTS.md" in [each.source for each in gathered.composition.left_out]


async def test_groups_may_look_up_but_never_get_a_copy(workspace: Path) -> None:
    settings = replace(plain_settings(workspace), memory=MemorySettings(groups=True))
    with_tool = await look(settings, audience=Audience.GROUP, tools={"memory_search"})
    without = await look(settings, audience=Audience.GROUP)
    assert with_tool.composition.get(LayerName.MEMORY_NOTE) is not None
    assert where(without, "MEM_M77") == {"MEM_M77": []}


async def test_a_heartbeat_is_pointed_to_its_file(workspace: Path) -> None:
    """S53, T03."""
    gathered = await look(plain_settings(workspace), trigger=Trigger.HEARTBEAT)
    pointer = gathered.composition.get(LayerName.HEARTBEAT_POINTER)
    assert where(gathered, "HEART_M66") == {"HEART_M66": []}
    assert pointer is not None
    assert pointer.text.endswith(f"- {workspace}/HEARTBEAT.md")


async def test_a_subagent_gets_rules_and_tools_alone(workspace: Path) -> None:
    """S65."""
    gathered = await look(plain_settings(workspace), audience=Audience.SUBAGENT, key="agent:main:subagent:7")
    assert {layer.name for layer in gathered.composition.layers} == {
        LayerName.AGENTS,
        LayerName.TOOLS,
        LayerName.SKILLS,
        LayerName.USER_TEXT,
    }


async def test_a_light_scheduled_run_keeps_its_message(workspace: Path) -> None:
    """S74."""
    gathered = await look(plain_settings(workspace), trigger=Trigger.CRON, audience=Audience.CRON, light=True)
    assert {layer.name for layer in gathered.composition.layers} == {LayerName.CRON_GUIDANCE, LayerName.USER_TEXT}


async def test_a_first_run_carries_its_ritual_until_the_workspace_is_set_up(workspace: Path) -> None:
    """S56."""
    (workspace / "BOOTSTRAP.md").write_text("BOOT_M99 Say hello.", encoding="utf-8")
    first = await look(plain_settings(workspace))
    heartbeat = await look(plain_settings(workspace), trigger=Trigger.HEARTBEAT)
    (workspace / "BOOTSTRAP.md").unlink()
    later = await look(plain_settings(workspace))
    assert [where(each, "BOOT_M99")["BOOT_M99"] for each in (first, heartbeat, later)] == [["BOOTSTRAP"], [], []]
    assert reason(later, LayerName.BOOTSTRAP) == "the file does not exist"


@pytest.mark.parametrize("audience", [Audience.GROUP, Audience.OTHER_DIRECT])
async def test_nobody_but_the_owner_is_led_through_the_ritual(workspace: Path, audience: Audience) -> None:
    (workspace / "BOOTSTRAP.md").write_text("BOOT_M99 Say hello.", encoding="utf-8")
    gathered = await look(plain_settings(workspace), audience=audience)
    assert where(gathered, "BOOT_M99") == {"BOOT_M99": []}


async def test_without_injection_nothing_of_the_workspace_is_copied(workspace: Path) -> None:
    settings = replace(plain_settings(workspace), files=FileSettings(injection=ContextInjection.NEVER))
    gathered = await look(settings)
    assert {layer.name for layer in gathered.composition.layers} == {
        LayerName.AGENTS,  # Codex reads it by itself
        LayerName.SKILLS,
        LayerName.USER_TEXT,
    }


@pytest.mark.parametrize("light", [False, True])
async def test_a_light_run_leaves_the_files_to_be_told_and_the_group_unnamed(workspace: Path, light: bool) -> None:
    settings = replace(plain_settings(workspace), files=FileSettings(injection=ContextInjection.CONTINUATION_SKIP))
    composed = replace(CODEX, reads_agents_file=False, hears_of_chats_by_layer=True, keeps_what_it_was_told=False)
    chat = chat_facts(settings, "telegram", ChatKind.GROUP, id="-5", title="Boats")
    situation = Situation(trigger=Trigger.CHAT, audience=Audience.GROUP, words=WORDS, light=light, chat=chat)
    gathered = await gatherer(settings, composed).gather(situation)
    named = gathered.composition.get(LayerName.GROUP) is not None
    assert (gathered.carries_files, named) == (not light, not light)


async def test_the_memory_has_the_whole_budget_that_the_rules_file_does_not_use(tmp_path: Path) -> None:
    """T10 f, g."""
    for name in ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "MEMORY.md"):
        (tmp_path / name).write_text("x" * 11_000, encoding="utf-8")
    (tmp_path / "HEARTBEAT.md").touch()  # a missing one would take some room for its marker
    settings = replace(plain_settings(tmp_path), files=FileSettings(limits=FileLimits(12_000, 60_000)))
    codex = await look(settings)
    embedded = await look(settings, habits=Habits())
    sizes = [gathered.composition.get(LayerName.MEMORY) for gathered in (codex, embedded)]
    assert [memory and (memory.raw_units, memory.units) for memory in sizes] == [(11_000, 11_000), (11_000, 4_999)]


async def test_an_edit_is_seen_on_the_next_turn_and_the_rest_is_not_built_again(workspace: Path) -> None:
    one = gatherer(plain_settings(workspace))
    situation = Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=WORDS)
    first, second = await one.gather(situation), await one.gather(situation)
    (workspace / "SOUL.md").write_text("SOUL_NEW dry", encoding="utf-8")
    third = await one.gather(situation)
    assert second.files is first.files
    assert where(third, "SOUL_M22", "SOUL_NEW") == {"SOUL_M22": [], "SOUL_NEW": ["SOUL"]}


async def test_further_files_of_the_configuration_come_along(workspace: Path) -> None:
    (workspace / "packages" / "boat").mkdir(parents=True)
    (workspace / "packages" / "boat" / "AGENTS.md").write_text("EXTRA_M12 Knots.", encoding="utf-8")
    settings = replace(plain_settings(workspace), files=FileSettings(extra_files=("packages/*/AGENTS.md",)))
    assert where(await look(settings), "EXTRA_M12") == {"EXTRA_M12": ["EXTRA"]}


def test_an_agent_in_another_folder_finds_its_skills_there(tmp_path: Path) -> None:
    moved = in_workspace(plain_settings(tmp_path / "a"), tmp_path / "b")
    assert (moved.workspace, moved.skills.places.workspace) == (tmp_path / "b", str(tmp_path / "b"))


QUOTES: dict[str, str] = {
    "whole": "MEM_M77 The boat is blue.\nThe key lies under the third stone from the left.",
    "a line": "Mind that mem_m77 the boat is blue!",
    "half a line": "* the key lies under the third\n  stone from",
}


@pytest.mark.parametrize("part", QUOTES)
async def test_a_hook_that_quotes_the_memory_reaches_the_owner_alone(workspace: Path, part: str) -> None:
    """Whatever file it is put into, and however little of the memory it is."""
    (workspace / "MEMORY.md").write_text(QUOTES["whole"], encoding="utf-8")

    def quote(event: BootstrapEvent) -> None:
        soul = next(file for file in event.files if file.name == "SOUL.md")
        soul.content = f"{soul.content}\n\n{QUOTES[part]}"

    hooks = BootstrapHooks()
    hooks.register(quote, name="quotes")
    one = Gatherer(plain_settings(workspace), CODEX, hooks=hooks)
    seen = {
        audience: where(
            await one.gather(
                Situation(trigger=Trigger.CHAT, audience=audience, words=WORDS, session_key=audience.value)
            ),
            QUOTES[part],
        )[QUOTES[part]]
        for audience in (Audience.OWNER, Audience.GROUP, Audience.OTHER_DIRECT)
    }
    assert [seen[each] for each in (Audience.GROUP, Audience.OTHER_DIRECT)] == [[], []]
    assert seen[Audience.OWNER][-1:] == ["MEMORY"]


async def test_a_hook_may_say_anything_else_to_a_group(workspace: Path) -> None:
    def change(event: BootstrapEvent) -> None:
        soul = next(file for file in event.files if file.name == "SOUL.md")
        soul.content = f"{soul.content}\nHOOK_M13 Speak of boats, and of blue ones too."

    hooks = BootstrapHooks()
    hooks.register(change, name="changes")
    one = Gatherer(plain_settings(workspace), CODEX, hooks=hooks)
    gathered = await one.gather(Situation(trigger=Trigger.CHAT, audience=Audience.GROUP, words=WORDS))
    assert where(gathered, "HOOK_M13") == {"HOOK_M13": ["SOUL"]}


NOWHERE: list[list[str]] = [[], []]


@pytest.mark.parametrize(("enabled", "seen"), [(True, [["SOUL"], ["EXTRA"]]), (False, NOWHERE)])
async def test_the_gateways_hooks_and_the_configured_files_go_together(
    workspace: Path, enabled: bool, seen: list[list[str]]
) -> None:
    """`hooks.internal`: its switch is for all of them, and a hook that is registered later runs as well."""
    (workspace / "packages" / "boat").mkdir(parents=True)
    (workspace / "packages" / "boat" / "AGENTS.md").write_text("EXTRA_M12 Knots.", encoding="utf-8")
    files = FileSettings(extra_files=("packages/*/AGENTS.md",), hooks_enabled=enabled)
    hooks = BootstrapHooks()
    one = Gatherer(replace(plain_settings(workspace), files=files), CODEX, hooks=hooks)

    def change(event: BootstrapEvent) -> None:
        soul = next(file for file in event.files if file.name == "SOUL.md")
        soul.content = "HOOK_M13 Speak softly."

    hooks.register(change, name="changes")
    gathered = await one.gather(Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=WORDS))
    assert list(where(gathered, "HOOK_M13", "EXTRA_M12").values()) == seen


async def test_what_was_cut_is_logged_once_with_its_numbers(workspace: Path, caplog: pytest.LogCaptureFixture) -> None:
    """T10 e; S62, S63."""
    (workspace / "SOUL.md").write_text("x" * 12_001, encoding="utf-8")
    settings = replace(plain_settings(workspace), files=FileSettings(limits=FileLimits(12_000, 60_000)))
    one = gatherer(settings)
    for words in ("first", "second"):
        situation = Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=replace(WORDS, text=words))
        await one.gather(situation)
    warned = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(warned) == 1
    assert "SOUL.md" in warned[0]
    assert "raw=12001" in warned[0]
    assert "limit=12000" in warned[0]


async def test_a_watched_skill_is_seen_after_an_edit(workspace: Path) -> None:
    one = gatherer(plain_settings(workspace))
    situation = Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=WORDS)
    edited = workspace / "skills" / "weather" / "SKILL.md"
    changed, seen = anyio.Event(), dict[str, list[str]]()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            await group.start(one.watch, changed.set)
            assert one.library.is_watched
            edited.write_text("---\nname: weather\ndescription: SKILL_NEW\n---\nLook.", encoding="utf-8")
            await changed.wait()
            seen = where(await one.gather(situation), "SKILL_NEW", "SKILL_M88")
            group.cancel_scope.cancel()
    assert seen == {"SKILL_NEW": ["SKILLS"], "SKILL_M88": []}


async def test_a_watch_that_is_switched_off_ends_at_once(workspace: Path) -> None:
    settings = plain_settings(workspace)
    one = gatherer(replace(settings, skills=replace(settings.skills, watch=False)))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(one.watch)
    assert not one.library.is_watched
