"""The skill files of one workspace, read again only where they changed.

Holds what is known of every root. Says nothing about who may use which skill.
"""

from harness.settings.skills import SkillLimits, SkillPlaces
from harness.skills import disk
from harness.skills.discovery import Walk
from harness.skills.reading import RootState, read_root
from harness.skills.roots import skill_roots
from harness.skills.values import Refused, Skill, SkillProblem


class SkillFiles:
    """Everything found in the roots of some places. Not safe for use from several threads at a time."""

    def __init__(self, places: SkillPlaces, limits: SkillLimits) -> None:
        """Prepare; nothing is read yet."""
        self.places = places
        self.limits = limits
        self.is_read = False
        self._states: list[RootState] = []

    def configure(self, places: SkillPlaces, limits: SkillLimits) -> None:
        """Take over other places and limits; a root that stays the same is not read again."""
        known = {state.walk.root: state for state in self._states} if limits == self.limits else {}
        self.places, self.limits = places, limits
        if self.is_read:
            self._states = [known.get(root) or read_root(root, limits) for root in skill_roots(places)]

    def refresh(self) -> bool:
        """Look at the disk and tell whether any skill, refusal or problem changed."""
        if not self.is_read:
            self._states = [read_root(root, self.limits) for root in skill_roots(self.places)]
            self.is_read = True
            return True
        changes = [state.refresh(self.limits) for state in self._states]
        return any(changes)

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

    def outside(self) -> frozenset[str]:
        """Return the folders that are reached through links out of a root."""
        return frozenset(
            real
            for walk in self._walks()
            for real in (*walk.visited, *(one.real for one in walk.candidates if not one.refusal))
            if not disk.is_inside(real, walk.real)
        )

    def knows_folder(self, path: str) -> bool:
        """Tell whether `path` is a folder in which skills were looked for, or holds one that was."""
        return any(
            disk.is_inside(known, path)
            for walk in self._walks()
            for known in (*walk.folders, *(one.folder for one in walk.candidates))
        )

    def _walks(self) -> list[Walk]:
        return [state.walk for state in self._states]
