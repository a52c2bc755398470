"""What installed packages add, without a change here."""

import sys
from collections.abc import Iterator
from dataclasses import replace
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


def test_an_extension_is_found_under_its_name_in_any_spelling() -> None:
    extensions = Extensions(
        providers=((" OpenAI ", lambda _: Contribution(stable_prefix="p")),),
        channel_hints=(("Telegram", lambda _: ["hint"]),),
    )
    asked = Asked(extensions)
    assert asked.contributions(replace(CONTEXT, provider="openai")) == [Contribution(stable_prefix="p")]
    assert asked.hints(ChannelContext(channel="telegram", agent="pell")) == ("hint",)
    assert asked.hints(ChannelContext(channel="TELEGRAM", agent="pell")) == ("hint",)


def test_an_extension_that_wants_to_end_the_process_ends_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaving(_: object) -> object:
        raise SystemExit(3)

    asked = Asked(Extensions(providers=(("acme", leaving),), memory=(("atlas", lambda _: ["a"]), ("wiki", leaving))))
    assert asked.contributions(CONTEXT) == []
    assert asked.memory_lines(MemoryContext(tools=frozenset())) == ("a",)
    assert asked.problems == [
        "The extension provider acme failed (SystemExit: 3); it is left out.",
        "The extension memory wiki failed (SystemExit: 3); it is left out.",
    ]

    def load(_: EntryPoint) -> object:
        raise SystemExit(3)

    monkeypatch.setattr(EntryPoint, "load", load)
    assert installed(lambda group: points(group)[:1]).problems == (
        "The extension acme (acme_gateway:contribute) cannot be loaded: it ended the process.",
        "The extension matrix (acme_gateway:hints) cannot be loaded: it ended the process.",
        "The extension wiki (acme_gateway:lines) cannot be loaded: it ended the process.",
    )


def test_a_provider_is_asked_without_the_turn_for_what_is_to_stay_and_with_it_for_the_end() -> None:
    """S07, S28."""
    seen: list[ProviderContext] = []

    def plugin(context: ProviderContext) -> Contribution:
        seen.append(context)
        said = f"{context.channel}/{context.trigger}/{len(context.capabilities)}/{context.base.dynamic_suffix}"
        return Contribution(stable_prefix=said, dynamic_suffix=said, tool_call_style=said)

    turn = replace(
        CONTEXT, channel="irc", capabilities=("a",), trigger="heartbeat", base=Contribution(dynamic_suffix="beat")
    )
    found = Asked(Extensions(providers=(("acme", plugin),))).contributions(turn)
    stays, ends = "//0/", "irc/heartbeat/1/beat"
    assert found == [Contribution(stable_prefix=stays, tool_call_style=stays, dynamic_suffix=ends)]
    assert seen == [CONTEXT, turn]


def test_what_is_to_stay_is_asked_once_and_again_only_after_a_failure() -> None:
    moods = iter(["broken", "first", "suffix", "second", "third"])

    def moody(_: object) -> Contribution:
        mood = next(moods)
        if mood == "broken":
            raise ValueError(mood)
        return Contribution(stable_prefix=mood, dynamic_suffix=mood)

    extensions = Extensions(providers=(("acme", moody),))
    prompts = [Asked(extensions).contributions(CONTEXT) for _ in range(3)]
    assert prompts == [
        [Contribution(dynamic_suffix="first")],
        [Contribution(stable_prefix="suffix", dynamic_suffix="second")],
        [Contribution(stable_prefix="suffix", dynamic_suffix="third")],
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
