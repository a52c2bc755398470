"""How much of a workspace's files reaches the prompt, and which files there are at all.

Pure values. Sizes are UTF-16 units; the numbers are those of prompt-builder 14.
"""

from dataclasses import field
from enum import Enum

from harness.lean_values import dataclass

EXTRA_FILES_HOOK = "bootstrap-extra-files"
"""The bundled hook that adds the files of `FileSettings.extra_files` (prompt-builder 7.5)."""


class WarningMode(Enum):
    """When a prompt tells that files were cut: `agents.defaults.bootstrapPromptTruncationWarning`."""

    OFF = "off"
    ONCE = "once"
    """The first time that the same files are cut in the same way."""
    ALWAYS = "always"


class ContextInjection(Enum):
    """When the files are put into the prompt: `contextInjection`."""

    ALWAYS = "always"
    CONTINUATION_SKIP = "continuation-skip"
    """Not while the conversation still holds them."""
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class FileLimits:
    """`bootstrapMaxChars` and `bootstrapTotalMaxChars`; a size below 1 is taken as 1 (prompt-builder 7.8)."""

    per_file: int = 20_000
    total: int = 60_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_file", max(1, self.per_file))
        object.__setattr__(self, "total", max(1, self.total))


@dataclass(frozen=True, slots=True)
class SeedOptions:
    """How workspaces are made."""

    skip_bootstrap: bool = False
    """`agents.defaults.skipBootstrap`: make the folder and nothing in it."""
    skip_optional: frozenset[str] = frozenset()
    """`agents.defaults.skipOptionalBootstrapFiles`: names of optional files not to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """How the workspace's files reach the prompt."""

    limits: FileLimits = field(default_factory=FileLimits)
    warning: WarningMode = WarningMode.ALWAYS
    injection: ContextInjection = ContextInjection.ALWAYS
    seed: SeedOptions = field(default_factory=SeedOptions)
    extra_files: tuple[str, ...] = ()
    """Paths and globs of further files, relative to the workspace."""
    hooks_enabled: bool = True
    """False: no internal hook runs, the one for `extra_files` included."""
