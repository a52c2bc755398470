"""Measure what rendering a system prompt costs: `python -m benchmarks.prompt`, part of `make bench`.

A full prompt of about 96,000 characters (six files, 60 skills, 16 tools): again with the same facts on another turn,
and with facts that were never seen, by a renderer that remembers nothing: no prompt, no list of tools, and not how a
kind of facts is looked at, which a process learns once. CPU of this process in milliseconds, median
of many; bars in the last column, and the exit status is 1 when one is missed.
"""

import sys
import time
from dataclasses import replace
from statistics import median
from typing import Final, Protocol, runtime_checkable

from benchmarks.bars import missing, settled, verdict
from harness.inbound import ChatKind
from harness.prompt.facts import AgentFacts, ChatFacts, ContextDoc, Reactions, RuntimeFacts, ToolFacts, TurnFacts
from harness.prompt.gpt5 import gpt5_contribution
from harness.prompt.render import build_agent_system_prompt
from harness.prompt.tool_list import CORE

CHARACTERS: Final = 96_000
FILES: Final = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "notes.md")
SKILLS: Final = 60
TOOLS: Final = 16
BARS: Final = {"warm": 0.35, "cold": 1.0}
"""Half of the original's renderer when warm (0.70 and 0.94 ms on such a machine)."""


@runtime_checkable
class Remembering(Protocol):
    """A function that remembers its results."""

    def cache_clear(self) -> None:
        """Forget them."""
        ...


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
        chat=chat,
        capabilities=("inlineButtons", "richText"),
        owners=("7", "8"),
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


def forget() -> None:
    """Let the renderer forget everything, as at the start of a process."""
    for name, module in list(sys.modules.items()):
        if name.startswith("harness.prompt"):
            for each in vars(module).values():
                if isinstance(each, Remembering):
                    each.cache_clear()


def measure() -> dict[str, float]:
    """Measure both cases; the facts are made beforehand, as the renderer is what is measured."""
    first = agent()
    build_agent_system_prompt(first, turn(0))
    turns = [turn(number) for number in range(300)]
    agents = [agent(number) for number in range(1, 61)]
    warm = [spent(replace(first), facts) for facts in turns]
    cold: list[float] = []
    for facts in agents:
        forget()
        cold.append(spent(facts, turns[0]))
    return {"warm": median(warm), "cold": median(cold)}


def main() -> int:
    """Print the table; gives the exit status."""
    size = len(build_agent_system_prompt(agent(), turn(0)).text)
    print(f"rendering a prompt of {size:,} characters, {len(FILES)} files, {SKILLS} skills, {TOOLS} tools, CPU in ms")
    found = settled(measure, BARS)
    for name, milliseconds in found.items():
        print(f"{name:<6} {milliseconds:>8.3f}   {verdict(milliseconds, BARS[name])}")
    return 1 if missing(found, BARS) else 0


if __name__ == "__main__":
    sys.exit(main())
