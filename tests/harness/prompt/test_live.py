"""A preview is the prompt of a live run: composed here by hand from a payload, and by the one way of both."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from harness.channels import telegram
from harness.config import Surroundings, read_config, resolve_agent
from harness.conversations import Held
from harness.gather import Gatherer, Situation
from harness.habits import Habits
from harness.heartbeat.convention import Ack
from harness.inbound import ChatKind, InboundMessage
from harness.layers import Layer, LayerName, LeftOut, Lifetime, Trust
from harness.memory.access import Audience
from harness.plain import plain_settings
from harness.prompt.account import NO_PLACE, account_of, really_sent
from harness.prompt.adapters import Adapter, LiveFacts
from harness.prompt.boundary import split
from harness.prompt.facts import (
    ChatFacts,
    Elevation,
    MessageFacts,
    Mode,
    Reactions,
    RuntimeFacts,
    SandboxFacts,
    ToolFacts,
)
from harness.prompt.live import (
    Cause,
    EmbeddedRuns,
    chat_facts,
    of_chat,
    of_heartbeat,
    of_message,
    of_schedule,
    of_task,
)
from harness.prompt.machine import find_docs, machine_facts
from harness.prompt.prepare import prepare
from harness.replies.mode import Delivery
from harness.settings.agent import AgentSettings, ReplySettings
from harness.settings.files import FileLimits, FileSettings, WarningMode
from harness.settings.heartbeat import HeartbeatSettings
from harness.skills.wording import ReadTool
from harness.turns import Trigger

TOOLS = ("Read", "exec", "memory_search", "memory_get", "message")
FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "MEMORY.md")


@pytest.fixture
def settings(tmp_path: Path) -> AgentSettings:
    for name in FILES:
        (tmp_path / name).write_text(f"What {name} says.", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "docs.json").write_text("{}", encoding="utf-8")
    skill = tmp_path / "skills" / "tide" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tide\ndescription: reads the tables\n---\n", encoding="utf-8")
    return plain_settings(tmp_path, "pell")


@pytest.fixture
def received() -> InboundMessage:
    payload = json.loads((files("harness.testing") / "sample" / "update.json").read_text("utf-8"))
    return telegram.from_update(payload)


async def test_a_preview_has_the_bytes_of_a_live_run_on_a_message_that_came_in(
    settings: AgentSettings, configured: AgentSettings, received: InboundMessage
) -> None:
    """S04, S05: the live side is put together here, fact by fact, and knows nothing by the configuration."""
    key = "agent:main:telegram:direct:555010203"
    words = Layer(LayerName.USER_TEXT, "telegram:555010203:2041", Lifetime.INPUT, Trust.OWNER, received.text)
    situation = Situation(
        trigger=Trigger.CHAT, audience=Audience.OWNER, words=words, session_key=key, tools=frozenset(TOOLS)
    )
    settings = replace(settings, id="main")
    gathered = await Gatherer(settings, Habits(), loading=ReadTool("Read")).gather(situation)
    facts = LiveFacts(
        session_key=key,
        tools=ToolFacts(names=TOOLS),
        thinking="high",
        reasoning="stream",
        capabilities=("inlineButtons",),
        reactions=Reactions(level="minimal", channel="telegram"),
        chat=ChatFacts(channel="telegram", kind=ChatKind.DIRECT, id="555010203"),
        docs=find_docs(settings.workspace),
        runtime=machine_facts(settings, model="openai/gpt-5.5"),
    )
    live = await prepare(Adapter.EMBEDDED, settings, gathered, facts)
    runs = EmbeddedRuns(configured, tools=TOOLS, model="openai/gpt-5.5")
    _, preview = await runs.prepared(of_message(configured, received), adapter=Adapter.PREVIEW)
    assert preview.system_prompt == live.system_prompt
    assert (preview.words, live.words) == (received.text, received.text)
    assert "What MEMORY.md says." in preview.system_prompt
    assert "`Read`" in preview.system_prompt


CONFIGURED = """{
  agents: { defaults: { thinkingDefault: "high", reasoningDefault: "stream", subagents: { thinking: "low" } } },
  channels: {
    defaults: { reactionLevel: "minimal" },
    telegram: { capabilities: { inlineButtons: "dm" } },
    Discord: { capabilities: ["richText", " "], reactionLevel: "extensive" },
    irc: { capabilities: { inlineButtons: "off" }, reactionLevel: "ack" },
  },
}"""


@pytest.fixture
def configured(settings: AgentSettings) -> AgentSettings:
    machine = Surroundings(home=settings.workspace)
    found = resolve_agent(read_config(CONFIGURED, machine), "main", machine)
    return replace(found, workspace=settings.workspace, skills=settings.skills)


@pytest.mark.parametrize(
    ("channel", "kind", "expected"),
    [
        ("telegram", ChatKind.DIRECT, ("inlinebuttons", "comes back as a message", "on telegram only when")),
        ("telegram", ChatKind.GROUP, ("none", "This chat shows no buttons", "on telegram only when")),
        ("discord", ChatKind.GROUP, ("richtext", "Whether this chat shows buttons is not known", "on discord freely")),
        ("irc", ChatKind.DIRECT, ("none", "This chat shows no buttons", "")),
        ("matrix", ChatKind.DIRECT, ("none", "Whether this chat shows buttons is not known", "on matrix only when")),
    ],
)
async def test_a_run_says_of_a_channel_what_is_configured(
    configured: AgentSettings, channel: str, kind: ChatKind, expected: tuple[str, str, str]
) -> None:
    """S27, S28; and never that there are no buttons where nobody knows."""
    capabilities, buttons, reactions = expected
    _, prepared = await EmbeddedRuns(configured, tools=TOOLS).prepared(of_chat(configured, channel, kind))
    text = prepared.system_prompt
    assert f" | channel={channel} | capabilities={capabilities} | thinking=high\n" in text
    assert "Reasoning: stream (shown (stream))." in text
    assert buttons in text
    assert reactions in text
    assert ("## Reactions" in text) is bool(reactions)


async def test_a_subagent_thinks_as_subagents_are_configured_to(configured: AgentSettings) -> None:
    runs = EmbeddedRuns(configured, tools=TOOLS)
    assert "thinking=low\n" in (await runs.prepared(of_task(configured, "Count.")))[1].system_prompt
    knows = EmbeddedRuns(configured, tools=TOOLS, known=LiveFacts(thinking="max", reasoning="off"))
    text = (await knows.prepared(of_task(configured, "Count.")))[1].system_prompt
    assert "thinking=max\n" in text
    assert "Reasoning: off" in text


async def test_what_the_gateway_knows_besides_is_in_the_prompt(settings: AgentSettings, tmp_path: Path) -> None:
    """Each fact that no configuration and no cause can tell."""
    package = tmp_path / "gateway"
    (package / "docs").mkdir(parents=True)
    (package / "docs" / "docs.json").write_text("{}", encoding="utf-8")
    (tmp_path / "docs" / "docs.json").unlink()
    known = LiveFacts(
        tools=ToolFacts(hidden=("memory_search",), directory="Ask for a schema."),
        acp=True,
        guidance=("Press F5.",),
        sandbox=SandboxFacts(container_workspace="/box"),
        elevation=Elevation(allowed=True, level="ask"),
        extra="The owner is at sea.",
        message=MessageFacts(hints=("Stickers are fine.",)),
        owners=("555",),
        provider="acme",
        runtime=RuntimeFacts(session_id="s-1", node="v1"),
    )
    runs = EmbeddedRuns(settings, tools=("message", "sessions_spawn"), known=known, package=package)
    cause = of_chat(settings, "telegram", ChatKind.DIRECT)
    text = (await runs.prepared(cause))[1].system_prompt
    for told in (
        "### Deferred Tool Schemas\nAsk for a schema.",
        "Press F5.",
        "cannot be started from a sandbox",
        "Your working directory: /box",
        "Level now: ask",
        "The owner is at sea.",
        "Stickers are fine.",
        "Allowed senders: 555.",
        "| sessionId=s-1 |",
        "| node=v1 |",
        f"Docs: {package / 'docs'}\n",
        "memory_search finds passages",
    ):
        assert told in text
    other = replace(cause, known=replace(known, owners=("777",)))
    assert "Allowed senders: 777." in (await runs.prepared(other))[1].system_prompt


async def test_a_cut_is_told_once_to_a_conversation_that_was_told(settings: AgentSettings) -> None:
    """S60: who runs the turns hands on what the conversation holds."""
    small = replace(settings, files=FileSettings(limits=FileLimits(per_file=10), warning=WarningMode.ONCE))
    runs, cause = EmbeddedRuns(small, tools=TOOLS), of_chat(small, "telegram", ChatKind.DIRECT)
    _, first = await runs.prepared(cause)
    _, second = await runs.prepared(replace(cause, held=Held(cuts_told=first.assembled.truncation.seen)))
    notices = [each.system_prompt.count("## Bootstrap Context Notice") for each in (first, second)]
    assert notices == [1, 0]


@pytest.mark.parametrize(
    ("tools", "way"),
    [
        (("exec", "Read"), "load its SKILL.md with `Read` from"),
        (("Exec",), "load its SKILL.md by a command with `Exec` from"),
        (("cron",), "load its SKILL.md from"),
    ],
)
async def test_skills_are_loaded_with_a_tool_that_is_offered_and_this_is_said_once(
    settings: AgentSettings, tools: tuple[str, ...], way: str
) -> None:
    """S15, D13: by the section; the list brings no way of its own."""
    runs = EmbeddedRuns(settings, tools=tools)
    gathered, prepared = await runs.prepared(of_chat(settings, "telegram", ChatKind.DIRECT))
    text = prepared.system_prompt
    assert text.count(way) == 1
    assert text.count("from the exact location given") == 1
    assert text.count("A relative path in a skill file") == 1
    assert ("`read`" in text, "`cat`" in text) == (False, False)
    assert text.count("<name>tide</name>") == 1
    assert gathered.catalogue.text.count("from the exact location given") == 1


def test_a_message_and_a_chat_without_one_are_the_same_cause_but_for_what_was_said(
    settings: AgentSettings, received: InboundMessage
) -> None:
    said, unsaid = of_message(settings, received), of_chat(settings, "telegram", ChatKind.DIRECT)
    assert said.chat == ChatFacts(channel="telegram", kind=ChatKind.DIRECT, id="555010203")
    assert said.sender == received.sender
    same = replace(unsaid, words=said.words, session_key=said.session_key, chat=said.chat, sender=said.sender)
    assert same == said
    group = replace(received, chat=replace(received.chat, kind=ChatKind.GROUP, title="Harbour"))
    found = of_message(settings, group)
    assert (found.audience, found.words.trust) == (Audience.GROUP, Trust.OUTSIDER)
    assert found.chat is not None
    assert (found.chat.title, found.chat.silence) == ("Harbour", "allow")
    assert of_message(settings, replace(received, text="/new")).reset == "new"


def test_each_cause_is_gathered_for_as_its_run_would_be(settings: AgentSettings) -> None:
    found = {
        name: (cause.trigger, cause.audience, cause.session_key, cause.chat)
        for name, cause in causes(settings).items()
        if name in ("heartbeat", "schedule", "task")
    }
    assert found == {
        "heartbeat": (Trigger.HEARTBEAT, Audience.OWNER, "agent:pell:telegram:direct:look", None),
        "schedule": (Trigger.CRON, Audience.CRON, "agent:pell:cron:look", None),
        "task": (Trigger.CHAT, Audience.SUBAGENT, "agent:pell:subagent:look", None),
    }
    beat = of_heartbeat(settings, "telegram")
    assert beat.situation(frozenset({"read"})).ack is Ack.TOKEN
    assert beat.situation(frozenset({"heartbeat_respond"})).ack is Ack.TOOL


def test_a_chat_has_the_configured_delivery_and_silence(tmp_path: Path) -> None:
    machine = Surroundings(home=tmp_path)
    text = """{
      messages: { visibleReplies: "automatic", groupChat: { visibleReplies: "message_tool" } },
      agents: { defaults: { silentReply: { group: "disallow" } } },
      surfaces: { discord: { silentReply: { group: "allow" } } },
    }"""
    settings = resolve_agent(read_config(text, machine), "main", machine)
    assert settings.replies == ReplySettings(
        visible="automatic",
        group_visible="message_tool",
        group_silence="disallow",
        surface_silence={"discord": "allow"},
    )
    facts = {
        (channel, kind): (found.delivery, found.silence)
        for channel in ("discord", "telegram")
        for kind in ChatKind
        if (found := chat_facts(settings, channel, kind))
    }
    assert facts == {
        ("discord", ChatKind.DIRECT): (Delivery.AUTOMATIC, "disallow"),
        ("discord", ChatKind.GROUP): (Delivery.TOOL_ONLY, "allow"),
        ("telegram", ChatKind.DIRECT): (Delivery.AUTOMATIC, "disallow"),
        ("telegram", ChatKind.GROUP): (Delivery.TOOL_ONLY, "disallow"),
    }


def causes(settings: AgentSettings) -> dict[str, Cause]:
    return {
        "owner": of_chat(settings, "telegram", ChatKind.DIRECT),
        "group": of_chat(settings, "telegram", ChatKind.GROUP),
        "heartbeat": of_heartbeat(settings, "telegram"),
        "schedule": of_schedule(settings),
        "task": of_task(settings),
    }


@pytest.mark.parametrize("mode", [None, *Mode])
@pytest.mark.parametrize("guidance", [True, False])
@pytest.mark.parametrize("cause", ["owner", "group", "heartbeat", "schedule", "task"])
async def test_the_account_names_what_the_prompt_holds_and_nothing_else(
    settings: AgentSettings, cause: str, mode: Mode | None, guidance: bool
) -> None:
    """S62: a layer that this prompt has no section for is not said to be carried."""
    settings = replace(settings, heartbeat=HeartbeatSettings(include_system_prompt_section=guidance))
    gathered, prepared = await EmbeddedRuns(settings, tools=TOOLS).prepared(causes(settings)[cause], mode=mode)
    made = prepared.assembled
    docs = (*made.agent.files, *made.turn.files)
    sent = really_sent(gathered.composition, made.prompt, docs)
    assert sent.layers[-1].name is LayerName.USER_TEXT
    carried = {layer.name for layer in sent.layers[:-1]}
    assert all(layer.text in made.prompt.text for layer in sent.layers)
    assert {name: name in carried for name in (LayerName.MEMORY_NOTE, LayerName.HEARTBEAT_GUIDANCE)} == {
        LayerName.MEMORY_NOTE: "## Memory Recall" in made.prompt.text,
        LayerName.HEARTBEAT_GUIDANCE: "## Heartbeats" in made.prompt.text,
    }
    for name in FILES:
        shown = f"What {name} says." in made.prompt.text
        assert (LayerName(f"workspace/{name}") in carried) == shown
    without = {each.name for each in sent.left_out if each == LeftOut(each.name, each.source, NO_PLACE)}
    assert carried | without == {layer.name for layer in gathered.composition.layers[:-1]}
    assert carried.isdisjoint(without)
    account = account_of(made.prompt, docs)
    assert {Path(line.path).name for line in account.files} == {
        layer.name.value.partition("/")[2] for layer in sent.layers[:-1] if layer.name.value.startswith("workspace/")
    }
    halves = split(made.prompt.text)
    assert (halves is None) == (made.agent.mode is Mode.NONE)
