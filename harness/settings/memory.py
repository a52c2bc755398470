"""Who may use an agent's memory, and what of it a fresh conversation begins with.

Pure values. Sizes are UTF-16 units unless a name says bytes.
"""

from typing import Literal

from harness.lean_values import dataclass

CitationsMode = Literal["auto", "on", "off"]
ResetAction = Literal["new", "reset"]
"""The two commands that begin a conversation."""

_MOST = (
    ("daily_memory_days", 14),
    ("max_file_bytes", 65_536),
    ("max_file_chars", 10_000),
    ("max_total_chars", 50_000),
)
"""A value out of range is brought to the nearest end of it (prompt-builder 7.14)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """`memory`."""

    citations: CitationsMode = "auto"
    """Whether passages name their source."""
    groups: bool = False
    """Group chats may look things up as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupSettings:
    """`startupContext`: the daily notes that a bare /new or /reset may bring along."""

    enabled: bool = True
    apply_on: tuple[ResetAction, ...] = ("new", "reset")
    """Never empty: an empty list means both."""
    daily_memory_days: int = 2
    max_file_bytes: int = 16_384
    max_file_chars: int = 1_200
    max_total_chars: int = 2_800

    def __post_init__(self) -> None:
        object.__setattr__(self, "apply_on", self.apply_on or ("new", "reset"))
        for name, most in _MOST:
            object.__setattr__(self, name, max(1, min(int(getattr(self, name)), most)))
