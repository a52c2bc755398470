"""The list of skills as the model reads it, within its budget.

Pure: skills and options in, text out. All sizes are UTF-16 units.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from harness.lean_values import dataclass
from harness.settings.skills import RemoteNode, SkillLimits, SkillSource
from harness.skills.locations import PathNaming
from harness.skills.markup import Row, blocks, join
from harness.skills.order import name_key
from harness.skills.values import Skill
from harness.skills.wording import RELATIVE_PATHS, Loading, compact_note, introduction, remote_note, truncated_note
from harness.units import utf16_units

_DEFAULTS: Final = SkillLimits()
GIVES_WAY: Final = (SkillSource.BUNDLED, SkillSource.EXTRA)
"""Sources whose skills leave the list first when not all fit: what came with a package, before what a person chose."""


class Tier(StrEnum):
    """How much of the list fitted (prompt-builder 8.8)."""

    EMPTY = "empty"
    """There is no skill to list."""
    FULL = "full"
    COMPACT = "compact"
    """No descriptions."""
    TRUNCATED = "truncated"
    """No descriptions, and not all skills."""


@dataclass(frozen=True, slots=True)
class ListingOptions:
    """What one agent's list on one backend depends on, besides the skills."""

    loading: Loading
    check_command: str
    """The command that shows a person every skill and why it is in or out."""
    allow: frozenset[str] | None = None
    """The names that the agent may use; None restricts nothing."""
    max_skills: int = _DEFAULTS.max_skills_in_prompt
    max_units: int = _DEFAULTS.max_skills_prompt_chars
    """`skills.limits.maxSkillsPromptChars`, or the agent's own `skillsLimits.maxSkillsPromptChars`."""
    naming: PathNaming = field(default_factory=PathNaming)
    remote_how: str | None = None
    """How commands reach a connected node; None where they may not."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One skill of the list, for reports."""

    name: str
    units: int
    """Size of its `<skill>` block."""


@dataclass(frozen=True, slots=True)
class SkillCatalogue:
    """The list, its size and what had to give way."""

    text: str = ""
    """Notes, introduction and list; empty when there is nothing to say. Starts with two line ends, or with a note."""
    introduction: str = ""
    """What of `text` says how skills are used."""
    tier: Tier = Tier.EMPTY
    total: int = 0
    """How many skills should have been listed."""
    entries: tuple[CatalogueEntry, ...] = ()
    dropped: tuple[str, ...] = ()
    """Names of the skills that had no room."""
    notes: tuple[str, ...] = ()
    units: int = 0
    raw_units: int = 0
    """Size of the full list of all skills, without notes."""

    @property
    def bare(self) -> str:
        """`text` for a prompt that says by itself how skills are used."""
        return self.text.replace(self.introduction, RELATIVE_PATHS, 1) if self.introduction else self.text

    @property
    def count(self) -> int:
        """How many skills are listed."""
        return len(self.entries)

    @property
    def warning(self) -> str:
        """One sentence for the operator, naming what is missing; empty when nothing is."""
        if self.dropped:
            return f"{len(self.dropped)} of {self.total} skills do not fit the prompt: {', '.join(self.dropped)}."
        if self.tier is Tier.COMPACT:
            return f"The descriptions of all {self.total} skills were left out so that the list fits the prompt."
        return ""


def build_catalogue(
    skills: Sequence[Skill], options: ListingOptions, *, platform: str = "", nodes: Sequence[RemoteNode] = ()
) -> SkillCatalogue:
    """Write the list of `skills`, which are the agent's visible ones in alphabetical order.

    Args:
        skills: What to list.
        options: Budget, wording and naming.
        platform: This machine's platform, which tells whose skills need a connected Mac.
        nodes: The connected machines.
    """
    if not skills:
        return SkillCatalogue()
    locations = options.naming.locations(skill.file for skill in skills)
    rows = [Row(one, *blocks(one, location)) for one, location in zip(skills, locations, strict=True)]
    writer = _Writer(rows, options, _remote(skills, options, platform, nodes))
    count = len(writer.ranked)
    full = writer.page(count, full=True)
    if full.units <= options.max_units:
        return full
    compact = writer.page(count, full=False)
    if compact.units <= options.max_units:
        return compact
    # The first is known to be too long; of those before it, the longest that fits is searched.
    shorter = range(count - 1, 0, -1)
    place = bisect_left(shorter, True, key=lambda kept: writer.page(kept, full=False).units <= options.max_units)
    return writer.page(shorter[place] if place < len(shorter) else 0, full=False)


class _Writer:
    """Writes the first so many skills in one of the two forms, with the notes that belong to it."""

    def __init__(self, rows: Sequence[Row], options: ListingOptions, remote: Sequence[str]) -> None:
        self._rows = rows
        self._options = options
        self._remote = remote
        self._intro = {full: introduction(options.loading, descriptions=full) for full in (True, False)}
        self._raw_units = utf16_units(join(self._intro[True], [row.full for row in rows], ()))
        self.ranked = sorted(rows, key=lambda row: row.skill.source in GIVES_WAY)[: max(options.max_skills, 0)]
        """The skills that may be listed; when there is no room, the last ones leave first."""

    def page(self, count: int, *, full: bool) -> SkillCatalogue:
        shown = sorted(self.ranked[:count], key=lambda row: name_key(row.skill.name))
        texts = [row.full if full else row.compact for row in shown]
        notes = (*self._remote, *self._limit_note(count, full=full))
        text = join(self._intro[full], texts, notes)
        names = {row.skill.name for row in shown}
        return SkillCatalogue(
            text=text,
            introduction=self._intro[full] if texts else "",
            tier=Tier.TRUNCATED if count < len(self.ranked) or not count else Tier.FULL if full else Tier.COMPACT,
            total=len(self._rows),
            entries=tuple(
                CatalogueEntry(row.skill.name, utf16_units(block)) for row, block in zip(shown, texts, strict=True)
            ),
            dropped=tuple(row.skill.name for row in self._rows if row.skill.name not in names),
            notes=notes,
            units=utf16_units(text),
            raw_units=self._raw_units,
        )

    def _limit_note(self, count: int, *, full: bool) -> tuple[str, ...]:
        command = self._options.check_command
        if count < len(self._rows):
            return (truncated_note(count, len(self._rows), compact=not full, check_command=command),)
        return () if full else (compact_note(command),)


def _remote(
    skills: Sequence[Skill], options: ListingOptions, platform: str, nodes: Sequence[RemoteNode]
) -> tuple[str, ...]:
    macs = [node.name for node in nodes if node.platform == "darwin"]
    needed = any("darwin" in skill.gates.os and platform not in skill.gates.os for skill in skills)
    return (remote_note(macs, options.remote_how),) if macs and needed and options.remote_how else ()
