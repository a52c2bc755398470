"""Whatever a configuration, a plugin or another language puts into facts, a prompt comes out."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from harness.inbound import ChatKind
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

JUNK: tuple[Any, ...] = (None, 7, 1.5, True, "weird", [], ["a", None], {"a": "b"}, {"b", "a"}, (), object(), b"x", Mode)
WHOLE = AgentFacts(workspace="/w", sandbox=SandboxFacts(), files=(ContextDoc("/w/a.md", "a"),))
TURN = TurnFacts(
    chat=ChatFacts(channel="irc", kind=ChatKind.GROUP),
    elevation=Elevation(allowed=True),
    reactions=Reactions(level="minimal"),
)


@pytest.mark.parametrize("name", [each.name for each in fields(AgentFacts)])
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_value_of_an_agent_breaks_its_prompt(name: str, junk: object) -> None:
    prompt = build_agent_system_prompt(replace(WHOLE, **{name: junk}), TURN)  # type: ignore[arg-type]  # pyright: ignore
    assert prompt.text.startswith("You are a personal assistant")


@pytest.mark.parametrize("name", [each.name for each in fields(TurnFacts)])
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_value_of_a_turn_breaks_its_prompt(name: str, junk: object) -> None:
    prompt = build_agent_system_prompt(WHOLE, replace(TURN, **{name: junk}))  # type: ignore[arg-type]  # pyright: ignore
    assert prompt.text.startswith("You are a personal assistant")


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
