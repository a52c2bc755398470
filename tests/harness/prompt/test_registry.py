"""What installed packages add, without a change here."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from harness.prompt.contributions import Contribution
from harness.prompt.facts import Mode
from harness.prompt.registry import (
    CHANNEL_HINTS,
    MEMORY,
    PROVIDERS,
    Asked,
    ChannelContext,
    Extensions,
    MemoryContext,
    ProviderContext,
    installed,
)

CONTEXT = ProviderContext(provider="acme", model="rocket-1", mode=Mode.FULL, agent="pell", workspace="/w")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package of somebody else, as if it were installed."""
    module = ModuleType("acme_gateway")
    monkeypatch.setitem(sys.modules, "acme_gateway", module)
    return module


def points(group: str) -> list[EntryPoint]:
    announced = {
        PROVIDERS: [("acme", "contribute"), ("*", "everywhere"), ("acme", "nowhere"), ("acme", "number")],
        CHANNEL_HINTS: [("matrix", "hints")],
        MEMORY: [("wiki", "lines"), ("atlas", "lines")],
    }
    return [EntryPoint(name, f"acme_gateway:{value}", group) for name, value in announced[group]]


def test_entry_points_are_found_and_asked(package: ModuleType) -> None:
    package.__dict__.update(
        contribute=lambda context: {  # type: ignore[misc]  # pyright: ignore
            "stablePrefix": f" for {context.model} ",  # pyright: ignore
            "sectionOverrides": {"execution_bias": "## Bias", "safety": "none"},
        },
        everywhere=lambda context: Contribution(dynamic_suffix=f"{context.provider} "),  # type: ignore[misc]  # pyright: ignore
        number=7,
        hints=lambda _: ["Polls are fine.", 7],  # pyright: ignore
        lines=lambda context: [f"{len(context.tools)} tools", None],  # type: ignore[misc]  # pyright: ignore
    )
    found = installed(points)
    asked = Asked(found)
    assert found.problems == (
        "The extension acme (acme_gateway:nowhere) cannot be loaded: module 'acme_gateway' has no attribute 'nowhere'.",
        "The extension acme (acme_gateway:number) cannot be called; it is left out.",
    )
    assert asked.contributions(CONTEXT) == [
        Contribution(dynamic_suffix="acme"),
        Contribution(stable_prefix="for rocket-1", execution_bias="## Bias"),
    ]
    assert asked.hints(ChannelContext(channel="matrix", agent="pell")) == ("Polls are fine.",)
    assert asked.hints(ChannelContext(channel="irc", agent="pell")) == ()
    assert asked.memory_lines(MemoryContext(tools=frozenset({"memory_get"}))) == ("1 tools", "1 tools")
    assert asked.problems == []


def test_an_extension_that_fails_costs_only_its_own_lines() -> None:
    def broken(_: object) -> object:
        raise ValueError("no")

    extensions = Extensions(
        providers=(("acme", broken), ("acme", lambda _: "text"), ("acme", lambda _: Contribution(stable_prefix="p"))),
        channel_hints=(("irc", broken), ("irc", lambda _: "no list")),
        memory=(("wiki", broken), ("atlas", lambda _: ["a"])),
    )
    asked = Asked(extensions)
    assert asked.contributions(CONTEXT) == [Contribution(stable_prefix="p")]
    assert asked.hints(ChannelContext(channel="irc", agent="pell")) == ()
    assert asked.memory_lines(MemoryContext(tools=frozenset())) == ("a",)
    assert asked.problems == [
        "The extension provider acme failed (ValueError: no); it is left out.",
        "The extension provider acme gave no contribution; it is left out.",
        "The extension channel irc failed (ValueError: no); it is left out.",
        "The extension memory wiki failed (ValueError: no); it is left out.",
    ]


def test_this_python_can_be_asked() -> None:
    assert installed() == Extensions()


def test_a_generator_that_fails_while_it_is_read_costs_only_its_own_lines() -> None:
    def late(_: object) -> Iterator[str]:
        yield "one"
        raise ValueError("late")

    asked = Asked(Extensions(memory=(("a", late), ("b", lambda _: ["kept"]))))
    assert asked.memory_lines(MemoryContext(tools=frozenset())) == ("kept",)
    assert asked.problems == ["The extension memory a failed (ValueError: late); it is left out."]
