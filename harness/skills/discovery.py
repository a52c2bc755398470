"""Which folders below a root offer a skill, and which of them may not.

Walks the disk through `disk`, reads no file. What was looked at is remembered with stamps, so that a later look can
tell whether to walk again.
"""

import stat
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import PurePath
from typing import Final

from harness.lean_values import dataclass
from harness.settings.skills import PluginSkills, SkillLimits
from harness.skills import disk
from harness.skills.disk import FolderEntry, Stamp
from harness.skills.roots import SKILLS_FOLDER, Guard, SkillRoot
from harness.skills.shown import shown
from harness.skills.values import SKILL_FILE, SkillProblem

RAW_SCAN_FLOOR: Final = 1_000
RAW_SCAN_CEILING: Final = 10_000
RAW_SCAN_FACTOR: Final = 10
"""A folder's entries are looked at up to ten times the candidates allowed, within these bounds."""
SKIPPED: Final = "node_modules"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A folder that offers a skill."""

    folder: str
    real: str
    """Where the folder really is."""
    is_link: bool
    """Whether its SKILL.md is a link."""
    plugin: PluginSkills | None = None
    refusal: str = ""
    """Why it may not be read, a clause for a person; empty when it may."""

    @property
    def file(self) -> str:
        """Path of the SKILL.md."""
        return f"{self.folder}/{SKILL_FILE}"


@dataclass(slots=True)
class Walk:
    """What one walk over a root found."""

    root: SkillRoot
    real: str = ""
    """Where the root really is."""
    candidates: list[Candidate] = field(default_factory=list[Candidate])
    folders: dict[str, Stamp | None] = field(default_factory=dict[str, Stamp | None])
    """The folders that were listed; when one of them changes, the walk is out of date."""
    problems: list[SkillProblem] = field(default_factory=list[SkillProblem])
    visited: set[str] = field(default_factory=set[str])
    """Where the listed folders really are."""

    def is_current(self) -> bool:
        """Tell whether every folder is as it was."""
        return not disk.changed_paths(self.folders.items())


def walk_root(root: SkillRoot, limits: SkillLimits) -> Walk:
    """Find the skills of one root."""
    walk = Walk(root)
    walk.folders[root.path] = disk.trusted_stamp(root.path)
    if walk.folders[root.path] == disk.IMPOSSIBLE:
        path = shown(root.path)
        text = f"{path} cannot be a folder: it holds a character that no path can have; correct the configuration."
        walk.problems.append(SkillProblem(path, text))
    elif disk.is_folder(root.path):
        _Walker(walk, limits).run()
    return walk


class _Walker:
    def __init__(self, walk: Walk, limits: SkillLimits) -> None:
        self._walk = walk
        self._root = walk.root
        self._limit = limits.max_candidates_per_root
        self._scan_limit = min(max(self._limit * RAW_SCAN_FACTOR, RAW_SCAN_FLOOR), RAW_SCAN_CEILING)
        self._visited = walk.visited
        self._full = False

    def run(self) -> None:
        root, walk = self._root, self._walk
        walk.real = disk.real_path(root.path)
        if root.within and not self._may_lead_to(walk.real, disk.real_path(root.within)):
            self._tell(
                root.path,
                f"leads to {walk.real}, outside of the workspace, and is not read; "
                "list that folder in skills.load.allowSymlinkTargets if it is meant.",
            )
            return
        path = root.path
        if root.guard is not Guard.PLUGIN_LINK:
            if self._offer(root.path, walk.real):
                return
            path = self._true_path()
        self._descend(path, walk.real, root.depth(path))

    def _true_path(self) -> str:
        """Return the `skills` folder inside of the root when it is the one that holds the skills."""
        walk, path = self._walk, self._root.path
        nested = f"{path}/{SKILLS_FOLDER}"
        if not disk.holds_skills(nested):
            return path
        real = disk.real_path(nested)
        if not self._may_lead_to(real, walk.real):
            return path
        if disk.holds_skills(path):
            self._tell(path, f"has skills beside its folder {SKILLS_FOLDER}, which are not read; move them into it.")
        walk.real = real
        return nested

    def _descend(self, folder: str, real: str, depth: int) -> None:
        if depth < 1 or real in self._visited or self._full:
            return
        if len(self._visited) >= self._scan_limit:
            self._full = True
            self._tell(self._root.path, f"has more than {self._scan_limit} folders; the rest is not searched.")
            return
        self._visited.add(real)
        self._walk.folders[folder] = disk.trusted_stamp(folder)
        for entry in self._entries(folder):
            self._visit(entry, f"{folder}/{entry.name}", f"{real}/{entry.name}", depth)

    def _visit(self, entry: FolderEntry, path: str, real: str, depth: int) -> None:
        if self._root.guard is Guard.PLUGIN_LINK:
            self._visit_plugin_link(entry, path)
            return
        if entry.is_link:
            real = disk.real_path(path)
            if not disk.is_folder(real):
                return
            if self._root.guard is not Guard.OWN_FOLDER and not self._may_lead_to(real, self._walk.real):
                self._refuse(path, real, self._outside(real))
                return
        if not self._offer(path, real):
            self._descend(path, real, depth - 1)

    def _visit_plugin_link(self, entry: FolderEntry, path: str) -> None:
        real = disk.real_path(path)
        mode = disk.skill_file_mode(real)
        plugin = next((one for one in self._root.plugins if disk.is_inside(real, disk.real_path(one.root))), None)
        if not entry.is_link:
            self._refuse(path, real, "is not a link, and this folder holds only links to skills of plugins")
        elif plugin is None:
            self._refuse(path, real, f"links to {real}, which belongs to no known plugin")
        elif mode is None or not stat.S_ISREG(mode):
            self._refuse(path, real, f"links to {real}, which has no regular {SKILL_FILE}", plugin)
        else:
            self._add(Candidate(path, real, is_link=False, plugin=plugin))

    def _offer(self, folder: str, real: str) -> bool:
        """Add `folder` when it has a SKILL.md; such a folder is not descended further."""
        mode = disk.skill_file_mode(folder)
        if mode is None:
            return False
        candidate = Candidate(folder, real, is_link=stat.S_ISLNK(mode), plugin=self._root.plugin)
        if candidate.is_link:
            target = disk.real_path(candidate.file)
            home = real if self._root.guard is Guard.OWN_FOLDER else self._walk.real
            if not self._may_lead_to(target, home):
                candidate = replace(candidate, refusal=f"has a {SKILL_FILE} that {self._outside(target)}")
        if self._root.guard is Guard.OWN_FOLDER:
            candidate = replace(candidate, folder=real)
        self._add(candidate)
        return True

    def _refuse(self, folder: str, real: str, reason: str, plugin: PluginSkills | None = None) -> None:
        self._add(Candidate(folder, real, is_link=True, plugin=plugin or self._root.plugin, refusal=reason))

    def _outside(self, target: str) -> str:
        if self._root.guard is Guard.ROOT_OR_TRUSTED:
            fix = "list the folder it leads to in skills.load.allowSymlinkTargets if it is meant"
        else:
            fix = "put a copy there"
        return f"links to {target}, outside of its skills folder; {fix}"

    def _may_lead_to(self, target: str, home: str) -> bool:
        return disk.is_inside(target, home) or any(
            disk.is_inside(target, disk.real_path(trusted)) for trusted in self._root.trusted
        )

    def _add(self, candidate: Candidate) -> None:
        if self._full:
            return
        if len(self._walk.candidates) >= self._limit:
            self._full = True
            self._tell_limit(self._root.path)
            return
        self._walk.candidates.append(candidate)

    def _entries(self, folder: str) -> Iterator[FolderEntry]:
        """List a folder's possible skills, at most as many as a root may have candidates."""
        try:
            entries, is_cut = disk.subfolders(folder, self._scan_limit)
        except OSError as error:
            self._tell(folder, f"cannot be listed ({error.strerror or error}); check its permissions.")
            return
        entries = [entry for entry in entries if not entry.name.startswith(".") and entry.name != SKIPPED]
        if is_cut:
            self._tell(folder, f"has more than {self._scan_limit} entries; only so many are looked at.")
        if len(entries) > self._limit:
            self._tell_limit(folder)
        yield from entries[: self._limit]

    def _tell_limit(self, folder: str) -> None:
        text = (
            f"offers more than {self._limit} folders; the first by name are read, "
            "and skills.limits.maxCandidatesPerRoot sets how many."
        )
        self._tell(folder, text)

    def _tell(self, path: str, text: str) -> None:
        problem = SkillProblem(shown(path), shown(f"{path} {text}"))
        if problem not in self._walk.problems:
            self._walk.problems.append(problem)


def name_of(candidate: Candidate) -> str:
    """Return the name by which a folder is spoken of while its file was not read."""
    return PurePath(candidate.folder).name
