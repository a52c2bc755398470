"""What each agent of one workspace is told about skills, kept up to date.

Ties the parts together: files, judgement, lists. While a watcher runs, a turn costs no call of the operating
system; without one, it costs one for each skill and folder.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from harness.settings.skills import SkillLimits, SkillPlaces, SkillRules
from harness.skills import disk
from harness.skills.catalogue import ListingOptions, SkillCatalogue, build_catalogue
from harness.skills.disk import Stamp
from harness.skills.files import SkillFiles
from harness.skills.judging import Judgement, allowed, for_agent, is_visible, judge
from harness.skills.snapshot import SkillSnapshot, SkillVersions, is_outdated, take_snapshot
from harness.skills.values import Refused, Skill, SkillProblem, SkillVerdict

KEPT_LISTS: Final = 64
"""Lists kept at a time: agents times backends of one workspace."""


@dataclass(frozen=True, slots=True)
class SkillSurvey:
    """Everything that `skills list` shows."""

    verdicts: tuple[SkillVerdict, ...]
    problems: tuple[SkillProblem, ...]
    catalogue: SkillCatalogue


@dataclass(frozen=True, slots=True)
class FoldersToWatch:
    """What a watcher must know of a library."""

    roots: tuple[str, ...]
    outside: frozenset[str]
    """Folders that are reached through links out of a root."""
    commands: tuple[str, ...]
    """The folders of PATH, as long as some skill asks for a command."""


@dataclass(frozen=True, slots=True)
class _Judged:
    version: int
    rules: SkillRules
    bins: frozenset[str]
    judgement: Judgement
    path_stamps: tuple[tuple[str, Stamp], ...]


class SkillLibrary:
    """The skills of one workspace.

    Safe to use from several threads. Reading is synchronous; a first look at 200 skills takes some 30 ms of CPU, so
    a busy event loop makes it in a worker thread.
    """

    def __init__(
        self,
        places: SkillPlaces,
        *,
        limits: SkillLimits | None = None,
        versions: SkillVersions | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            places: Where to look.
            limits: How much to read.
            versions: Shared by the libraries of a process, so that a change of the configuration counts for all.
            clock: Seconds since 1970, for the versions.
        """
        self._files = SkillFiles(places, limits or SkillLimits())
        self._versions = versions or SkillVersions()
        self._clock = clock
        self._lock = threading.RLock()
        self._judged: _Judged | None = None
        self._lists: dict[ListingOptions, SkillCatalogue] = {}
        self._watchers = 0
        self._is_dirty = True
        self._commands_changed = True
        self._told_folders: frozenset[str] = frozenset()

    @property
    def version(self) -> int:
        """The workspace's version in milliseconds; 0 until something changed."""
        return self._versions.current(self._files.places.workspace)

    @property
    def is_watched(self) -> bool:
        """Whether a watcher tells of changes."""
        return self._watchers > 0

    def configure(self, places: SkillPlaces, *, limits: SkillLimits | None = None) -> None:
        """Take over changed configuration; what did not change is not read again."""
        with self._lock:
            chosen = limits or self._files.limits
            if (places, chosen) != (self._files.places, self._files.limits):
                self._files.configure(places, chosen)
                self.bump()

    def bump(self) -> None:
        """Make every kept list out of date, whatever the reason."""
        with self._lock:
            self._versions.bump(int(self._clock() * 1000), workspace=self._files.places.workspace)

    def mark_changed(self) -> None:
        """Note that files changed; the next use looks at the disk."""
        self._is_dirty = True

    def mark_commands_changed(self) -> None:
        """Note that a folder of PATH changed; the next use looks again for the commands that skills ask for."""
        self._commands_changed = True

    @contextmanager
    def watched(self, *, command_folders: frozenset[str] = frozenset()) -> Generator[None]:
        """Trust that every change is told while the block lasts, instead of looking for it.

        Args:
            command_folders: The folders of PATH of which `mark_commands_changed` will tell; the others are looked at.
        """
        self._watchers += 1
        self._told_folders = command_folders
        self._is_dirty = self._commands_changed = True
        try:
            yield
        finally:
            self._watchers -= 1
            self._told_folders = frozenset()

    def folders_to_watch(self) -> FoldersToWatch:
        """Return what a watcher must watch."""
        with self._lock:
            stamps = () if self._judged is None else self._judged.path_stamps
            commands = tuple(folder for folder, _ in stamps)
            return FoldersToWatch(self._files.root_paths(), self._files.outside(), commands)

    def knows_folder(self, path: str) -> bool:
        """Tell whether `path` is a folder in which skills were looked for, or holds one that was."""
        with self._lock:
            return self._files.knows_folder(path)

    def refresh(self) -> bool:
        """Look at the disk, if need be, and tell whether any skill changed."""
        with self._lock:
            is_first = not self._files.is_read
            if self._watchers and not self._is_dirty and not is_first:
                return False
            # Lowered before looking, so that a change during the look raises it again.
            self._is_dirty = False
            has_changed = self._files.refresh()
            if has_changed and not is_first:
                self.bump()
            if self._files.is_unsettled():
                self._is_dirty = True
            return has_changed

    def catalogue(self, rules: SkillRules, options: ListingOptions) -> SkillCatalogue:
        """Return the list of one agent; the same value while nothing changed."""
        if options.allow is not None and not options.allow:
            return SkillCatalogue()
        with self._lock:
            judgement = self._judge(rules)
            kept = self._lists.get(options)
            if kept is None:
                visible = [skill for skill in allowed(judgement.eligible, options.allow) if is_visible(skill, rules)]
                kept = build_catalogue(visible, options, platform=rules.host.platform, nodes=rules.nodes)
                if len(self._lists) >= KEPT_LISTS:
                    self._lists.pop(next(iter(self._lists)))
                self._lists[options] = kept
            return kept

    def eligible(self, rules: SkillRules, allow: frozenset[str] | None = None) -> tuple[Skill, ...]:
        """Return the skills that an agent may use, those kept from the model included."""
        if allow is not None and not allow:
            return ()
        with self._lock:
            return allowed(self._judge(rules).eligible, allow)

    def snapshot(
        self, rules: SkillRules, options: ListingOptions, previous: SkillSnapshot | None = None
    ) -> SkillSnapshot:
        """Return what a session should be told: `previous` itself while it is up to date, else a new snapshot."""
        with self._lock:
            catalogue = self.catalogue(rules, options)
            is_stale = previous is None or is_outdated(previous, current=self.version, allow=options.allow)
            if previous is not None and not is_stale and previous.prompt == catalogue.text:
                return previous
            skills = self.eligible(rules, options.allow)
            return take_snapshot(catalogue, skills, allow=options.allow, version=self.version)

    def survey(self, rules: SkillRules, options: ListingOptions) -> SkillSurvey:
        """Return a verdict on everything found, with what is wrong in the files."""
        with self._lock:
            catalogue = self.catalogue(rules, options)
            verdicts = for_agent(self._judge(rules), options.allow, frozenset(catalogue.dropped))
            return SkillSurvey(verdicts, self._files.problems(), catalogue)

    def _judge(self, rules: SkillRules) -> Judgement:
        self.refresh()
        judged = self._judged
        is_same = judged is not None and judged.rules == rules
        if judged is not None and is_same and self._is_current(judged):
            return judged.judgement
        found = self._files.found()
        wanted = _commands(found)
        search_path = rules.host.environment.get("PATH", "") if wanted else ""
        # Stamps before the search, so that what is installed during it is noticed the next time.
        stamps = tuple((folder, disk.stamp_of(folder)) for folder in disk.search_folders(search_path))
        bins = disk.find_commands(wanted, search_path)
        earlier = judged.judgement if judged is not None and is_same and judged.bins == bins else None
        judgement = judge(found, rules, bins, earlier=earlier)
        if judged is not None and judged.version == self.version and (not is_same or judged.judgement != judgement):
            self.bump()
        self._lists.clear()
        self._judged = _Judged(self.version, rules, bins, judgement, stamps)
        return judgement

    def _is_current(self, judged: _Judged) -> bool:
        if judged.version != self.version:
            return False
        told = frozenset[str]() if self._commands_changed else self._told_folders
        self._commands_changed = False
        return not disk.changed_paths(pair for pair in judged.path_stamps if pair[0] not in told)


def _commands(found: Iterable[Skill | Refused]) -> frozenset[str]:
    skills = (one for one in found if isinstance(one, Skill))
    return frozenset(name for skill in skills for name in (*skill.gates.bins, *skill.gates.any_bins))
