import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from harness.agent import Agent
from harness.config import Surroundings, read_config, resolve_agent
from harness.conversations import Conversations, Held
from harness.errors import WorkspaceError
from harness.gather import Gatherer
from harness.habits import Habits
from harness.heartbeat import (
    Ack,
    BasePoll,
    CommitmentsPoll,
    HeartbeatRun,
    HeartbeatSettings,
    Place,
    PollText,
    heartbeat_guidance,
    plan_run,
)
from harness.inbound import Chat, ChatKind, InboundMessage, Quoted, Relation, Sender
from harness.layers import LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.plain import in_workspace, plain_settings
from harness.settings.excerpts import ExcerptLimits
from harness.settings.files import ContextInjection, FileLimits, FileSettings, WarningMode
from harness.store.held_file import HeldFile
from harness.toolbox import OwnChat, ToolTurn
from harness.tools import Tool
from harness.turns import Outcome, Trigger, TurnRequest, TurnResult
from harness.workspace.filters import ALREADY_SENT
from harness.workspace.hooks import BootstrapEvent, BootstrapHooks
from harness.workspace.warning_text import prompt_notice
from tests.support.untouched import Noted, Recording

POLL = PollText("poll")
MESSAGE = InboundMessage(
    "telegram", Chat(ChatKind.DIRECT, "7"), Sender("7", "Orrin"), "9", "hi", datetime(2031, 5, 6, tzinfo=UTC)
)


COMPOSED = Habits()
CODEX = Habits(
    reads_agents_file=True,
    points_to_heartbeat_file=True,
    replaces_memory_file=True,
    keeps_what_it_was_told=True,
    hears_of_chats_by_layer=True,
    marks_missing_files=False,
)


def gatherer(workspace: Path, agent: str = "main") -> Gatherer:
    return Gatherer(plain_settings(workspace, agent), Habits(), now=lambda: datetime(2031, 5, 6, 7, 8, tzinfo=UTC))


async def test_a_message_becomes_a_request_with_the_workspace_as_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("dry", encoding="utf-8")
    agent = Agent(Recording(), gatherer(tmp_path, "pell"), model="gpt-5.5", effort="low")
    first = (await agent.receive(MESSAGE)).request
    (tmp_path / "SOUL.md").write_text("dry but kind", encoding="utf-8")
    second = (await agent.receive(MESSAGE)).request
    souls = [request.composition.get(LayerName.SOUL) for request in (first, second)]
    assert [soul and soul.text for soul in souls] == ["dry", "dry but kind"]
    assert first == TurnRequest(
        agent="pell",
        session_key="agent:pell:telegram:direct:7",
        trigger=Trigger.CHAT,
        composition=first.composition,
        workspace=tmp_path,
        message_key="telegram:7:9",
        excerpts=ExcerptLimits(),
        model="gpt-5.5",
        effort="low",
    )


async def test_a_workspace_that_is_not_there_is_named(tmp_path: Path) -> None:
    agent = Agent(Recording(), gatherer(tmp_path / "nowhere"))
    with pytest.raises(WorkspaceError, match=r"The workspace .*/nowhere is no folder; create it or name another\."):
        await agent.receive(MESSAGE)


async def test_a_bare_new_begins_a_fresh_conversation_with_the_gateways_own_words(tmp_path: Path) -> None:
    """S59."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2031-05-06.md").write_text("The lens was polished.", encoding="utf-8")
    agent = Agent(Recording(), gatherer(tmp_path))
    request = (await agent.receive(replace(MESSAGE, text=" /new "))).request
    words = request.composition.get(LayerName.USER_TEXT)
    assert request.fresh
    assert words is not None
    assert "The lens was polished." in words.text
    assert "/new" not in words.text
    assert not (await agent.receive(replace(MESSAGE, text="/new start"))).request.fresh


@pytest.mark.parametrize(("kind", "owner"), [(ChatKind.GROUP, "7"), (ChatKind.DIRECT, "8")])
async def test_a_bare_new_of_anybody_else_quotes_no_note(tmp_path: Path, kind: ChatKind, owner: str) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2031-05-06.md").write_text("The lens was polished.", encoding="utf-8")
    agent = Agent(Recording(), gatherer(tmp_path), owners=frozenset({owner}))
    message = replace(MESSAGE, text="/new", chat=Chat(kind, "7"))
    request = (await agent.receive(message)).request
    assert request.fresh
    assert not any("The lens was polished." in layer.text for layer in request.composition.layers)


@pytest.mark.parametrize(
    ("kind", "owners", "audience"),
    [
        (ChatKind.DIRECT, None, Audience.OWNER),
        (ChatKind.DIRECT, frozenset({"7"}), Audience.OWNER),
        (ChatKind.DIRECT, frozenset({"8"}), Audience.OTHER_DIRECT),
        (ChatKind.GROUP, frozenset({"7"}), Audience.GROUP),
        (ChatKind.GROUP, None, Audience.GROUP),
    ],
)
async def test_only_the_owners_direct_chat_hears_the_memory(
    tmp_path: Path, kind: ChatKind, owners: frozenset[str] | None, audience: Audience
) -> None:
    """S54, S55; one link to the memory is the side door that has to stay shut."""
    (tmp_path / "MEMORY.md").write_text("The boat is blue.", encoding="utf-8")
    (tmp_path / "SOUL.md").symlink_to("MEMORY.md")
    agent = Agent(Recording(), gatherer(tmp_path), owners=owners)
    message = replace(MESSAGE, chat=Chat(kind, "7"))
    composition = (await agent.receive(message)).request.composition
    carried = [layer.name for layer in composition.layers if "The boat is blue." in layer.text]
    assert agent.audience(message) is audience
    assert carried == ([LayerName.MEMORY] if audience is Audience.OWNER else [])


@pytest.mark.parametrize(
    ("kind", "owners", "trust"),
    [
        (ChatKind.DIRECT, None, Trust.OWNER),
        (ChatKind.DIRECT, frozenset({"7"}), Trust.OWNER),
        (ChatKind.DIRECT, frozenset({"8"}), Trust.OUTSIDER),
        (ChatKind.GROUP, frozenset({"7"}), Trust.OWNER),
        (ChatKind.GROUP, frozenset({"8"}), Trust.OUTSIDER),
        (ChatKind.GROUP, None, Trust.OUTSIDER),
    ],
)
async def test_only_words_of_the_owner_count_as_the_owners(
    tmp_path: Path, kind: ChatKind, owners: frozenset[str] | None, trust: Trust
) -> None:
    """Spec 5: a group member is answered, and what a message passes on is nobody's order."""
    agent = Agent(Recording(), gatherer(tmp_path), owners=owners)
    message = replace(MESSAGE, chat=Chat(kind, "7"), quoted=(Quoted(Relation.ANSWERED, "At six.", "Mo"),))
    layers = (await agent.receive(message)).request.composition.layers
    assert [(layer.name, layer.trust) for layer in layers[-2:]] == [
        (LayerName.QUOTES, Trust.OUTSIDER),
        (LayerName.USER_TEXT, trust),
    ]
    assert layers[-2].text.endswith('The message answers this, by "Mo":\n> At six.')
    again = (await agent.receive(replace(message, quoted=()))).request.composition
    assert again.get(LayerName.QUOTES) is None


async def test_a_stranger_does_not_continue_what_was_said_to_the_owner(tmp_path: Path) -> None:
    """The same chat, after the owner's list changed or an account changed hands: the thread holds the memory."""
    keys = [
        (await Agent(Recording(), gatherer(tmp_path), owners=frozenset({owner})).receive(MESSAGE)).request.session_key
        for owner in ("7", "8")
    ]
    assert keys == ["agent:main:telegram:direct:7", "agent:main:telegram:direct:7:other"]


class Ending(Recording):
    """A backend on which every turn is over at once, the way the test says."""

    def __init__(self, *results: TurnResult) -> None:
        self.results = list(results)

    def start(self, request: TurnRequest) -> Noted:
        assert request.on_end is not None
        request.on_end(self.results.pop(0) if self.results else CLEAN)
        return Noted(request)


CLEAN = TurnResult(Outcome.ANSWERED, "Fine.", conversation="c1", turn="t")
COMPACTED = replace(CLEAN, compacted=True)
FAILED = replace(CLEAN, outcome=Outcome.FAILED)


def souls(requests: list[TurnRequest]) -> list[bool]:
    return [request.composition.get(LayerName.SOUL) is not None for request in requests]


async def asked(agent: Agent[Noted], *texts: str, message: InboundMessage = MESSAGE) -> list[TurnRequest]:
    return [(await agent.receive(replace(message, text=text))).request for text in texts]


def skipping(workspace: Path, habits: Habits = COMPOSED) -> Gatherer:
    (workspace / "SOUL.md").write_text("dry", encoding="utf-8")
    files = FileSettings(injection=ContextInjection.CONTINUATION_SKIP)
    return Gatherer(replace(plain_settings(workspace), files=files), habits)


@pytest.mark.parametrize(
    ("results", "carried"),
    [
        ([CLEAN, CLEAN, CLEAN], [True, False, False, False]),
        ([CLEAN, COMPACTED, CLEAN], [True, False, True, False]),
        ([FAILED, CLEAN, FAILED], [True, True, False, False]),
        ([COMPACTED, CLEAN, CLEAN], [True, True, False, False]),
        ([CLEAN, replace(CLEAN, conversation="c2"), CLEAN], [True, False, True, False]),
    ],
    ids=["held", "compacted", "never heard", "compacted at once", "another conversation"],
)
async def test_files_are_left_out_while_the_conversation_holds_them(
    tmp_path: Path, results: list[TurnResult], carried: list[bool]
) -> None:
    """`contextInjection: continuation-skip`."""
    agent = Agent(Ending(*results), skipping(tmp_path))
    requests = await asked(agent, "one", "two", "three", "four")
    assert souls(requests) == carried
    left_out = {each.reason for request in requests for each in request.composition.left_out if "SOUL" in each.name}
    assert left_out == {ALREADY_SENT}


async def test_a_new_conversation_gets_the_files_again_and_no_other_chat_goes_without(tmp_path: Path) -> None:
    agent = Agent(Ending(), skipping(tmp_path))
    assert souls(await asked(agent, "one", "two", "/new", "four")) == [True, False, True, False]
    other = replace(MESSAGE, chat=Chat(ChatKind.GROUP, "-5"))
    assert souls(await asked(agent, "five", message=other)) == [True]


async def test_files_are_not_left_out_while_a_turn_may_still_be_compacted(tmp_path: Path) -> None:
    class Slow(Ending):
        def start(self, request: TurnRequest) -> Noted:
            return Noted(request) if self.results == [FAILED] else super().start(request)

    backend = Slow()
    agent = Agent(backend, skipping(tmp_path))
    (first,) = await asked(agent, "one")
    backend.results = [FAILED]  # from here on a turn stays on its way
    running, meanwhile = await asked(agent, "two", "three")
    assert souls([first, running, meanwhile]) == [True, False, True]


async def test_a_backend_that_says_nothing_twice_is_never_told_less(tmp_path: Path) -> None:
    """What is left out for Codex would be taken back, so the key changes nothing there."""
    agent = Agent(Ending(), skipping(tmp_path, replace(COMPOSED, keeps_what_it_was_told=True)))
    assert souls(await asked(agent, "one", "two")) == [True, True]


@pytest.mark.parametrize(
    ("mode", "lifetimes"),
    [
        (WarningMode.OFF, [None, None, None]),
        (WarningMode.ONCE, [Lifetime.ONCE, None, Lifetime.ONCE]),
        (WarningMode.ALWAYS, [Lifetime.TURN, Lifetime.TURN, Lifetime.TURN]),
    ],
)
async def test_the_model_is_told_of_cut_files_as_often_as_configured(
    tmp_path: Path, mode: WarningMode, lifetimes: list[Lifetime | None]
) -> None:
    """S64; once means once for each kind of cut."""
    (tmp_path / "SOUL.md").write_text("x" * 300, encoding="utf-8")
    files = FileSettings(limits=FileLimits(200, 1_000), warning=mode)
    agent = Agent(Ending(), Gatherer(replace(plain_settings(tmp_path), files=files), CODEX))
    requests = await asked(agent, "one", "two")
    (tmp_path / "USER.md").write_text("y" * 300, encoding="utf-8")
    requests += await asked(agent, "three")
    told = [request.composition.get(LayerName.CUTS) for request in requests]
    assert [layer and layer.lifetime for layer in told] == lifetimes
    assert {layer.text for layer in told if layer} <= {prompt_notice()}


RULES = "# Rules\n\n## Red Lines\n\nNever sell the boat. Notes go to memory/YYYY-MM-DD.md.\n\n## Other\n\nBe kind."


@pytest.mark.parametrize("reads_rules", [False, True])
async def test_after_a_compaction_the_named_sections_are_said_again_once(tmp_path: Path, reads_rules: bool) -> None:
    """A backend that gives the whole AGENTS.md again is only told which sections to mind."""
    (tmp_path / "AGENTS.md").write_text(RULES, encoding="utf-8")
    settings = replace(plain_settings(tmp_path), post_compaction_sections=("Red Lines",))
    habits = replace(COMPOSED, reads_agents_file=reads_rules)
    now = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
    agent = Agent(Ending(CLEAN, COMPACTED, FAILED), Gatherer(settings, habits, now=lambda: now))
    requests = await asked(agent, "one", "two", "three", "four", "five")
    said = [request.composition.get(LayerName.REFRESH) for request in requests]
    assert [layer is not None for layer in said] == [False, False, True, True, False]
    assert said[3] is not None
    assert ("Never sell the boat" in said[3].text) is not reads_rules
    assert "Red Lines" in said[3].text
    assert "2031-05-06" in said[3].text
    assert [layer.name for layer in requests[3].composition.layers][-2:] == [LayerName.REFRESH, LayerName.USER_TEXT]


async def test_rules_that_lead_to_a_note_are_not_said_again_to_a_group(tmp_path: Path) -> None:
    """The sections of a linked AGENTS.md are the owner's notes."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2031-05-06.md").write_text(RULES, encoding="utf-8")
    (tmp_path / "AGENTS.md").symlink_to("memory/2031-05-06.md")
    settings = replace(plain_settings(tmp_path), post_compaction_sections=("Red Lines",))
    agent = Agent(Ending(COMPACTED), Gatherer(settings, COMPOSED))
    group = replace(MESSAGE, chat=Chat(ChatKind.GROUP, "-5"))
    for request in await asked(agent, "one", "two", message=group):
        assert not any("Never sell the boat" in layer.text for layer in request.composition.layers)


async def test_a_heartbeat_leaves_what_is_to_be_said_to_a_turn_that_stays(tmp_path: Path) -> None:
    """A quiet one is taken out of the conversation again, and what it was told with it."""
    (tmp_path / "AGENTS.md").write_text(RULES, encoding="utf-8")
    settings = replace(plain_settings(tmp_path), post_compaction_sections=("Red Lines",))
    agent = Agent(Ending(COMPACTED), Gatherer(settings, COMPOSED))
    (first,) = await asked(agent, "one")
    beat = (await agent.heartbeat(HeartbeatRun(first.session_key, POLL), key="h1")).turn.request
    (last,) = await asked(agent, "two")
    said = [request.composition.get(LayerName.REFRESH) is not None for request in (first, beat, last)]
    assert said == [False, False, True]


async def test_a_hook_sees_the_configuration_and_the_conversation(tmp_path: Path) -> None:
    """S66; what it changes in its copy of the configuration stays there."""
    seen: list[tuple[object, str, str | None]] = []

    def look(event: BootstrapEvent) -> None:
        garden = cast("dict[str, object]", event.config["garden"])
        seen.append((garden["gate"], event.session_key, event.session_id))
        garden["gate"] = "changed"

    hooks = BootstrapHooks()
    hooks.register(look, name="looks")
    machine = Surroundings(home=tmp_path)
    text = f"{{agents: {{defaults: {{workspace: {str(tmp_path)!r}}}}}, garden: {{gate: 'open'}}}}"
    settings = resolve_agent(read_config(text, machine), "main", machine)
    agent = Agent(Ending(), Gatherer(settings, COMPOSED, hooks=hooks))
    await asked(agent, "one", "two")
    key = "agent:main:telegram:direct:7"
    assert seen == [("open", key, None), ("open", key, "c1")]


class Box:
    """A toolbox that offers nothing but names."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        del turn
        return ()


@pytest.mark.parametrize(
    ("toolbox", "ack"), [(None, Ack.TOKEN), (Box("cron"), Ack.TOKEN), (Box("heartbeat_respond"), Ack.TOOL)]
)
async def test_a_heartbeat_becomes_a_request_as_it_was_planned(tmp_path: Path, toolbox: Box | None, ack: Ack) -> None:
    """F7: the tool is named where it is there, and nowhere else."""
    (tmp_path / "SOUL.md").write_text("dry", "utf-8")
    (tmp_path / "HEARTBEAT.md").write_text("- look at the sensor", "utf-8")
    agent = Agent(Recording(), Gatherer(plain_settings(tmp_path), CODEX), toolbox=toolbox)
    settings = HeartbeatSettings(light_context=True, isolated_session=True, timeout_seconds=90)
    run = plan_run(settings, BasePoll("Look."), place=Place(session_key="agent:main:main"), ack=agent.ack)
    request = (await agent.heartbeat(run, key="beat:1")).turn.request
    guidance = request.composition.get(LayerName.HEARTBEAT_GUIDANCE)
    assert agent.ack is ack
    assert guidance is not None
    assert guidance.text == heartbeat_guidance(ack)
    assert [layer.name for layer in request.composition.layers] == [
        LayerName.HEARTBEAT_GUIDANCE, LayerName.HEARTBEAT_POINTER, LayerName.USER_TEXT
    ]  # fmt: skip
    assert request == TurnRequest(
        agent="main",
        session_key="agent:main:main:heartbeat",
        trigger=Trigger.HEARTBEAT,
        composition=request.composition,
        workspace=tmp_path,
        message_key="beat:1",
        excerpts=ExcerptLimits(),
        may_vanish=request.may_vanish,
        fresh=True,
        light=True,
        isolated=True,
        seconds=90,
        limit_key="heartbeat.timeoutSeconds",
    )


async def test_a_heartbeat_about_promises_alone_hears_nothing_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text("- look at the sensor", "utf-8")
    poll = CommitmentsPoll(("Send the list",))
    run = plan_run(HeartbeatSettings(), poll, place=Place(session_key="agent:main:main"), ack=Ack.TOKEN)
    for habits, guided in ((CODEX, True), (Habits(), False)):
        request = (
            await Agent(Recording(), Gatherer(plain_settings(tmp_path), habits)).heartbeat(run, key="b")
        ).turn.request
        carried = {layer.name for layer in request.composition.layers}
        assert not carried & {LayerName.HEARTBEAT, LayerName.HEARTBEAT_POINTER}
        assert (LayerName.HEARTBEAT_GUIDANCE in carried) is guided


@pytest.mark.parametrize("light", [False, True])
async def test_a_light_scheduled_run_begins_a_conversation_of_its_own(tmp_path: Path, light: bool) -> None:
    (tmp_path / "SOUL.md").write_text("dry", "utf-8")
    agent = Agent(Recording(), Gatherer(plain_settings(tmp_path), CODEX))
    request = (await agent.scheduled("Count.", session_key="agent:main:cron:1", key="c", light=light)).request
    assert (request.light, request.isolated, request.fresh) == (light, light, light)
    assert (request.composition.get(LayerName.SOUL) is None) is light


WEATHER = """---
name: weather
description: forecasts
metadata: {"openclaw": {"skillKey": "wx", "primaryEnv": "WX_KEY", "requires": {"env": ["WX_KEY"]}}}
---
"""
WITH_KEYS = """{
  agents: {defaults: {workspace: %r}, list: [{id: "main"}, {id: "plain", workspace: %r, skills: []}]},
  skills: {entries: {
    wx: {apiKey: "k-1", env: {WX_UNITS: "metric", PATH: "/tmp/evil"}},
    other: {env: {OTHER: "of a skill that is not there"}},
  }},
}"""


def with_keys(workspace: Path, agent: str) -> Agent[Noted]:
    skill = workspace / "skills" / "weather" / "SKILL.md"
    skill.parent.mkdir(parents=True, exist_ok=True)
    skill.write_text(WEATHER, encoding="utf-8")
    machine = Surroundings(home=workspace)
    config = read_config(WITH_KEYS % (str(workspace), str(workspace)), machine)
    return Agent(Ending(), Gatherer(resolve_agent(config, agent, machine), CODEX))


async def test_a_turn_brings_the_variables_of_the_skills_that_its_agent_may_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`skills.entries.*.env` and `apiKey`; a name that decides what runs is refused and told once."""
    (request, again) = await asked(with_keys(tmp_path, "main"), "one", "two")
    (other,) = await asked(with_keys(tmp_path, "plain"), "one")
    assert request.environment == {"WX_KEY": "k-1", "WX_UNITS": "metric"} == again.environment
    assert other.environment == {}
    assert "k-1" not in repr(request)
    assert [record.message.partition(";")[0] for record in caplog.records] == [
        "skills.entries.wx may not set 'PATH'",
    ]


async def test_a_skill_that_is_gone_brings_nothing_any_more(tmp_path: Path) -> None:
    agent = with_keys(tmp_path, "main")
    (before,) = await asked(agent, "one")
    (tmp_path / "skills" / "weather" / "SKILL.md").unlink()
    (after,) = await asked(agent, "two")
    assert (len(before.environment), after.environment) == (2, {})


@pytest.mark.parametrize(
    ("config", "may"),
    [
        ("", True),
        ("agents: {defaults: {silentReply: {group: 'disallow'}}}", False),
        (
            "agents: {defaults: {silentReply: {group: 'disallow'}}}, "
            "surfaces: {telegram: {silentReply: {group: 'allow'}}}",
            True,
        ),
        ("surfaces: {discord: {silentReply: {group: 'disallow'}}}", True),
    ],
)
async def test_an_agent_hears_whether_it_may_stay_silent_in_a_group(tmp_path: Path, config: str, may: bool) -> None:
    """`silentReply`; a direct chat always wants an answer, and nothing is said of silence there."""
    machine = Surroundings(home=tmp_path)
    settings = in_workspace(resolve_agent(read_config(f"{{{config}}}", machine), "main", machine), tmp_path)
    agent = Agent(Ending(), Gatherer(settings, CODEX))
    group = replace(MESSAGE, chat=Chat(ChatKind.GROUP, "-5", "NO_REPLY club"))
    (in_group,), (direct,) = await asked(agent, "one", message=group), await asked(agent, "one")
    layer = in_group.composition.get(LayerName.GROUP)
    assert layer is not None
    assert ("your whole answer is NO_REPLY" in layer.text) is may
    named = [layer.name for layer in in_group.composition.layers if layer.trust is Trust.OUTSIDER]
    assert named == [LayerName.CHAT_NAMES, LayerName.SENDER, LayerName.USER_TEXT]
    assert [layer.name for layer in in_group.composition.layers if "NO_REPLY club" in layer.text] == named[:1]
    assert {each.name for each in direct.composition.layers}.isdisjoint({LayerName.GROUP, *named[:2]})


async def test_a_group_is_told_what_is_really_delivered(tmp_path: Path) -> None:
    """`messages.groupChat.visibleReplies: message_tool` needs the tool; without it the answer itself is delivered."""
    machine = Surroundings(home=tmp_path)
    text = "{messages: {groupChat: {visibleReplies: 'message_tool'}}}"
    settings = in_workspace(resolve_agent(read_config(text, machine), "main", machine), tmp_path)
    group = replace(MESSAGE, chat=Chat(ChatKind.GROUP, "-5"))
    said: list[str] = []
    for box in (Box("message"), Box("cron")):
        (request,) = await asked(Agent(Ending(), Gatherer(settings, CODEX), toolbox=box), "one", message=group)
        layer = request.composition.get(LayerName.GROUP)
        said.append(layer.text if layer else "")
    assert ["Only what you send with `message` is seen" in text for text in said] == [True, False]
    assert ["Your answer is posted to the group." in text for text in said] == [False, True]


@pytest.mark.parametrize(
    ("channels", "every"),
    [
        ("{}", False),
        ("{telegram: {requireMention: false}}", True),
        ("{defaults: {requireMention: false}}", True),
        ("{defaults: {requireMention: false}, telegram: {requireMention: true}}", False),
    ],
)
async def test_an_agent_knows_whether_it_hears_every_message_of_a_group(
    tmp_path: Path, channels: str, every: bool
) -> None:
    """`channels.*.requireMention`."""
    machine = Surroundings(home=tmp_path)
    settings = resolve_agent(read_config(f"{{channels: {channels}}}", machine), "main", machine)
    group = replace(MESSAGE, chat=Chat(ChatKind.GROUP, "-5"))
    (request,) = await asked(Agent(Ending(), Gatherer(in_workspace(settings, tmp_path), CODEX)), "one", message=group)
    layer = request.composition.get(LayerName.GROUP)
    assert layer is not None
    assert ("You hear every message here." in layer.text) is every


@pytest.mark.parametrize(("config", "most"), [("{}", None), ("{toolResultMaxChars: 80}", 80)])
async def test_a_backend_hears_how_much_of_a_tools_result_the_agent_may_read(
    tmp_path: Path, config: str, most: int | None
) -> None:
    """`contextLimits.toolResultMaxChars`."""
    machine = Surroundings(home=tmp_path)
    text = f"{{agents: {{defaults: {{contextLimits: {config}}}}}}}"
    settings = in_workspace(resolve_agent(read_config(text, machine), "main", machine), tmp_path)
    (request,) = await asked(Agent(Ending(), Gatherer(settings, CODEX)), "one")
    assert request.excerpts == ExcerptLimits(tool_result_max_chars=most)


async def test_what_a_conversation_holds_outlasts_a_restart(tmp_path: Path) -> None:
    """Once stays once, what is skipped stays skipped, and what is due after a compaction is still said."""
    state, workspace = tmp_path / "state", tmp_path / "w"
    for folder in (state, workspace):
        folder.mkdir()
    (workspace / "AGENTS.md").write_text(RULES, encoding="utf-8")
    (workspace / "SOUL.md").write_text("x" * 300, encoding="utf-8")
    files = FileSettings(
        limits=FileLimits(200, 1_000), warning=WarningMode.ONCE, injection=ContextInjection.CONTINUATION_SKIP
    )
    settings = replace(plain_settings(workspace), files=files, post_compaction_sections=("Red Lines",))

    def started(*results: TurnResult) -> Agent[Noted]:
        kept = HeldFile(state)
        return Agent(
            Ending(*results), Gatherer(settings, COMPOSED), conversations=Conversations(kept.load(), kept.keep)
        )

    names = (LayerName.SOUL, LayerName.CUTS, LayerName.REFRESH)
    seen: list[list[bool]] = []
    for result in (CLEAN, COMPACTED, CLEAN, CLEAN):
        (request,) = await asked(started(result), "hi")
        seen.append([request.composition.get(name) is not None for name in names])
    assert seen == [
        [True, True, False],
        [False, False, False],
        [True, False, True],
        [False, False, False],
    ]
    assert stat.S_IMODE((state / "conversations.json").stat().st_mode) == 0o600


async def test_an_agent_of_which_nothing_has_to_be_remembered_writes_nothing(tmp_path: Path) -> None:
    kept = HeldFile(tmp_path)
    agent = Agent(Ending(), Gatherer(plain_settings(tmp_path), CODEX), conversations=Conversations({}, kept.keep))
    await asked(agent, "one", "two", "/new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"a": 5, "b": {"id": null, "files": 1, "cuts": [], "compacted": false}}']
)
def test_a_spoilt_memory_of_conversations_counts_for_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "conversations.json").write_text(content, encoding="utf-8")
    assert HeldFile(tmp_path).load() == {}


def test_a_memory_that_cannot_be_written_is_told_and_costs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    HeldFile(tmp_path / "nowhere").keep({"a": Held(compacted=True)})
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        f"{tmp_path}/nowhere/conversations.json cannot be written"
    ]


class Turns:
    """A toolbox that remembers the turns that it was asked for."""

    names = frozenset[str]()

    def __init__(self) -> None:
        self.turns: list[ToolTurn] = []

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        self.turns.append(turn)
        return ()


async def test_a_turns_tools_know_its_chat_and_whether_the_owner_alone_caused_it(tmp_path: Path) -> None:
    toolbox = Turns()
    agent = Agent(Recording(), gatherer(tmp_path), owners=frozenset({"7"}), toolbox=toolbox)
    group = replace(MESSAGE, chat=Chat(ChatKind.GROUP, "-9"), topic="3")
    other = replace(MESSAGE, chat=Chat(ChatKind.DIRECT, "8"), sender=Sender("8", "Ines"))
    for message in (MESSAGE, group, other):
        await agent.receive(message)
    await agent.scheduled("Count.", session_key="agent:main:cron:count", key="job:1")

    owners = OwnChat(channel="telegram", chat="7", message="9")
    assert [(turn.key, turn.session_key, turn.trigger, turn.owned, turn.chat) for turn in toolbox.turns] == [
        ("telegram:7:9", "agent:main:telegram:direct:7", Trigger.CHAT, True, owners),
        (
            "telegram:-9:9",
            group.session_key("main"),
            Trigger.CHAT,
            False,
            replace(owners, chat="-9", topic="3", kind=ChatKind.GROUP),
        ),
        ("telegram:8:9", "agent:main:telegram:direct:8:other", Trigger.CHAT, False, replace(owners, chat="8")),
        ("job:1", "agent:main:cron:count", Trigger.CRON, True, None),
    ]


async def test_a_conversation_runs_on_the_model_that_was_chosen_for_it(tmp_path: Path) -> None:
    agent = Agent(Recording(), gatherer(tmp_path), model="gpt-5.5")
    agent.models.choose(MESSAGE.session_key("main"), "gpt-5.6")
    other = replace(MESSAGE, chat=Chat(ChatKind.DIRECT, "8"))
    turns = [await agent.receive(message) for message in (MESSAGE, other)]
    assert [turn.request.model for turn in turns] == ["gpt-5.6", "gpt-5.5"]
