"""Whatever a configuration, a plugin or another language puts into facts, a prompt comes out."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from harness.inbound import ChatKind
from harness.prompt.contributions import Contribution
from harness.prompt.facts import (
    AgentFacts,
    ChatFacts,
    ContextDoc,
    Elevation,
    Mode,
    Process,
    Reactions,
    RuntimeFacts,
    SandboxFacts,
    ToolFacts,
    TurnFacts,
)
from harness.prompt.render import build_agent_system_prompt
from harness.prompt.sound import sound


class Stubborn(str):
    """A text that cannot be looked up."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise ValueError("no")


class Shy:
    """An object that fails at whatever it is asked."""

    def __hash__(self) -> int:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        return "shy" if self is JUNK[-1] else "another"


HUGE: Any = 10**5_000
"""Python refuses to write it."""
JUNK: tuple[Any, ...] = (
    *(None, 7, 1.5, True, "weird", [], ["a", None], {"a": "b"}, {"b", "a"}, (), object(), b"x", Mode),
    *(HUGE, Stubborn("weird"), Shy()),
)
WHOLE = AgentFacts(workspace="/w", sandbox=SandboxFacts(), files=(ContextDoc("/w/a.md", "a"),))
TURN = TurnFacts(
    chat=ChatFacts(channel="irc", kind=ChatKind.GROUP),
    elevation=Elevation(allowed=True),
    reactions=Reactions(level="minimal"),
)


@pytest.mark.parametrize("name", [each.name for each in fields(AgentFacts)])
@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_no_value_of_an_agent_breaks_its_prompt(name: str, junk: object) -> None:
    prompt = build_agent_system_prompt(replace(WHOLE, **{name: junk}), TURN)  # type: ignore[arg-type]  # pyright: ignore
    assert prompt.text.startswith("You are a personal assistant")


@pytest.mark.parametrize("name", [each.name for each in fields(TurnFacts)])
@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_no_value_of_a_turn_breaks_its_prompt(name: str, junk: object) -> None:
    prompt = build_agent_system_prompt(WHOLE, replace(TURN, **{name: junk}))  # type: ignore[arg-type]  # pyright: ignore
    assert prompt.text.startswith("You are a personal assistant")


def test_no_command_in_the_background_breaks_a_prompt() -> None:
    shells = (Process(**junk(id="p1", status="up", pid=HUGE, cwd=HUGE, name=Shy())),)
    prompt = build_agent_system_prompt(WHOLE, TurnFacts(runtime=RuntimeFacts(processes=shells)))
    assert "\n- p1 up\n" in prompt.text


def test_half_a_character_reaches_no_prompt() -> None:
    """No request could carry it."""
    half = "a\ud83eb"
    agent = replace(
        WHOLE,
        workspace=half,
        files=(ContextDoc(f"/w/{half}.md", half),),
        contribution=Contribution(stable_prefix=half, tool_call_style=half),
    )
    for mode in Mode:
        turn = TurnFacts(suffix=half, runtime=RuntimeFacts(model=half))
        prompt = build_agent_system_prompt(replace(agent, mode=mode), turn)
        assert prompt.text.encode("utf-8").decode("utf-8") == prompt.text
        assert "ab" in prompt.text


def junk(**values: Any) -> dict[str, Any]:
    """Values that the types do not allow."""
    return values


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Elevation(**junk(allowed=True, level="wild")), Elevation(allowed=True)),
        (Elevation(**junk(allowed=1, level=" Full ")), Elevation(allowed=True, level="full")),
        (ToolFacts(**junk(names=["read", 7, None])), ToolFacts(names=("read", "7", ""))),
        (ToolFacts(**junk(names="read", summaries={"a": "b"})), ToolFacts(names=("read",), summaries=(("a", "b"),))),
        (ToolFacts(**junk(hidden={"b", "a"}, summaries=[["a", "b"], "c"])),
         ToolFacts(hidden=("a", "b"), summaries=(("a", "b"),))),
        (SandboxFacts(**junk(host_workspace=Path("/h"), access="all", host_browser="no")),
         SandboxFacts(host_workspace="/h")),
        (Process(**junk(id=HUGE, status=Stubborn("ended"), pid=HUGE)), Process(id="", status="ended")),
        (Process(**junk(id=None, status=["x"], pid="7")), Process(id="", status="")),
        (TurnFacts(**junk(reactions=Reactions(**junk(level="ack")))), TurnFacts()),
        (TurnFacts(**junk(runtime=RuntimeFacts(**junk(processes=["x", Process(id="1", status="s")])))),
         TurnFacts(runtime=RuntimeFacts(processes=(Process(id="1", status="s"),)))),
        (AgentFacts(**junk(workspace=Path("/w"), mode="Minimal", tools=None)),
         AgentFacts(workspace="/w", mode=Mode.MINIMAL)),
    ],
)  # fmt: skip
def test_a_value_is_converted_or_becomes_the_default_or_is_left_out(given: object, expected: object) -> None:
    assert sound(given) == expected
    assert sound(expected) is expected


def test_a_kind_of_field_that_is_not_known_is_an_error_of_ours() -> None:
    @dataclass(frozen=True)
    class Strange:
        when: complex = 0j

    with pytest.raises(TypeError, match="complex"):
        sound(Strange())
