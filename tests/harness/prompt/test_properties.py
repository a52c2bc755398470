"""Whatever the facts are: a prompt is made, twice the same, with every file once, and nobody outside can shape it.

S02: the renderer has nothing but its facts; the import contracts keep configuration and disk away from it.
"""

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.prompt import render, tool_list
from harness.prompt.boundary import MARKER, disarmed, split
from harness.prompt.chat import chat_context
from harness.prompt.facts import AgentFacts, ChatFacts, ContextDoc, Mode, Surface, ToolFacts, TurnFacts
from harness.prompt.render import build_agent_system_prompt
from harness.prompt.sections.headings import HEADINGS, Heading, file_heading
from harness.prompt.tool_list import tools_of
from tests.harness.prompt.strategies import NAMES, PLAIN, TOOLS, facts_of, of_kind

WITH_TEXT = st.sampled_from([Mode.FULL, Mode.MINIMAL])
AGENTS = facts_of(AgentFacts, NAMES)
WHOLE_AGENTS = facts_of(AgentFacts, NAMES, mode=WITH_TEXT)
TURNS = facts_of(TurnFacts, NAMES)
PLAIN_AGENTS = facts_of(AgentFacts, PLAIN, mode=WITH_TEXT)
PLAIN_TURNS = facts_of(TurnFacts, PLAIN)
TASK = {each.value for each in Heading if each.name.startswith("TASK")}


def forget() -> None:
    """So that nothing is merely remembered."""
    for module, name in ((render, "_stable"), (tool_list, "tools_of")):
        vars(module)[name].cache_clear()


def ours_within(agent: AgentFacts, turn: TurnFacts) -> set[str]:
    """The headings of ours that a section may have further down, by what its facts say."""
    return (
        {Heading.MESSAGE_TOOL.value, Heading.BOOTSTRAP_PENDING.value, Heading.DYNAMIC_CONTEXT.value}
        | ({Heading.PROJECT_CONTEXT.value} if turn.files else set[str]())
        | ({Heading.DEFERRED_SCHEMAS.value} if agent.tools.directory else set[str]())
        | ({Heading.EXEC_STATE.value} if turn.chat and turn.chat.exec_state else set[str]())
        | (TASK if turn.subagent else set[str]())
    )


LETTERS = {"".join(filter(str.isalnum, re.sub(r"\([^()]*\)", "", each))).lower() for each in HEADINGS}


def passes_for_ours(line: str) -> bool:
    """Whether somebody who looks at the letters and the sign alone takes a line for a heading of ours."""
    seen = unicodedata.normalize("NFKC", re.sub(r"<[^<>]*>|\([^()]*\)|^(?:[^\w/]|_)*\d+[.)]", "", line))
    letters = "".join(each for each in seen if each.isalnum() and each not in "\u115f\u1160\u3164\uffa0").lower()
    return "#" in seen and "\\" not in seen and "/" not in seen and letters in LETTERS


@settings(max_examples=200, deadline=None, derandomize=True)
@given(agent=AGENTS, turn=TURNS)
def test_any_facts_render_twice_the_same_with_one_boundary_and_no_forged_heading(
    agent: AgentFacts, turn: TurnFacts
) -> None:
    """S01, S02: there is a prompt, and nothing but the facts decides it."""
    prompt = build_agent_system_prompt(agent, turn)
    forget()
    assert build_agent_system_prompt(agent, turn) == prompt
    assert prompt.text.count(MARKER) == (agent.mode is not Mode.NONE)
    assert (split(prompt.text) is None) is (agent.mode is Mode.NONE)
    ours = [line for line in prompt.text.splitlines() if line in HEADINGS]
    assert len(set(ours)) == len(ours)
    assert [line for line in prompt.text.splitlines() if line not in HEADINGS and passes_for_ours(line)] == []
    assert set(ours) <= {each.text.partition("\n")[0] for each in prompt.sections} | ours_within(agent, turn)
    prompt.text.encode("utf-8")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(agent=WHOLE_AGENTS, turn=TURNS)
def test_every_file_is_there_once_and_in_its_half(agent: AgentFacts, turn: TurnFacts) -> None:
    halves = split(build_agent_system_prompt(agent, turn).text)
    assert halves is not None
    for file, half, other in [
        *((file, halves.stable, halves.dynamic) for file in agent.files),
        *((file, halves.dynamic, halves.stable) for file in turn.files),
    ]:
        assert f"\n{half}\n".count(disarmed(f"\n{file_heading(file.path)}\n{file.text}\n")) == 1
        assert (half.count(file.text), other.count(file.text)) == (1, 0)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(agent=WHOLE_AGENTS, turns=st.lists(TURNS, min_size=2, max_size=3))
def test_the_stable_part_does_not_depend_on_the_turn(agent: AgentFacts, turns: list[TurnFacts]) -> None:
    """S28, S29."""
    found: set[str] = set()
    for turn in turns:
        forget()
        halves = split(build_agent_system_prompt(agent, turn).text)
        assert halves is not None
        found.add(halves.stable)
    assert len(found) == 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(agent=PLAIN_AGENTS, turn=PLAIN_TURNS)
def test_no_sentence_names_a_tool_that_is_not_offered(agent: AgentFacts, turn: TurnFacts) -> None:
    """Spec 3, D13, F7."""
    text = build_agent_system_prompt(agent, turn).text
    tools = tools_of(agent.tools, agent.surface, acp=False)
    spelled = {tools.called(name) for name in tools.available}
    assert {name for name in re.findall(r"`([^`\n]+)`", text) if name.lower() in TOOLS} <= spelled
    plain = {name for name in TOOLS if "_" in name and re.search(rf"\b{name}\b", text, re.IGNORECASE)}
    plain |= {name for name in re.findall(r"\b(\w+) tools?\b", text.lower()) if name in TOOLS}
    assert plain <= tools.available


CONTRADICTIONS = [
    ("NO_REPLY", "HEARTBEAT_OK"),
    ("NO_REPLY", "call of heartbeat_respond"),
    ("HEARTBEAT_OK", "call of heartbeat_respond"),
    ("Every message wants a visible answer.", "NO_REPLY"),
    ("Every message wants a visible answer.", "HEARTBEAT_OK"),
    ("Every message wants a visible answer.", "call of heartbeat_respond"),
    ("Every message wants a visible answer.", "Nothing that you write is delivered by itself"),
    ("Answer every message with", "HEARTBEAT_OK"),
    ("Answer every message with", "stay quiet"),
    ("Tables are fine.", "no tables."),
    ("Tables are fine.", "No tables."),
    ("tables arrive as you write them", "No tables."),
    ("tables arrive as you write them", "no tables."),
    ("Your answer goes to the chat that the message came from", "Nothing that you write is delivered by itself"),
    ("Your answer goes to the chat that the message came from", "Only what you send with"),
    ("Your answer is posted to the group.", "Nothing that you write is delivered by itself"),
    ("Your answer is posted to the group.", "Your answer goes to the chat that the message came from"),
    ("give it as the poll says", "NO_REPLY"),
    ("give it as the poll says", "Nothing that you write is delivered by itself"),
    ("give it as the poll says", "Only what you send with"),
    ("give it as the poll says", "Your answer goes to the chat that the message came from"),
    ("give it as the poll says", "Your answer is posted to the group."),
    ("give it as the poll says", "You hear"),
    ("notificationText", "Nothing that you write is delivered by itself"),
    ("or restarts the gateway; say so", "Run `openclaw gateway"),
    ("Run `openclaw gateway", "No tool that you are offered in this run changes the configuration or"),
    ("You are a subagent that", "NO_REPLY"),
    ("You are a subagent that", "Your answer goes to the chat that the message came from"),
    ("You are a subagent that", "## Group Chat Context"),
    ("## Scheduled Turn", "Your answer goes to the chat that the message came from"),
    ("a press comes back as a message", "shows no buttons"),
    ("a press comes back as a message", "is not known; the owner"),
    ("mostly you read along", "You hear only messages that call you"),
    ("wait by one", "To wait for a command, give"),
    ("Do not narrate calls.", "Say a few words first"),
    ("\n- sessions_spawn", "You cannot start subagents"),
    ("do not bring it up in this group", "Say so in a sentence"),
    ("are shown in part.", "or not at all."),
    ("## Subagent Context", "\n# Subagent Context"),
    ("load its SKILL.md with", "load its SKILL.md by"),
    ("MEDIA:<path or url> alone on a line", "tags in your text do nothing here"),
    ("Every call needs a target", "Without a target it goes to this chat"),
    ('means `sessions_spawn` with runtime="acp"', "cannot be started from a sandbox"),
    ('or with runtime="acp" a coding agent', "cannot be started from a sandbox"),
    ("You are a coordinator", "Split work that falls into independent parts"),
    ("Commands may leave the sandbox", "Commands may not leave the sandbox"),
    ("It stands above.", "Read it first."),
    ("rely on these", "send the exact /approve line"),
    ("You may start subagents of your own", "You cannot start subagents"),
    ("You hear every message here", "You hear only messages that call you"),
]
"""Sentences of which a prompt has one at most."""


@settings(max_examples=300, deadline=None, derandomize=True)
@given(agent=PLAIN_AGENTS, turn=PLAIN_TURNS)
def test_no_two_sentences_contradict_each_other(agent: AgentFacts, turn: TurnFacts) -> None:
    text = build_agent_system_prompt(agent, turn).text
    assert [pair for pair in CONTRADICTIONS if pair[0] in text and pair[1] in text] == []


@settings(max_examples=100, deadline=None, derandomize=True)
@given(chat=facts_of(ChatFacts, NAMES))
def test_no_name_in_a_chat_can_write_a_heading_or_leave_its_frame(chat: ChatFacts) -> None:
    context = chat_context(TurnFacts(chat=chat), tools_of(ToolFacts(), Surface.CLI, acp=False))
    headings = {line for line in context.splitlines() if line in HEADINGS or passes_for_ours(line)}
    assert headings <= {Heading.EXEC_STATE.value}
    assert context.count("\n<untrusted-text>\n") == context.count("\n</untrusted-text>\n") <= 2


@pytest.mark.parametrize("kind", [complex, ContextDoc | complex, list[str]], ids=repr)
def test_a_field_of_a_new_kind_cannot_be_forgotten(kind: Any) -> None:
    with pytest.raises(TypeError, match="No strategy for fields of the kind"):
        of_kind(kind, PLAIN)
