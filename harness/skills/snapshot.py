"""What a session keeps of the skills it was told about, and when that is out of date.

Pure: the clock is an argument (prompt-builder 8.10).
"""

from collections.abc import Sequence
from typing import Final

from harness.lean_values import dataclass
from harness.skills.catalogue import SkillCatalogue
from harness.skills.values import Skill

PROMPT_FORMAT: Final = 1
"""Raised when the list's form changes, so that kept lists of the old form are written anew."""


@dataclass(frozen=True, slots=True)
class SkillNeed:
    """What a run must know about a skill to fill in its environment."""

    name: str
    primary_env: str = ""
    required_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillSnapshot:
    """The list that a session was given, together with what it was made from."""

    prompt: str
    """The list's text as rendered, notes included."""
    skills: tuple[SkillNeed, ...]
    skill_filter: tuple[str, ...] | None
    """The allowlist in force, sorted; None when there was none."""
    resolved_skills: tuple[Skill, ...]
    """The agent's eligible skills with absolute paths, those kept from the model included."""
    version: int
    prompt_format: int = PROMPT_FORMAT


class SkillVersions:
    """Counts changes, as milliseconds that never stand still or run backwards."""

    def __init__(self) -> None:
        self._everywhere = 0
        self._workspaces: dict[str, int] = {}

    def bump(self, now_ms: int, *, workspace: str | None = None) -> int:
        """Note a change of one workspace, or of everything (configuration, connected nodes), and return its version."""
        version = max(now_ms, self._everywhere + 1, *(known + 1 for known in self._workspaces.values()))
        if workspace is None:
            self._everywhere = version
        else:
            self._workspaces[workspace] = version
        return version

    def current(self, workspace: str) -> int:
        """Return the version of a workspace; 0 until something changed in this process."""
        return max(self._everywhere, self._workspaces.get(workspace, 0))


def take_snapshot(
    catalogue: SkillCatalogue, skills: Sequence[Skill], *, allow: frozenset[str] | None, version: int
) -> SkillSnapshot:
    """Keep what a session was told.

    Args:
        catalogue: The list.
        skills: The agent's eligible skills.
        allow: The allowlist in force.
        version: From `SkillVersions.current`.
    """
    return SkillSnapshot(
        prompt=catalogue.text,
        skills=tuple(SkillNeed(skill.name, skill.primary_env, skill.gates.env) for skill in skills),
        skill_filter=None if allow is None else tuple(sorted(allow)),
        resolved_skills=tuple(skills),
        version=version,
    )


def is_outdated(snapshot: SkillSnapshot, *, current: int, allow: frozenset[str] | None) -> bool:
    """Tell whether a kept list must be written anew.

    Args:
        snapshot: What the session kept.
        current: The version now. 0 with a kept version above it means that the process is new and has seen nothing
            yet, so that changes in between are unknown.
        allow: The allowlist now; the order of names does not matter.
    """
    kept = None if snapshot.skill_filter is None else frozenset(snapshot.skill_filter)
    return (
        snapshot.prompt_format != PROMPT_FORMAT
        or snapshot.version < current
        or (current == 0 and snapshot.version > 0)
        or kept != allow
    )
