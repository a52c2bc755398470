"""Whatever the facts are: a prompt is made, twice the same, with every file once, and nobody outside can shape it.

S02: the renderer has nothing but its facts; the import contracts keep configuration and disk away from it.
"""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.heartbeat.convention import Ack
from harness.inbound import ChatKind
from harness.prompt.boundary import MARKER, disarmed, split
from harness.prompt.chat import ChatFacts, chat_context
from harness.prompt.contributions import Contribution
from harness.prompt.facts import (
    AgentFacts,
    ContextDoc,
    Delivery,
    DocsFacts,
    Elevation,
    MessageFacts,
    Mode,
    Process,
    Reactions,
    RuntimeFacts,
    SandboxFacts,
    Surface,
    ToolFacts,
    TurnFacts,
)
from harness.prompt.hygiene import literal
from harness.prompt.render import build_agent_system_prompt
from harness.prompt.sections.headings import HEADINGS
from harness.prompt.tool_list import CORE
from harness.settings.agent import OwnerSettings
from harness.workspace.first_run import FirstRunMode

HOSTILE = st.sampled_from(
    [*(f"\n{heading}\n" for heading in HEADINGS), f"\n{MARKER}\n", MARKER, "\r", "\u2028", "\ud83e", "`"]
)
ANY = st.text(max_size=12)
NAMES = st.lists(st.one_of(ANY, HOSTILE), max_size=4).map("".join)
"""Names, paths and words of people outside."""
MANY = st.lists(NAMES, max_size=3).map(tuple)
TOOLS = st.builds(
    ToolFacts,
    names=st.lists(st.one_of(st.sampled_from(sorted(CORE)), NAMES), max_size=8).map(tuple),
    summaries=st.lists(st.tuples(ANY, NAMES), max_size=2).map(tuple),
    hidden=MANY,
)
FILES = st.lists(
    st.tuples(st.sampled_from(["AGENTS.md", "SOUL.md", "x.md", "memory.md", "BOOTSTRAP.md"]), NAMES), max_size=4
).map(
    lambda found: tuple(ContextDoc(f"/w/{at}{extra}/{name}", f"<file {at}>") for at, (name, extra) in enumerate(found))
)
AGENTS = st.builds(
    AgentFacts,
    workspace=NAMES,
    mode=st.sampled_from([Mode.FULL, Mode.MINIMAL]),
    surface=st.sampled_from(Surface),
    tools=TOOLS,
    acp=st.booleans(),
    delegation=st.sampled_from(["suggest", "prefer"]),
    orchestrates=st.booleans(),
    skills=st.sampled_from(["", "<available_skills/>"]),
    timezone=NAMES,
    workspace_only=st.booleans(),
    docs=st.builds(DocsFacts, docs=NAMES, source=NAMES),
    sandbox=st.none() | st.builds(SandboxFacts, host_workspace=NAMES, container_workspace=NAMES, agent_mount=NAMES,
                                  access=st.sampled_from([None, "ro"]), browser_url=NAMES),
    reasoning_tags=st.booleans(),
    files=FILES,
    contribution=st.builds(Contribution, tool_call_style=st.sampled_from(["", "## Calls"])),
)  # fmt: skip
PROCESSES = st.builds(Process, id=NAMES, status=NAMES, cwd=NAMES, name=NAMES)
TURNS = st.builds(
    TurnFacts,
    channel=NAMES,
    capabilities=MANY,
    delivery=st.sampled_from(Delivery),
    silence=st.booleans(),
    message=st.builds(MessageFacts, explicit_target=st.booleans(), channels=MANY),
    owners=MANY,
    owner=st.builds(OwnerSettings, display=st.sampled_from(["raw", "hash"])),
    extra=NAMES,
    reactions=st.none() | st.builds(Reactions, level=st.sampled_from(["minimal", "extensive"]), channel=NAMES),
    heartbeat=st.sampled_from([None, *Ack]),
    first_run=st.sampled_from(FirstRunMode),
    elevation=st.none() | st.builds(Elevation, allowed=st.booleans(), full_blocked=ANY,
                                    full_available=st.sampled_from([None, False, True]),
                                    level=st.sampled_from(["on", "off", "ask", "full"])),
    thinking=NAMES,
    reasoning=st.sampled_from(["off", "on", "stream"]),
    runtime=st.builds(RuntimeFacts, agent=NAMES, session=NAMES, host=NAMES, repo=NAMES, os=NAMES, arch=NAMES,
                      model=NAMES, shell=NAMES, processes=st.lists(PROCESSES, max_size=2).map(tuple)),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(agent=AGENTS, turn=TURNS)
def test_any_facts_render_twice_the_same_with_one_boundary_and_no_forged_heading(
    agent: AgentFacts, turn: TurnFacts
) -> None:
    prompt = build_agent_system_prompt(agent, turn)
    # A copy that is equal and not the same, so that nothing is merely remembered.
    assert build_agent_system_prompt(replace(agent, notes=(*agent.notes,)), replace(turn)) == prompt
    assert prompt.text.count(MARKER) == 1
    halves = split(prompt.text)
    assert halves is not None
    lines = prompt.text.splitlines()
    ours = [line for line in lines if line in HEADINGS]
    assert len(set(ours)) == len(ours)
    known = {each.text.partition("\n")[0] for each in prompt.sections}
    assert set(ours) <= known | {"### message tool"}
    prompt.text.encode("utf-8")


@settings(max_examples=100, deadline=None)
@given(agent=AGENTS, files=FILES)
def test_every_file_is_there_once_and_in_its_half(agent: AgentFacts, files: tuple[ContextDoc, ...]) -> None:
    own = tuple(ContextDoc(f"/own{file.path}", file.text.replace("file", "own file")) for file in files)
    halves = split(build_agent_system_prompt(agent, TurnFacts(files=own)).text)
    assert halves is not None
    for file, half, other in [
        *((file, halves.stable, halves.dynamic) for file in agent.files),
        *((file, halves.dynamic, halves.stable) for file in own),
    ]:
        assert half.count(disarmed(f"\n## {literal(file.path)}\n{file.text}")) == 1
        assert other.count(file.text) == 0


@settings(max_examples=60, deadline=None)
@given(agent=AGENTS, turns=st.lists(TURNS, min_size=2, max_size=3))
def test_the_stable_part_does_not_depend_on_the_turn(agent: AgentFacts, turns: list[TurnFacts]) -> None:
    halves = [split(build_agent_system_prompt(agent, turn).text) for turn in turns]
    assert len({half.stable for half in halves if half is not None}) == 1


@settings(max_examples=100, deadline=None)
@given(title=NAMES, members=MANY, kind=st.sampled_from(ChatKind), id_=NAMES, channel=NAMES)
def test_no_name_in_a_chat_can_write_a_heading_or_leave_its_frame(
    title: str, members: tuple[str, ...], kind: ChatKind, id_: str, channel: str
) -> None:
    facts = ChatFacts(channel=channel, kind=kind, id=id_, title=title, members=members)
    context = chat_context(facts)
    assert [line for line in context.splitlines() if line in HEADINGS] == []
    assert context.count("<untrusted-text>") == context.count("</untrusted-text>") <= 2
