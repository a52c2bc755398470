"""Measure what rendering a system prompt costs: `python -m benchmarks.prompt`, part of `make bench`.

A full prompt of about 96,000 characters (six files, 60 skills, 16 tools): again with the same facts on another turn,
and with facts that were never seen. CPU of this process in milliseconds, median of many; bars in the last column.
"""

import time
from dataclasses import replace
from statistics import median
from typing import Final

from harness.inbound import ChatKind
from harness.prompt.chat import ChatFacts, chat_context
from harness.prompt.facts import AgentFacts, ContextDoc, Reactions, RuntimeFacts, ToolFacts, TurnFacts
from harness.prompt.gpt5 import gpt5_contribution
from harness.prompt.render import build_agent_system_prompt
from harness.prompt.tool_list import CORE

CHARACTERS: Final = 96_000
FILES: Final = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "notes.md")
SKILLS: Final = 60
TOOLS: Final = 16
BARS: Final = {"warm": 0.35, "cold": 1.0}
"""Half of the original's renderer when warm (0.70 and 0.94 ms on such a machine)."""


def agent(number: int = 0) -> AgentFacts:
    """The facts of an agent; another number, another agent."""
    skills = "\n".join(
        f"  <skill>\n    <name>skill-{each}</name>\n    <description>{'does a thing ' * 5}</description>\n"
        f"    <location>~/skills/skill-{each}/SKILL.md</location>\n  </skill>"
        for each in range(SKILLS)
    )
    size = (CHARACTERS - len(skills) - 7_200) // len(FILES)
    files = tuple(ContextDoc(f"/w/{name}", f"{number} " + "A rule of the house.\n\n" * (size // 22)) for name in FILES)
    return AgentFacts(
        workspace="/w",
        tools=ToolFacts(names=tuple(CORE)[:TOOLS]),
        skills=f"<available_skills>\n{skills}\n</available_skills>",
        timezone="Europe/Lisbon",
        aliases=(("fast", "openai/gpt-5-mini"),),
        files=files,
        contribution=gpt5_contribution("gpt-5.5") or AgentFacts(workspace="/w").contribution,
    )


def turn(number: int) -> TurnFacts:
    """The facts of a turn in a group, another one each time."""
    chat = ChatFacts(
        channel="discord", kind=ChatKind.GROUP, id=str(number), title=f"Boats {number}", members=("Mo", "Al")
    )
    return TurnFacts(
        channel="discord",
        capabilities=("inlineButtons", "richText"),
        owners=("7", "8"),
        extra=chat_context(chat),
        reactions=Reactions(level="minimal", channel="discord"),
        memory=("Look it up.",),
        runtime=RuntimeFacts(
            agent="pell", session=f"agent:pell:{number}", host="box", os="Linux", model="openai/gpt-5.5"
        ),
    )


def spent(agent: AgentFacts, turn: TurnFacts) -> float:
    """CPU milliseconds of rendering one prompt."""
    start = time.process_time()
    build_agent_system_prompt(agent, turn)
    return (time.process_time() - start) * 1e3


def measure() -> dict[str, float]:
    """Measure both cases; the facts are made beforehand, as the renderer is what is measured."""
    first = agent()
    build_agent_system_prompt(first, turn(0))
    turns = [turn(number) for number in range(300)]
    agents = [agent(number) for number in range(1, 61)]
    warm = [spent(replace(first), facts) for facts in turns]
    cold = [spent(facts, turns[0]) for facts in agents]
    return {"warm": median(warm), "cold": median(cold)}


def main() -> None:
    """Print the table."""
    size = len(build_agent_system_prompt(agent(), turn(0)).text)
    print(f"rendering a prompt of {size:,} characters, {len(FILES)} files, {SKILLS} skills, {TOOLS} tools, CPU in ms")
    for name, milliseconds in measure().items():
        bar = BARS[name]
        print(f"{name:<6} {milliseconds:>8.3f}   <= {bar:g}  {'held' if milliseconds <= bar else 'MISSED'}")


if __name__ == "__main__":
    main()
