"""The line that divides a system prompt into a part that stays and a part that changes from turn to turn.

Pure. Backends that cache prompts by their beginning reuse what stands above it; before a prompt goes to a model the
marker is split away or stripped.
"""

from dataclasses import dataclass
from typing import Final

from harness.prompt.hygiene import structured

MARKER: Final = "<!-- OPENCLAW_CACHE_BOUNDARY -->"
TOKEN: Final = f"\n{MARKER}\n"
"""The marker on a line of its own, 34 characters with its line ends (prompt-builder 6.1)."""
DISARMED: Final = "<!-- cache boundary -->"
"""What a marker becomes that stands in somebody's text."""


@dataclass(frozen=True, slots=True)
class Halves:
    """A prompt, divided."""

    stable: str
    dynamic: str


def split(prompt: str) -> Halves | None:
    """Divide at the first marker, without the white space around it; None when there is no marker."""
    stable, found, dynamic = prompt.partition(TOKEN)
    return Halves(stable.rstrip(), dynamic.lstrip()) if found else None


def strip(prompt: str) -> str:
    """Put one line end in the place of every marker, for a model that gets the prompt as one text."""
    return prompt.replace(TOKEN, "\n")


def one_marker(prompt: str) -> str:
    """Put the first marker of somebody's whole prompt on a line of its own, and take the meaning out of the others."""
    if MARKER not in prompt:
        return prompt
    stable, _, dynamic = prompt.replace("\r\n", "\n").partition(MARKER)
    return f"{stable.rstrip()}{TOKEN}{disarmed(dynamic).lstrip()}"


def ensure(prompt: str) -> str:
    """Append a marker unless there is one; a blank prompt stays as it is."""
    if not prompt.strip() or TOKEN in prompt:
        return prompt
    return prompt + TOKEN


def insert_after(prompt: str, addition: str) -> str:
    """Put `addition`, normalised, at the head of the changing part.

    Without a marker it goes before everything, so a caller that wants the beginning to stay calls `ensure` first.
    """
    addition = disarmed(structured(addition))
    if not addition:
        return prompt
    if not prompt.strip():
        return addition
    stable, found, dynamic = prompt.partition(TOKEN)
    if not found:
        return f"{addition}\n\n{prompt}"
    rest = structured(dynamic)
    return f"{stable}{TOKEN}{addition}\n\n{rest}" if rest else f"{stable}{TOKEN}{addition}"


def disarmed(text: str) -> str:
    """Take the meaning out of every marker in a text that is not the prompt itself."""
    return text.replace(MARKER, DISARMED) if MARKER in text else text
