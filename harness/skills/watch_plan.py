"""Which folders a watch of skills must hear from, and which of the changes there matter.

Looks at the disk through `disk`. Of each folder only its own entries are watched: what lies below a folder that was
not searched, such as a whole `node_modules`, costs no watch.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from harness.skills import disk
from harness.skills.discovery import SKIPPED
from harness.skills.library import SkillLibrary
from harness.skills.shown import is_plain
from harness.skills.values import SKILL_FILE

if TYPE_CHECKING:
    from watchfiles import Change


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """The folders to watch."""

    searched: frozenset[str]
    """Real paths of the folders in which skills were looked for."""
    skills: frozenset[str]
    """Real paths of the folders that offer a skill, or hold a file to which a SKILL.md is a link."""
    files: frozenset[str]
    """Real paths of those linked files."""
    above: frozenset[str]
    """Real paths of the nearest folders above the roots, where a root appears or goes."""
    roots: frozenset[str]
    """The roots, whether they exist or not, as paths below those of `above`."""
    commands: frozenset[str]
    """The folders of PATH, as long as some skill asks for a command."""

    def concerns_skills(self, change: "Change", path: str) -> bool:
        """Tell whether a change can matter: to a SKILL.md, or to a folder that holds one or may get one."""
        if path in self.searched or path in self.skills or path in self.files:
            return True
        folder, _, name = path.rpartition("/")
        if name == SKILL_FILE:
            return True
        if folder not in self.searched or name.startswith(".") or name == SKIPPED:
            return False
        return change.name == "deleted" or (change.name == "added" and disk.is_folder(path))

    def concerns_roots(self, path: str) -> bool:
        """Tell whether a root, or a folder on the way to one, may have come or gone."""
        return any(disk.is_inside(root, path) for root in self.roots)

    def concerns_commands(self, path: str) -> bool:
        """Tell whether a command may have come or gone."""
        return str(PurePath(path).parent) in self.commands


def watch_plan(library: SkillLibrary) -> WatchPlan:
    """Choose the folders to watch; looks at the disk, so a busy event loop calls it in a worker thread."""
    known = library.folders_to_watch()
    beside = {str(PurePath(file).parent) for file in known.linked}
    above: set[str] = set()
    roots: set[str] = set()
    for root in map(PurePath, known.roots):
        nearest = next((parent for parent in root.parents if disk.is_folder(str(parent))), None)
        if nearest is not None:
            real = disk.real_path(str(nearest))
            above.add(real)
            roots.add(str(PurePath(real) / root.relative_to(nearest)))
    return WatchPlan(
        searched=_watchable(known.searched),
        skills=_watchable((known.offered | beside) - known.searched),
        files=known.linked,
        above=_watchable(above),
        roots=frozenset(roots),
        commands=_watchable(known.commands),
    )


def _watchable(folders: Iterable[str]) -> frozenset[str]:
    """Keep the folders that exist; those at a path that is not plain hold nothing that may be used."""
    return frozenset(folder for folder in folders if is_plain(folder) and disk.is_folder(folder))
