"""What the provider of a model adds to a system prompt: three sections of ours replaced, a beginning, an end.

Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.prompt.hygiene import structured

SECTIONS: Final = ("interaction_style", "tool_call_style", "execution_bias")
"""The sections that a provider may replace (S06)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What one provider adds; empty texts add nothing. Make one of foreign texts with `contribution`."""

    stable_prefix: str = ""
    """Above the cache boundary, so the same on each turn."""
    dynamic_suffix: str = ""
    """Below it."""
    interaction_style: str = ""
    """With its own heading, like the two below."""
    tool_call_style: str = ""
    execution_bias: str = ""


def contribution(
    *, stable_prefix: object = None, dynamic_suffix: object = None, overrides: Mapping[str, object] | None = None
) -> Contribution:
    """Make a contribution of whatever a plugin gave: normalised, what is no text or blank is nothing.

    An override under another name than those of `SECTIONS` is passed over (prompt-builder 5.1).
    """
    given = overrides or {}
    return Contribution(
        stable_prefix=_text(stable_prefix),
        dynamic_suffix=_text(dynamic_suffix),
        interaction_style=_text(given.get("interaction_style")),
        tool_call_style=_text(given.get("tool_call_style")),
        execution_bias=_text(given.get("execution_bias")),
    )


def merged(*parts: Contribution | None) -> Contribution:
    """Join contributions, the base first: prefixes and suffixes add up, of two overrides the later one counts."""
    given = [part for part in parts if part is not None]
    if len(given) == 1:
        return given[0]

    def last(texts: list[str]) -> str:
        return next((text for text in reversed(texts) if text), "")

    return Contribution(
        stable_prefix=_unique([part.stable_prefix for part in given]),
        dynamic_suffix=_unique([part.dynamic_suffix for part in given]),
        interaction_style=last([part.interaction_style for part in given]),
        tool_call_style=last([part.tool_call_style for part in given]),
        execution_bias=last([part.execution_bias for part in given]),
    )


def _text(value: object) -> str:
    return structured(value) if isinstance(value, str) else ""


def _unique(texts: list[str]) -> str:
    return "\n\n".join(dict.fromkeys(text for text in texts if text.strip()))
