"""What each agent of one workspace is told about skills, kept up to date.

Ties the parts together: files, judgement, lists. While a watcher runs, a turn costs no call of the operating
system; without one, it costs one for each skill and folder.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from harness.lean_values import dataclass
from harness.settings.skills import SkillLimits, SkillPlaces, SkillRules
from harness.skills import disk
from harness.skills.catalogue import ListingOptions, SkillCatalogue
from harness.skills.files import SkillFiles
from harness.skills.judged import Judged, KeptJudgements, judge_found
from harness.skills.judging import allowed, for_agent
from harness.skills.snapshot import SkillSnapshot, SkillVersions, is_outdated, take_snapshot
from harness.skills.values import Skill, SkillProblem, SkillVerdict


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
    """Whether they exist or not."""
    searched: frozenset[str]
    """Real paths of the folders whose entries decide what is found."""
    offered: frozenset[str]
    """Real paths of the folders that offer a skill."""
    linked: frozenset[str]
    """Real paths of the files to which a SKILL.md is a link."""
    commands: tuple[str, ...]
    """The folders of PATH, as long as some skill asks for a command."""


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
            versions: Shared by the libraries of a process, so that a change of the configuration counts for all. Rules
                that differ make no new version by themselves, as each agent may have its own.
            clock: Seconds since 1970, for the versions.
        """
        self._files = SkillFiles(places, limits or SkillLimits())
        self._versions = versions or SkillVersions()
        self._clock = clock
        self._lock = threading.RLock()
        self._judged = KeptJudgements()
        self._watchers = 0
        self._is_dirty = True
        self._command_changes = 0
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
            if self._files.configure(places, limits or self._files.limits):
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
        self._command_changes += 1

    @contextmanager
    def watched(self, *, command_folders: frozenset[str] = frozenset()) -> Generator[None]:
        """Trust that every change is told while the block lasts, instead of looking for it.

        Args:
            command_folders: The folders of PATH of which `mark_commands_changed` will tell; the others are looked at.
        """
        self._watchers += 1
        self._told_folders = command_folders
        self._is_dirty = True
        self.mark_commands_changed()
        try:
            yield
        finally:
            self._watchers -= 1
            self._told_folders = frozenset()

    def folders_to_watch(self) -> FoldersToWatch:
        """Return what a watcher must watch."""
        with self._lock:
            files = self._files
            commands = dict.fromkeys(folder for judged in self._judged for folder, _ in judged.path_stamps)
            return FoldersToWatch(
                files.root_paths(),
                files.searched_folders(),
                files.offered_folders(),
                files.linked_files(),
                tuple(commands),
            )

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
            return self._judge(rules).catalogue(options)

    def eligible(self, rules: SkillRules, allow: frozenset[str] | None = None) -> tuple[Skill, ...]:
        """Return the skills that an agent may use, those kept from the model included."""
        if allow is not None and not allow:
            return ()
        with self._lock:
            return allowed(self._judge(rules).judgement.eligible, allow)

    def snapshot(
        self, rules: SkillRules, options: ListingOptions, previous: SkillSnapshot | None = None
    ) -> SkillSnapshot:
        """Return what a session should be told: `previous` itself while it is up to date, else a new snapshot."""
        with self._lock:
            catalogue = self.catalogue(rules, options)
            skills = self.eligible(rules, options.allow)
            if (
                previous is None
                or is_outdated(previous, current=self.version, allow=options.allow)
                # Other rules make no new version, and may leave the text as it is.
                or (previous.prompt, previous.resolved_skills) != (catalogue.text, skills)
            ):
                return take_snapshot(catalogue, skills, allow=options.allow, version=self.version)
            return previous

    def survey(self, rules: SkillRules, options: ListingOptions) -> SkillSurvey:
        """Return a verdict on everything found, with what is wrong in the files."""
        with self._lock:
            catalogue = self.catalogue(rules, options)
            verdicts = for_agent(self._judge(rules).judgement, options.allow, frozenset(catalogue.dropped))
            return SkillSurvey(verdicts, self._files.problems(), catalogue)

    def _judge(self, rules: SkillRules) -> Judged:
        self.refresh()
        # Counted before looking, so that a change during the look counts as another one.
        told = self._command_changes
        known = self._judged.get(rules)
        if known is not None and self._is_current(known, told):
            return known
        made = judge_found(self._files.found(), rules, known)
        if known is not None and known.version == self.version and known.judgement != made.judgement:
            self.bump()
        made.version, made.looked = self.version, told
        self._judged.put(made)
        return made

    def _is_current(self, judged: Judged, told: int) -> bool:
        if judged.version != self.version:
            return False
        trusted = self._told_folders if judged.looked == told else frozenset[str]()
        judged.looked = told
        return not disk.changed_paths(pair for pair in judged.path_stamps if pair[0] not in trusted)
