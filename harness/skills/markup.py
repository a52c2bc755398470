"""How skills are written as tags.

Pure. The tag names are those that models of this kind of gateway know (prompt-builder 8.7).
"""

from collections.abc import Sequence
from functools import lru_cache

from harness.lean_values import dataclass
from harness.skills.values import Skill


@dataclass(frozen=True, slots=True)
class Row:
    """One skill in both forms."""

    skill: Skill
    full: str
    compact: str
    """Without its description."""


def blocks(skill: Skill, location: str) -> tuple[str, str]:
    """Write a skill's block in full and without its description."""
    return _written(skill.name, skill.description, location, skill.version)


# When one skill of two hundred was edited, the blocks of the others are those of the turn before.
@lru_cache(maxsize=2_048)
def _written(name: str, description: str, location: str, version: str) -> tuple[str, str]:
    head = f"  <skill>\n    <name>{escape(name)}</name>\n"
    described = f"    <description>{escape(description)}</description>\n"
    tail = f"    <location>{escape(location)}</location>\n    <version>{escape(version)}</version>\n  </skill>\n"
    return head + described + tail, head + tail


def escape(text: str) -> str:
    """Write `text` so that it cannot end or open a tag."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&apos;")
    )


def join(introduction: str, texts: Sequence[str], notes: Sequence[str]) -> str:
    """Put notes, introduction and blocks together; without a block there are only notes."""
    listed = f"\n\n{introduction}\n\n<available_skills>\n{''.join(texts)}</available_skills>"
    return "\n".join([*notes, *([listed] if texts else [])])
