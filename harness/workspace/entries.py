"""What the workspace offers a run: files in order, what was left out, and what a person should know.

Pure values.
"""

from enum import Enum

from harness.layers import LayerName
from harness.lean_values import dataclass
from harness.workspace.memory_files import MemoryKind
from harness.workspace.names import LAYER_OF
from harness.workspace.reads import Content, Missing, ReadResult


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """One prompt file of a workspace, read or not."""

    name: str
    path: str
    """Absolute; the path that the prompt shows."""
    read: ReadResult
    memory: MemoryKind | None = None
    """What of the long-term memory this is, under whatever name: the memory rules decide about such a file."""
    from_hook: bool = False
    """Whether a hook supplied or changed it."""

    @property
    def real_path(self) -> str:
        """Where the bytes are, with links followed; `path` when nothing was read."""
        return self.read.real_path if isinstance(self.read, Content) else self.path

    @property
    def text(self) -> str:
        """The content, empty when nothing was read."""
        return self.read.text if isinstance(self.read, Content) else ""

    @property
    def missing(self) -> bool:
        """Whether there is no file at the path."""
        return isinstance(self.read, Missing)

    @property
    def layer(self) -> LayerName | None:
        """The layer that this file becomes; None for a name that only a hook knows."""
        return LayerName.MEMORY if self.memory is not None else LAYER_OF.get(self.name)


@dataclass(frozen=True, slots=True)
class LeftOutFile:
    """A file that this run does not carry, and why."""

    name: str
    path: str
    reason: str
    """A clause for a person, such as "a subagent gets only AGENTS.md and TOOLS.md"."""


class NoticeCode(Enum):
    """What a notice is about, for programs."""

    REFUSED = "refused"
    NOT_UTF8 = "not-utf8"
    DUPLICATE = "duplicate"
    HOOK_FAILED = "hook-failed"
    HOOK_ENTRY = "hook-entry"
    INVALID_BOOTSTRAP_FILENAME = "invalid-bootstrap-filename"
    MISSING = "missing"
    SECURITY = "security"
    IO = "io"
    TRUNCATED = "truncated"
    OMITTED = "omitted"
    STATE = "state"
    SKILL_VARIABLE = "skill-variable"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that a person should know about a file or a hook."""

    code: NoticeCode
    source: str
    """A file's path, a glob, or the name of a hook."""
    text: str
    """A whole sentence that names the thing and the fix."""
