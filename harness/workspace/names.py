"""Which files of a workspace are prompt files, in which order they are loaded, and which session gets which.

Pure.
"""

from enum import Enum
from types import MappingProxyType

from harness.layers import LayerName

AGENTS = "AGENTS.md"
SOUL = "SOUL.md"
TOOLS = "TOOLS.md"
IDENTITY = "IDENTITY.md"
USER = "USER.md"
HEARTBEAT = "HEARTBEAT.md"
BOOTSTRAP = "BOOTSTRAP.md"
MEMORY = "MEMORY.md"

MEMORY_FOLDER = "memory"
"""The folder of the daily notes, which are memory too and never prompt files of their own."""

LOAD_ORDER = (AGENTS, SOUL, TOOLS, IDENTITY, USER, HEARTBEAT, BOOTSTRAP, MEMORY)
"""All recognised names, in the order in which they are loaded and share the total budget (prompt-builder 7.1)."""

LAYER_OF = MappingProxyType(
    {
        AGENTS: LayerName.AGENTS,
        SOUL: LayerName.SOUL,
        TOOLS: LayerName.TOOLS,
        IDENTITY: LayerName.IDENTITY,
        USER: LayerName.USER,
        HEARTBEAT: LayerName.HEARTBEAT,
        BOOTSTRAP: LayerName.BOOTSTRAP,
        MEMORY: LayerName.MEMORY,
    }
)
"""The layer that a recognised file becomes."""


class SessionKind(Enum):
    """What a session key says about who is talking."""

    ORDINARY = "ordinary"
    SUBAGENT = "subagent"
    CRON = "cron"


_SUBAGENT_FILES = frozenset({AGENTS, TOOLS})
_CRON_FILES = frozenset({AGENTS, SOUL, TOOLS, IDENTITY, USER})

FILES_OF_SESSION = MappingProxyType(
    {
        SessionKind.ORDINARY: frozenset(LOAD_ORDER),
        SessionKind.SUBAGENT: _SUBAGENT_FILES,
        SessionKind.CRON: _CRON_FILES,
    }
)
"""The names that a session may load (prompt-builder 7.2)."""


class RunKind(Enum):
    """What started a run."""

    DEFAULT = "default"
    HEARTBEAT = "heartbeat"
    CRON = "cron"
    COMMITMENT_ONLY = "commitment-only"


class ContextMode(Enum):
    """How much of the workspace a run asked for."""

    FULL = "full"
    LIGHTWEIGHT = "lightweight"


_KIND_OF_PREFIX = MappingProxyType({"subagent": SessionKind.SUBAGENT, "cron": SessionKind.CRON})


def session_kind(session_key: str | None) -> SessionKind:
    """Read the kind of a session off its key, such as `agent:main:subagent:7f`."""
    if not session_key:
        return SessionKind.ORDINARY
    parts = session_key.strip().lower().split(":")
    rest = parts[2:] if parts[0] == "agent" and len(parts) > 2 else parts
    return _KIND_OF_PREFIX.get(rest[0], SessionKind.ORDINARY) if len(rest) > 1 else SessionKind.ORDINARY


def base_name(path: str) -> str:
    """Return the last part of a path, whichever slashes it was written with."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
