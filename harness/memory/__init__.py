"""The agent's long-term memory: whose it is, how a turn gets at it, and the tools that search it."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.memory.access import Access, Audience, Closed, Open, Standing, cites
    from harness.memory.daily import (
        DailyNote,
        NoteFile,
        bare_reset,
        choose_notes,
        render_startup,
        startup_dates,
        startup_notes_off,
    )
    from harness.memory.daily_files import startup_context
    from harness.memory.found import Found, Hit, RefusedNote
    from harness.memory.index import MemoryIndex
    from harness.memory.note import memory_note, memory_pointer, recall_lines
    from harness.memory.refresh import post_compaction_text
    from harness.memory.reset import reset_prompt
    from harness.memory.routing import READER_TOOLS, MemoryFacts, MemoryRoute, Reach, readers_offered, route_memory
    from harness.memory.store import MemoryUnavailableError
    from harness.memory.tools import memory_tools
    from harness.settings.excerpts import ExcerptLimits
    from harness.settings.memory import CitationsMode, MemorySettings, ResetAction, StartupSettings

__all__ = [
    "READER_TOOLS",
    "Access",
    "Audience",
    "CitationsMode",
    "Closed",
    "DailyNote",
    "ExcerptLimits",
    "Found",
    "Hit",
    "MemoryFacts",
    "MemoryIndex",
    "MemoryRoute",
    "MemorySettings",
    "MemoryUnavailableError",
    "NoteFile",
    "Open",
    "Reach",
    "RefusedNote",
    "ResetAction",
    "Standing",
    "StartupSettings",
    "bare_reset",
    "choose_notes",
    "cites",
    "memory_note",
    "memory_pointer",
    "memory_tools",
    "post_compaction_text",
    "readers_offered",
    "recall_lines",
    "render_startup",
    "reset_prompt",
    "route_memory",
    "startup_context",
    "startup_dates",
    "startup_notes_off",
]

__getattr__ = lazily(
    __name__,
    {
        "READER_TOOLS": "harness.memory.routing",
        "Access": "harness.memory.access",
        "Audience": "harness.memory.access",
        "CitationsMode": "harness.settings.memory",
        "Closed": "harness.memory.access",
        "DailyNote": "harness.memory.daily",
        "ExcerptLimits": "harness.settings.excerpts",
        "Found": "harness.memory.found",
        "Hit": "harness.memory.found",
        "MemoryFacts": "harness.memory.routing",
        "MemoryIndex": "harness.memory.index",
        "MemoryRoute": "harness.memory.routing",
        "MemorySettings": "harness.settings.memory",
        "MemoryUnavailableError": "harness.memory.store",
        "NoteFile": "harness.memory.daily",
        "Open": "harness.memory.access",
        "Reach": "harness.memory.routing",
        "RefusedNote": "harness.memory.found",
        "ResetAction": "harness.settings.memory",
        "Standing": "harness.memory.access",
        "StartupSettings": "harness.settings.memory",
        "bare_reset": "harness.memory.daily",
        "choose_notes": "harness.memory.daily",
        "cites": "harness.memory.access",
        "memory_note": "harness.memory.note",
        "memory_pointer": "harness.memory.note",
        "memory_tools": "harness.memory.tools",
        "post_compaction_text": "harness.memory.refresh",
        "readers_offered": "harness.memory.routing",
        "recall_lines": "harness.memory.note",
        "render_startup": "harness.memory.daily",
        "reset_prompt": "harness.memory.reset",
        "route_memory": "harness.memory.routing",
        "startup_context": "harness.memory.daily_files",
        "startup_dates": "harness.memory.daily",
        "startup_notes_off": "harness.memory.daily",
    },
)
