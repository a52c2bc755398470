import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.memory import (
    Access,
    Closed,
    ExcerptLimits,
    MemoryIndex,
    Open,
    memory_tools,
)
from harness.memory.arguments import Json
from harness.tools import Tool, ToolResult
from harness.units import utf16_units

MEMORY = "# Boat\nThe boat is blue.\n\n# Greenhouse\nVents stick.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "garden"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text(MEMORY)
    (root / "memory/2026-03-02.md").write_text("Planted beans beside the boat shed.\n")
    return root


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MemoryIndex]:
    with MemoryIndex(tmp_path / "state") as opened:
        yield opened


def offered(index: MemoryIndex, workspace: Path, access: Access | None = None, **limits: int) -> tuple[Tool, Tool]:
    allowed = access or Open()
    return memory_tools(index, str(workspace), access=lambda: allowed, limits=ExcerptLimits(**limits))


async def test_a_search_shows_passages_with_lines_scores_and_sources(index: MemoryIndex, workspace: Path) -> None:
    search, _ = offered(index, workspace)
    assert await search.call({"query": "blue boat"}) == ToolResult(
        True,
        "Passages from the notes, best first:\n\n"
        "1. MEMORY.md, lines 1-2, score 1.00\n# Boat\nThe boat is blue.\nSource: MEMORY.md#L1-L2\n\n"
        "2. memory/2026-03-02.md, line 1, score 0.40\nPlanted beans beside the boat shed.\n"
        "Source: memory/2026-03-02.md#L1",
    )


async def test_with_citations_off_no_source_line_is_added(index: MemoryIndex, workspace: Path) -> None:
    search, get = offered(index, workspace, Open(cite=False))
    texts = [(await search.call({"query": "boat"})).text, (await get.call({"path": "MEMORY.md"})).text]
    assert ["Source:" in text for text in texts] == [False, False]


async def test_an_excerpt_has_its_lines_and_says_how_to_read_on(index: MemoryIndex, workspace: Path) -> None:
    _, get = offered(index, workspace)
    assert await get.call({"path": "MEMORY.md", "from": 2, "lines": 2}) == ToolResult(
        True,
        "MEMORY.md, lines 2-3 of 5:\nThe boat is blue.\n\n[2 more lines: go on with from=4]\nSource: MEMORY.md#L2-L3",
    )
    assert await get.call({"path": "MEMORY.md", "from": "5"}) == ToolResult(
        True, "MEMORY.md, line 5 of 5:\nVents stick.\nSource: MEMORY.md#L5"
    )


@pytest.mark.parametrize("path", ["MEMORY.md#L2-L3", "./MEMORY.md#2-3", "{root}/MEMORY.md#L2-L3"])
async def test_a_note_may_be_asked_for_as_it_is_cited(index: MemoryIndex, workspace: Path, path: str) -> None:
    _, get = offered(index, workspace)
    result = await get.call({"path": path.format(root=workspace)})
    assert result.text.startswith("MEMORY.md, lines 2-3 of 5:\nThe boat is blue.\n")


async def test_without_a_number_the_configured_lines_are_read(index: MemoryIndex, workspace: Path) -> None:
    """S78."""
    _, get = offered(index, workspace, memory_get_default_lines=1)
    assert await get.call({"path": "MEMORY.md", "lines": None}) == ToolResult(
        True, "MEMORY.md, line 1 of 5:\n# Boat\n[4 more lines: go on with from=2]\nSource: MEMORY.md#L1"
    )


async def test_reading_on_reaches_every_line_within_the_limit(index: MemoryIndex, workspace: Path) -> None:
    """S78."""
    lines = [f"line {number} 🦞" for number in range(1, 200)]
    (workspace / "MEMORY.md").write_text("\n".join(lines))
    _, get = offered(index, workspace, memory_get_max_chars=400, memory_get_default_lines=5_000)
    seen: list[str] = []
    while len(seen) < len(lines):
        result = await get.call({"path": "MEMORY.md", "from": len(seen) + 1})
        assert utf16_units(result.text) <= 400
        seen += [line for line in result.text.split("\n") if line.startswith("line ")]
    assert seen == lines


async def test_a_line_longer_than_a_result_shows_its_beginning(index: MemoryIndex, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("🦞" * 500)
    _, get = offered(index, workspace, memory_get_max_chars=120)
    result = await get.call({"path": "MEMORY.md"})
    frame = "MEMORY.md, line 1 of 1, which is longer than a result may be; its beginning:\n"
    assert result == ToolResult(True, frame + "🦞" * ((119 - len(frame)) // 2) + "…")


async def test_a_search_result_stays_within_its_limit(index: MemoryIndex, workspace: Path) -> None:
    """S78."""
    for number in range(20):
        (workspace / f"memory/{number}.md").write_text(f"boat {number} " + "x" * 300)
    for limit in (1, 100, 500, 1_000, 5_000):
        search, _ = offered(index, workspace, tool_result_max_chars=limit)
        text = (await search.call({"query": "boat", "maxResults": 20})).text
        assert utf16_units(text) <= limit
        if limit >= 500:
            assert "left out to keep this short: ask more narrowly]" in text


async def test_what_is_not_there_is_said(index: MemoryIndex, workspace: Path) -> None:
    search, get = offered(index, workspace)
    results = [
        await search.call({"query": "submarine"}),
        await get.call({"path": "memory/2026-03-03.md"}),
        await get.call({"path": "MEMORY.md", "from": 9}),
    ]
    assert results == [
        ToolResult(True, "Nothing found in 2 notes."),
        ToolResult(True, "memory/2026-03-03.md does not exist: nothing has been written there."),
        ToolResult(True, "MEMORY.md has 5 lines; there is no line 9."),
    ]


async def test_a_workspace_without_notes_says_so(index: MemoryIndex, tmp_path: Path) -> None:
    search, get = offered(index, tmp_path / "empty")
    assert [await search.call({"query": "boat"}), await get.call({"path": "MEMORY.md"})] == [
        ToolResult(True, "There are no notes yet."),
        ToolResult(True, "MEMORY.md does not exist: nothing has been written there."),
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("SOUL.md", "memory.md", "memory/../SOUL.md", "../MEMORY.md", "/etc/passwd", "memory/deep/x.md"),
        *("memory/x.txt", "memory/", "memory\\x.md", "memory/a\0.md", "memory/\ud800.md"),
    ],
)
async def test_anything_but_a_note_is_refused(index: MemoryIndex, workspace: Path, path: str) -> None:
    (workspace / "SOUL.md").write_text("soul")
    _, get = offered(index, workspace)
    result = await get.call({"path": path})
    assert (result.success, result.text) == (
        False,
        f"{path!r} is no note: ask for MEMORY.md or memory/NAME.md, spelled exactly so.",
    )


async def test_a_note_that_leads_out_is_not_read_and_search_names_it(
    index: MemoryIndex, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "diary.md").write_text("secret boat")
    (workspace / "memory/out.md").symlink_to(tmp_path / "diary.md")
    search, get = offered(index, workspace)
    reason = (
        "memory/out.md was not read: it leads outside the workspace; copy the file into the workspace instead of "
        "linking to it."
    )
    assert await get.call({"path": "memory/out.md"}) == ToolResult(False, reason)
    assert (await search.call({"query": "secret"})).text == f"Nothing found in 2 notes.\n\nNot searched: {reason}"


async def test_a_turn_that_may_not_hear_from_the_memory_is_refused_at_once(index: MemoryIndex, workspace: Path) -> None:
    access: list[Access] = [Closed("memory is private to the owner's direct chat, and this is a group")]
    search, get = memory_tools(index, str(workspace), access=lambda: access[0])
    refused = ToolResult(
        False,
        "Memory is not available here: memory is private to the owner's direct chat, and this is a group. "
        "Do not guess what it may hold.",
    )
    assert [await search.call({"query": "boat"}), await get.call({"path": "MEMORY.md"})] == [refused, refused]
    access[0] = Open()
    assert (await search.call({"query": "boat"})).success


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("memory_search", {}, "query must hold the words to look for."),
        ("memory_search", {"query": "  "}, "query must hold the words to look for."),
        ("memory_search", {"query": "a", "maxResults": "few"}, "maxResults must be a number from 1 to 50."),
        ("memory_search", {"query": "a", "minScore": []}, "minScore must be a number from 0 to 1."),
        (
            "memory_search",
            {"query": "a", "path": "b"},
            "'path' is no argument of memory_search; it takes maxResults, minScore, query.",
        ),
        ("memory_get", {"path": 7}, "path must name a note: MEMORY.md or memory/NAME.md."),
        ("memory_get", {"path": "MEMORY.md", "from": "top"}, "from and lines must be numbers, 1 or more."),
        ("memory_get", {"path": "MEMORY.md", "lines": True}, "from and lines must be numbers, 1 or more."),
        (
            "memory_get",
            {"path": "MEMORY.md", "to": 3},
            "'to' is no argument of memory_get; it takes from, lines, path.",
        ),
    ],
)
async def test_a_wrong_call_is_answered_with_what_is_wrong(
    index: MemoryIndex, workspace: Path, name: str, arguments: dict[str, Json], problem: str
) -> None:
    tool = next(tool for tool in offered(index, workspace) if tool.name == name)
    assert await tool.call(arguments) == ToolResult(False, problem)


async def test_a_search_without_its_index_says_why_and_reading_goes_on(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file, no folder")
    with MemoryIndex(tmp_path / "state") as broken:
        search, get = offered(broken, workspace)
        result = await search.call({"query": "boat"})
        assert (result.success, result.text.startswith("Memory search is out of order: the memory index ")) == (
            False,
            True,
        )
        assert (await get.call({"path": "MEMORY.md"})).success


async def test_an_edit_is_found_at_the_next_call(index: MemoryIndex, workspace: Path) -> None:
    search, _ = offered(index, workspace)
    await search.call({"query": "boat"})
    (workspace / "MEMORY.md").write_text("The kayak is red.")
    os.utime(workspace / "MEMORY.md", (1_700_000_000, 1_700_000_000))
    assert "The kayak is red." in (await search.call({"query": "kayak"})).text


def test_the_tools_read_the_same_whoever_listens(index: MemoryIndex, workspace: Path, tmp_path: Path) -> None:
    """S29."""
    one = offered(index, workspace)
    other = memory_tools(index, str(tmp_path), access=lambda: Closed("no"), limits=ExcerptLimits())
    shown = [[(tool.name, tool.description, tool.input_schema) for tool in tools] for tools in (one, other)]
    assert shown[0] == shown[1]
    assert [tool.name for tool in one] == ["memory_search", "memory_get"]
    assert not any(word in tool.description.lower() for tool in one for word in ("telegram", "discord", "channel"))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40) | st.text(alphabet="\"'*^():+-{} ANDORNEAT好", max_size=40))
def test_no_question_breaks_the_search(index: MemoryIndex, workspace: Path, query: str) -> None:
    index.search(str(workspace), query, limit=6)
