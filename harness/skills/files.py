"""The skill files of one workspace, read again only where they changed.

Holds what is known of every root. Says nothing about who may use which skill.
"""

from harness.settings.skills import SkillLimits, SkillPlaces
from harness.skills import disk
from harness.skills.discovery import Walk
from harness.skills.reading import RootState, read_root
from harness.skills.roots import skill_roots
from harness.skills.values import Refused, Skill, SkillProblem
from harness.workspace.memory_files import MemoryPlaces, memory_places
from harness.workspace.names import MEMORY, MEMORY_FOLDER


class SkillFiles:
    """Everything found in the roots of some places. Not safe for use from several threads at a time."""

    def __init__(self, places: SkillPlaces, limits: SkillLimits) -> None:
        """Prepare; nothing is read yet."""
        self.places = places
        self.limits = limits
        self.is_read = False
        self._states: list[RootState] = []
        self._memory: MemoryPlaces | None = None
        """Where the memory was when the skills were read, and what tells whether it still is there."""
        self._memory_stamps: list[tuple[str, disk.Stamp | None]] = []
        self._stamps: list[tuple[str, disk.Stamp | None]] | None = None
        """Of everything that was looked at; None until that is asked for."""

    def configure(self, places: SkillPlaces, limits: SkillLimits) -> bool:
        """Take over other places and limits, and tell whether other skills may be found now.

        A root that stays the same is not read again, unless a limit of reading changed.
        """
        if places == self.places and _bounds(limits) == _bounds(self.limits):
            self.limits = limits
            return False
        known = {state.walk.root: state for state in self._states} if _bounds(limits) == _bounds(self.limits) else {}
        self.places, self.limits = places, limits
        self._stamps = None
        if self.is_read:
            before, memory = self._memory, self._find_memory()
            known = known if memory == before else {}
            self._states = [known.get(root) or read_root(root, limits, memory) for root in skill_roots(places)]
        return True

    def refresh(self) -> bool:
        """Look at the disk and tell whether any skill, refusal or problem changed."""
        if not self.is_read:
            memory = self._find_memory()
            self._states = [read_root(root, self.limits, memory) for root in skill_roots(self.places)]
            self.is_read = True
            return True
        if self._stamps is None:
            self._stamps = [*self._memory_stamps, *(pair for state in self._states for pair in state.stamps())]
        if not disk.has_changed(self._stamps):
            return False
        self._stamps = None
        before, memory = self._memory, self._find_memory()
        if memory != before:
            # What has been read may be the memory now, and the other way about.
            found = self.found(), self.problems()
            self._states = [read_root(state.walk.root, self.limits, memory) for state in self._states]
            return (self.found(), self.problems()) != found
        changes = [state.refresh(self.limits, memory) for state in self._states]
        return any(changes)

    def _find_memory(self) -> MemoryPlaces:
        workspace = self.places.workspace
        # Taken first, so that a change during the look counts as another one.
        self._memory_stamps = [
            (path, disk.stamp_of(path)) for path in (f"{workspace}/{MEMORY}", f"{workspace}/{MEMORY_FOLDER}")
        ]
        self._memory = memory_places(workspace)
        return self._memory

    def is_unsettled(self) -> bool:
        """Tell whether something was so fresh that it may change again without a new time stamp."""
        return any(state.is_unsettled() for state in self._states)

    def found(self) -> list[Skill | Refused]:
        """List everything that offers a skill, highest precedence first."""
        return [one for state in self._states for one in state.found(self.limits)]

    def problems(self) -> tuple[SkillProblem, ...]:
        """List what a person should know, one sentence each."""
        return tuple(problem for state in self._states for problem in state.problems())

    def root_paths(self) -> tuple[str, ...]:
        """Return the roots, whether they exist or not."""
        return tuple(root.path for root in skill_roots(self.places))

    def searched_folders(self) -> frozenset[str]:
        """Return the real paths of the folders whose entries decide what is found."""
        return frozenset(disk.real_path(folder) for walk in self._walks() for folder in walk.folders)

    def offered_folders(self) -> frozenset[str]:
        """Return the real paths of the folders that offer a skill, refused ones included: they may become fit."""
        return frozenset(one.real for walk in self._walks() for one in walk.candidates)

    def linked_files(self) -> frozenset[str]:
        """Return the real paths of the files to which a SKILL.md is a link that may be followed."""
        return frozenset(
            disk.real_path(one.file)
            for walk in self._walks()
            for one in walk.candidates
            if one.is_link and not one.refusal
        )

    def _walks(self) -> list[Walk]:
        return [state.walk for state in self._states]


def _bounds(limits: SkillLimits) -> tuple[int, int, int]:
    """Return the limits that decide what is found; the others concern the prompt, and each agent may have its own."""
    return limits.max_candidates_per_root, limits.max_skills_loaded_per_source, limits.max_skill_file_bytes
