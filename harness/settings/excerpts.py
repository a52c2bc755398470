"""How long an excerpt may be that a turn reads: of a note, of a tool's result, of AGENTS.md after a compaction.

Pure. Sizes are UTF-16 units; a value out of range is brought to the nearest end of it (prompt-builder 14).
"""

from harness.lean_values import dataclass

_TOOL_RESULT_STEPS = ((200_000, 64_000), (100_000, 32_000), (0, 16_000))
"""From how many tokens of context on a tool result may have how many units (prompt-builder 14)."""
_UNITS_PER_TOKEN = 4
_MOST = (
    ("memory_get_max_chars", 250_000),
    ("memory_get_default_lines", 5_000),
    ("post_compaction_max_chars", 50_000),
    ("tool_result_max_chars", 1_000_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptLimits:
    """`contextLimits`."""

    memory_get_max_chars: int = 12_000
    memory_get_default_lines: int = 120
    tool_result_max_chars: int | None = None
    """None: by the model's context, see `tool_result_units`."""
    post_compaction_max_chars: int = 1_800

    def __post_init__(self) -> None:
        for name, most in _MOST:
            value: int | None = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, max(1, min(value, most)))

    def tool_result_units(self, context_tokens: int | None = None) -> int:
        """Return the size to which a tool result is cut, for a model with so many tokens of context.

        Without a configured size it grows with the context; either way it stays under three tenths of the context,
        at four units a token (prompt-builder 14). None stands for a context that nobody knows: the configured size, or
        that of a small context.
        """
        tokens = 0 if context_tokens is None else max(0, context_tokens)
        by_context = next(units for least, units in _TOOL_RESULT_STEPS if tokens >= least)
        wanted = self.tool_result_max_chars or by_context
        return wanted if context_tokens is None else max(1, min(wanted, tokens * 3 // 10 * _UNITS_PER_TOKEN))
