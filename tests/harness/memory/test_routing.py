from dataclasses import replace
from itertools import product

import pytest

from harness.memory import (
    Audience,
    Closed,
    MemoryFacts,
    MemoryRoute,
    Open,
    Reach,
    Standing,
    cites,
    readers_offered,
    route_memory,
)
from harness.memory.access import STANDINGS
from harness.memory.routing import ROUTES
from harness.settings import CitationsMode, MemorySettings

BOTH = frozenset({"memory_search", "memory_get", "message"})
NAMES = ("memory_get", "memory_search")
OWNER = MemoryFacts(audience=Audience.OWNER, tools=BOTH)
SERVED = "the memory tools serve this workspace"
NO_TOOL = "no memory tool is offered"
OFF = "memory search is not available"
ELSEWHERE = "the active workspace is not the one that the memory tools read"


def test_no_pair_is_missing_from_the_tables() -> None:
    assert set(STANDINGS) == set(product(Audience, (False, True)))
    assert set(ROUTES) == set(product(Standing, Reach))


@pytest.mark.parametrize("tools", [BOTH, frozenset({"memory_get"}), frozenset({"Memory_Search"})])
def test_with_a_memory_tool_the_owner_gets_a_note_and_no_copy(tools: frozenset[str]) -> None:
    """S54; T01 and its variant c."""
    route = route_memory(replace(OWNER, tools=tools))
    assert route == MemoryRoute(True, SERVED, False, SERVED, Open(cite=True), readers_offered(tools), Standing.PRIVATE)


@pytest.mark.parametrize(
    ("facts", "reason", "answers"),
    [
        (replace(OWNER, tools=frozenset({"message"})), NO_TOOL, True),
        (replace(OWNER, available=False), OFF, False),
        (replace(OWNER, same_workspace=False), ELSEWHERE, False),
    ],
    ids=["no tool", "search unavailable", "other workspace"],
)
def test_where_the_tools_cannot_serve_the_owner_gets_a_bounded_copy(
    facts: MemoryFacts, reason: str, answers: bool
) -> None:
    """S55; T01 variant b."""
    route = route_memory(facts)
    assert (route.note, route.note_reason, route.content, route.content_reason) == (False, reason, True, reason)
    assert route.access == (Open(cite=True) if answers else Closed(reason))


@pytest.mark.parametrize(
    ("audience", "groups", "reason"),
    [
        (Audience.GROUP, False, "memory is private to the owner's direct chat, and this is a group"),
        (Audience.OTHER_DIRECT, False, "memory is private to the owner's direct chat, and this is somebody else's"),
        (Audience.OTHER_DIRECT, True, "memory is private to the owner's direct chat, and this is somebody else's"),
        (Audience.SUBAGENT, True, "memory is private to the owner's direct chat, and this is a subagent"),
        (Audience.CRON, True, "memory is private to the owner's direct chat, and this is a scheduled job"),
    ],
)
@pytest.mark.parametrize("tools", [BOTH, frozenset[str]()])
def test_nobody_but_the_owner_gets_note_copy_or_answers(
    audience: Audience, groups: bool, reason: str, tools: frozenset[str]
) -> None:
    route = route_memory(MemoryFacts(audience=audience, settings=MemorySettings(groups=groups), tools=tools))
    assert route == MemoryRoute(False, reason, False, reason, Closed(reason), readers_offered(tools), Standing.CLOSED)


def test_groups_that_the_configuration_opens_get_the_note_but_never_a_copy() -> None:
    group = MemoryFacts(audience=Audience.GROUP, settings=MemorySettings(groups=True), tools=BOTH)
    assert route_memory(group) == MemoryRoute(True, SERVED, False, SERVED, Open(cite=False), NAMES, Standing.SHARED)
    bare = route_memory(replace(group, tools=frozenset()))
    assert (bare.note, bare.note_reason) == (False, NO_TOOL)
    assert (bare.content, bare.content_reason) == (False, "MEMORY.md is copied only into the owner's own chat")


def test_there_is_no_way_to_a_copy_outside_the_owners_chat() -> None:
    for audience, groups, available, same, tools in product(
        Audience, (False, True), (False, True), (False, True), (BOTH, frozenset[str]())
    ):
        facts = MemoryFacts(
            audience=audience,
            settings=MemorySettings(groups=groups),
            available=available,
            same_workspace=same,
            tools=tools,
        )
        assert not route_memory(facts).content or audience is Audience.OWNER


def test_a_file_that_cannot_be_copied_is_left_out_with_its_reason() -> None:
    route = route_memory(replace(OWNER, tools=frozenset(), file_reason="the workspace has no MEMORY.md"))
    assert (route.content, route.content_reason) == (False, "the workspace has no MEMORY.md")


def test_the_note_does_not_need_the_file() -> None:
    assert route_memory(replace(OWNER, file_reason="the workspace has no MEMORY.md")).note


@pytest.mark.parametrize("tools", [BOTH, frozenset[str]()])
def test_a_light_run_carries_no_memory(tools: frozenset[str]) -> None:
    route = route_memory(replace(OWNER, tools=tools, light=True))
    assert (route.note, route.content) == (False, False)
    assert "a light run carries no memory" in (route.note_reason, route.content_reason)
    assert route.access == Open(cite=True)


def test_a_plugins_memory_reader_counts_as_well() -> None:
    facts = replace(OWNER, tools=frozenset({"memory_recall"}), other_readers=frozenset({"memory_recall"}))
    assert (route_memory(facts).note, route_memory(facts).readers) == (True, ("memory_recall",))


@pytest.mark.parametrize(
    ("mode", "audience", "expected"),
    [
        ("on", Audience.GROUP, True),
        ("off", Audience.OWNER, False),
        ("auto", Audience.OWNER, True),
        ("auto", Audience.GROUP, False),
    ],
)
def test_sources_are_named_by_the_citations_mode(mode: CitationsMode, audience: Audience, expected: bool) -> None:
    assert cites(mode, audience) is expected
