"""How a turn gets at the memory: by a note that points to the tools, by a bounded copy of MEMORY.md, or not at all.

Pure, and a table: who is listening, and whether the tools can serve this workspace.
"""

from dataclasses import field
from enum import Enum
from types import MappingProxyType

from harness.lean_values import dataclass
from harness.memory.access import STANDINGS, Access, Audience, Closed, Open, Standing, cites
from harness.settings.memory import MemorySettings

READER_TOOLS = frozenset({"memory_search", "memory_get"})
"""The tools that read memory; any one of them suffices (openclaw-codex-harness 1.5)."""


class Reach(Enum):
    """Whether the memory tools can serve this turn."""

    TOOLS = "tools"
    NO_TOOL = "no-tool"
    UNAVAILABLE = "unavailable"
    OTHER_WORKSPACE = "other-workspace"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """What decides about the memory of one turn."""

    audience: Audience
    settings: MemorySettings = field(default_factory=MemorySettings)
    tools: frozenset[str] = frozenset()
    """The names of all tools that this turn offers."""
    other_readers: frozenset[str] = frozenset()
    """Names of tools of plugins that read memory, too."""
    available: bool = True
    """False when the store behind the tools cannot be opened, or memory search is switched off."""
    same_workspace: bool = True
    """The active workspace is the one whose memory the tools read."""
    light: bool = False
    """The run asked for light context."""
    replaced: bool = True
    """The tools take the place of a copy of MEMORY.md; otherwise they come beside it."""
    file_reason: str | None = None
    """Why MEMORY.md cannot be copied, such as "the workspace has no MEMORY.md"; None when it can."""


@dataclass(frozen=True, slots=True)
class MemoryRoute:
    """What a turn carries of the memory; each reason is a clause for the report."""

    note: bool
    note_reason: str
    content: bool
    content_reason: str
    access: Access
    """What a call of a memory tool meets during this turn."""
    readers: tuple[str, ...]
    """The memory tools that the note names, sorted."""
    standing: Standing
    """What those who read along may have of the memory, whatever the tools are."""


_Row = tuple[bool, bool, bool]
ROUTES: MappingProxyType[tuple[Standing, Reach], _Row] = MappingProxyType(
    {
        # standing, reach                           note   copy   tools answer
        (Standing.PRIVATE, Reach.TOOLS): (True, False, True),
        (Standing.PRIVATE, Reach.NO_TOOL): (False, True, True),
        (Standing.PRIVATE, Reach.UNAVAILABLE): (False, True, False),
        (Standing.PRIVATE, Reach.OTHER_WORKSPACE): (False, True, False),
        (Standing.SHARED, Reach.TOOLS): (True, False, True),
        (Standing.SHARED, Reach.NO_TOOL): (False, False, True),
        (Standing.SHARED, Reach.UNAVAILABLE): (False, False, False),
        (Standing.SHARED, Reach.OTHER_WORKSPACE): (False, False, False),
        (Standing.CLOSED, Reach.TOOLS): (False, False, False),
        (Standing.CLOSED, Reach.NO_TOOL): (False, False, False),
        (Standing.CLOSED, Reach.UNAVAILABLE): (False, False, False),
        (Standing.CLOSED, Reach.OTHER_WORKSPACE): (False, False, False),
    }
)
"""Note, bounded copy of MEMORY.md, and whether the registered tools answer. A missing row would be an error."""

REACH_REASONS = MappingProxyType(
    {
        Reach.TOOLS: "the memory tools serve this workspace",
        Reach.NO_TOOL: "no memory tool is offered",
        Reach.UNAVAILABLE: "memory search is not available",
        Reach.OTHER_WORKSPACE: "the active workspace is not the one that the memory tools read",
    }
)
NEVER_COPIED = "MEMORY.md is copied only into the owner's own chat"
LIGHT = "a light run carries no memory"


def route_memory(facts: MemoryFacts) -> MemoryRoute:
    """Decide how one turn gets at the memory."""
    readers = readers_offered(facts.tools, facts.other_readers)
    reach = _reach(facts, readers)
    standing, who = STANDINGS[facts.audience, facts.settings.groups]
    note, content, answers = ROUTES[standing, reach]
    why = who if standing is Standing.CLOSED else REACH_REASONS[reach]
    access: Access = Open(cites(facts.settings.citations, facts.audience)) if answers else Closed(why)
    note_reason, content_reason = why, why
    content = content or (standing is Standing.PRIVATE and not facts.replaced)
    if standing is Standing.SHARED and reach is not Reach.TOOLS:
        content_reason = NEVER_COPIED
    if content and facts.file_reason is not None:
        content, content_reason = False, facts.file_reason
    if facts.light and (note or content):
        note, content, note_reason, content_reason = False, False, LIGHT, LIGHT
    return MemoryRoute(note, note_reason, content, content_reason, access, readers, standing)


def readers_offered(tools: frozenset[str], other_readers: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return those of the offered `tools` that read memory, sorted; letter case does not matter."""
    known = {name.casefold() for name in READER_TOOLS | other_readers}
    return tuple(sorted(name for name in tools if name.casefold() in known))


def _reach(facts: MemoryFacts, readers: tuple[str, ...]) -> Reach:
    checks = (
        (not readers, Reach.NO_TOOL),
        (not facts.available, Reach.UNAVAILABLE),
        (not facts.same_workspace, Reach.OTHER_WORKSPACE),
    )
    return next((reach for applies, reach in checks if applies), Reach.TOOLS)
