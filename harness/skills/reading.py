"""What the SKILL.md of each folder found says, without reading one twice.

Reads through `disk` and understands through `parse`.
"""

import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Final

from harness.lean_values import dataclass
from harness.settings.skills import SkillLimits
from harness.skills import disk
from harness.skills.discovery import Candidate, Walk, name_of, walk_root
from harness.skills.disk import GuardError, Stamp
from harness.skills.order import name_key
from harness.skills.roots import HARD_LINKS_ALLOWED, SkillRoot
from harness.skills.shown import is_plain, shown
from harness.skills.values import SKILL_FILE, Refused, Skill, SkillProblem, Why
from harness.workspace.memory_files import MemoryPlaces

_IS_MEMORY: Final = (
    f"has a {SKILL_FILE} that is memory of the workspace, which nobody but the owner may read; "
    "put a file of its own there"
)
_ODD_PATH: Final = "lies at a path with a line end or a character that is not UTF-8; rename its folder"


@dataclass(frozen=True, slots=True)
class Reading:
    """One folder's skill, or why there is none, and the stamp of the file it came from."""

    candidate: Candidate
    stamp: Stamp | None
    outcome: Skill | Refused


@dataclass(slots=True)
class RootState:
    """Everything known about one root."""

    walk: Walk
    readings: dict[str, Reading] = field(default_factory=dict[str, Reading])
    """By the path of the SKILL.md, in the order of the walk."""

    def refresh(self, limits: SkillLimits, memory: MemoryPlaces) -> bool:
        """Look at the disk again and tell whether any skill, refusal or problem changed.

        Costs one call of the operating system for each folder listed and each skill found, and then as much reading
        as there are changes.
        """
        if not self.walk.is_current():
            return self._walk_again(limits, memory)
        stamps = ((file, reading.stamp) for file, reading in self.readings.items())
        late = [self.readings[file] for file in disk.changed_paths(stamps)]
        if any(_needs_walk(reading) for reading in late):
            return self._walk_again(limits, memory)
        changed = False
        for reading in late:
            again = read_candidate(reading.candidate, self.walk.root, limits, memory)
            if again.outcome == reading.outcome:
                again = replace(again, outcome=reading.outcome)
            else:
                changed = True
            self.readings[reading.candidate.file] = again
        return changed

    def stamps(self) -> Iterator[tuple[str, Stamp | None]]:
        """Everything that was looked at; while that is as it was, there is nothing to refresh."""
        yield from self.walk.folders.items()
        for file, reading in self.readings.items():
            yield file, reading.stamp

    def is_unsettled(self) -> bool:
        """Tell whether something was too fresh to be sure that it stays."""
        return any(stamp is None for stamp in self.walk.folders.values()) or any(
            reading.stamp is None for reading in self.readings.values()
        )

    def _walk_again(self, limits: SkillLimits, memory: MemoryPlaces) -> bool:
        walk = walk_root(self.walk.root, limits)
        readings = _read_all(walk, limits, memory, self.readings)
        changed = walk.problems != self.walk.problems or _outcomes(readings) != _outcomes(self.readings)
        self.walk, self.readings = walk, readings
        return changed

    def found(self, limits: SkillLimits) -> list[Skill | Refused]:
        """List what the root offers, at most as many skills as one source may load."""
        outcomes = [_plugin_checked(reading) for reading in self.readings.values()]
        skills = [outcome for outcome in outcomes if isinstance(outcome, Skill)]
        most = limits.max_skills_loaded_per_source
        if len(skills) <= most:
            return outcomes
        kept = {skill.file for skill in sorted(skills, key=lambda skill: name_key(skill.name))[:most]}
        reason = f"is one too many: skills.limits.maxSkillsLoadedPerSource takes the first {most} of a folder by name"
        return [
            one if isinstance(one, Refused) or one.file in kept else _refused(one, Why.TOO_MANY, reason)
            for one in outcomes
        ]

    def problems(self) -> list[SkillProblem]:
        """List what a person should know, one sentence for each file and folder."""
        skills = [reading.outcome for reading in self.readings.values() if isinstance(reading.outcome, Skill)]
        return [
            *self.walk.problems,
            *(
                SkillProblem(skill.file, f"{skill.file}: {'; '.join(skill.problems)}.")
                for skill in skills
                if skill.problems
            ),
        ]


def read_root(root: SkillRoot, limits: SkillLimits, memory: MemoryPlaces) -> RootState:
    """Walk one root and read its skills, save for those whose file is the workspace's memory."""
    walk = walk_root(root, limits)
    return RootState(walk, _read_all(walk, limits, memory, {}))


def _read_all(
    walk: Walk, limits: SkillLimits, memory: MemoryPlaces, earlier: Mapping[str, Reading]
) -> dict[str, Reading]:
    readings: dict[str, Reading] = {}
    for candidate in walk.candidates:
        known = earlier.get(candidate.file)
        if known is None or known.candidate != candidate or not _is_current(known):
            known = read_candidate(candidate, walk.root, limits, memory)
        readings[candidate.file] = known
    return readings


def read_candidate(candidate: Candidate, root: SkillRoot, limits: SkillLimits, memory: MemoryPlaces) -> Reading:
    """Read one folder's SKILL.md, unless it is refused."""
    stamp = disk.trusted_stamp(candidate.file)
    plugin = "" if candidate.plugin is None else candidate.plugin.id

    def refused(why: Why, reason: str) -> Reading:
        name, file = shown(name_of(candidate)), shown(candidate.file)
        return Reading(candidate, stamp, Refused(name, file, root.source, why, shown(reason), plugin))

    if candidate.refusal or not is_plain(candidate.file):
        return refused(Why.UNSAFE, candidate.refusal or _ODD_PATH)
    path = disk.real_path(candidate.file) if candidate.is_link else candidate.file
    # Everybody who talks with the agent is told of its skills, and the memory is the owner's.
    if memory.kind(path if candidate.is_link else f"{candidate.real}/{SKILL_FILE}") is not None:
        return refused(Why.MEMORY, _IS_MEMORY)
    try:
        raw = disk.read_guarded(path, at_most=limits.max_skill_file_bytes, hard_links=root.source in HARD_LINKS_ALLOWED)
    except GuardError as error:
        return refused(error.why, error.reason)
    from harness.skills.parse import parse_skill  # many workspaces have no skill

    return Reading(candidate, stamp, parse_skill(raw, file=candidate.file, source=root.source, plugin=plugin))


def _is_current(reading: Reading) -> bool:
    return reading.stamp is not None and disk.stamp_of(reading.candidate.file) == reading.stamp


def _needs_walk(reading: Reading) -> bool:
    """Tell whether a changed file must pass the checks of links again.

    It is or was a link, it is gone, or some folder on its way leads elsewhere now. What was refused is a link, too.
    """
    candidate = reading.candidate
    mode = disk.skill_file_mode(candidate.folder)
    if candidate.is_link or mode is None or stat.S_ISLNK(mode):
        return True
    return disk.real_path(candidate.folder) != candidate.real


def _plugin_checked(reading: Reading) -> Skill | Refused:
    plugin, outcome = reading.candidate.plugin, reading.outcome
    if plugin is None or plugin.enabled or isinstance(outcome, Refused):
        return outcome
    return _refused(outcome, Why.PLUGIN_OFF, f"belongs to the plugin {plugin.id}, which is not enabled")


def _refused(skill: Skill, why: Why, reason: str) -> Refused:
    return Refused(skill.name, skill.file, skill.source, why, reason, skill.plugin)


def _outcomes(readings: Mapping[str, Reading]) -> Iterable[Skill | Refused]:
    return [reading.outcome for reading in readings.values()]
