"""The tools with which an agent looks things up: `memory_search` and `memory_get`.

Their descriptions never change; whether a call is answered is asked anew each time, since who is listening changes from
turn to turn.
"""

import os
from collections.abc import Callable, Mapping

import anyio

from harness.json_value import Json
from harness.memory import answers
from harness.memory.access import Access, Closed
from harness.memory.arguments import GET_SCHEMA, SEARCH_SCHEMA, read_get, read_search
from harness.memory.index import MemoryIndex
from harness.memory.notes import FoundNote, look_at, note_path, read_note
from harness.memory.passages import note_lines
from harness.memory.store import MemoryUnavailableError
from harness.settings.excerpts import ExcerptLimits
from harness.tools import Tool, ToolResult
from harness.workspace.guard import Candidate
from harness.workspace.reads import Content, Refused

SEARCH_DESCRIPTION = (
    "Finds passages in the agent's long-term notes, MEMORY.md and memory/*.md, by their words, best first. "
    "Use it before answering about earlier work, decisions, dates, people, preferences or open tasks."
)
GET_DESCRIPTION = (
    "Reads lines of one note, MEMORY.md or memory/NAME.md, by path and line number. "
    "Use it to read around a passage that memory_search found, and no more than you need."
)


def memory_tools(
    index: MemoryIndex,
    workspace: str,
    *,
    access: Callable[[], Access],
    limits: ExcerptLimits | None = None,
    context_tokens: int | None = None,
) -> tuple[Tool, Tool]:
    """Return `memory_search` and `memory_get` for one agent.

    Args:
        index: The index to search.
        workspace: The agent's memory workspace, an absolute path.
        access: Says whether the turn that is running may hear from the memory; asked on each call.
        limits: How long results may be.
        context_tokens: The size of the model's context, on which the length of results may depend; None when it is not
            known.
    """
    sizes = limits or ExcerptLimits()
    most = sizes.tool_result_units(context_tokens)

    async def search(arguments: Mapping[str, Json]) -> ToolResult:
        return await _guarded(access, lambda cite: _search(index, workspace, arguments, most, cite=cite))

    async def get(arguments: Mapping[str, Json]) -> ToolResult:
        return await _guarded(access, lambda cite: _get(workspace, arguments, sizes, cite=cite))

    return (
        Tool("memory_search", SEARCH_DESCRIPTION, SEARCH_SCHEMA, search),
        Tool("memory_get", GET_DESCRIPTION, GET_SCHEMA, get),
    )


async def _guarded(access: Callable[[], Access], work: Callable[[bool], ToolResult]) -> ToolResult:
    allowed = access()
    if isinstance(allowed, Closed):
        return ToolResult(False, answers.refusal(allowed.reason))
    return await anyio.to_thread.run_sync(work, allowed.cite)


def _search(index: MemoryIndex, workspace: str, arguments: Mapping[str, Json], most: int, *, cite: bool) -> ToolResult:
    asked = read_search(arguments)
    if isinstance(asked, str):
        return ToolResult(False, asked)
    try:
        found = index.search(workspace, asked.query, limit=asked.max_results, min_score=asked.min_score)
    except MemoryUnavailableError as error:
        return ToolResult(False, answers.unavailable(str(error)))
    return ToolResult(True, answers.search_text(found, cite=cite, max_units=most))


def _get(workspace: str, arguments: Mapping[str, Json], limits: ExcerptLimits, *, cite: bool) -> ToolResult:
    asked = read_get(arguments, default_lines=limits.memory_get_default_lines)
    if isinstance(asked, str):
        return ToolResult(False, asked)
    path = note_path(workspace, asked.path)
    if path is None:
        return ToolResult(False, answers.no_note(asked.path))
    root = os.path.realpath(workspace)
    found = look_at(root, path)
    read = read_note(root, FoundNote(path, found)) if isinstance(found, Candidate) else found
    if isinstance(read, Refused):
        return ToolResult(False, answers.not_read(path, read.reason))
    if not isinstance(read, Content):
        return ToolResult(True, answers.not_there(path))
    lines = note_lines(read.text)
    return ToolResult(True, answers.get_text(path, lines, asked, cite=cite, max_units=limits.memory_get_max_chars))
