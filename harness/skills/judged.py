"""What was made of the skills under each set of rules, kept for as long as it holds.

Looks for commands on PATH through `disk`; reads no skill.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Final

from harness.lean_values import dataclass
from harness.settings.skills import SkillRules
from harness.skills import disk
from harness.skills.catalogue import ListingOptions, SkillCatalogue, build_catalogue
from harness.skills.disk import Stamp
from harness.skills.judging import Judgement, allowed, is_visible, judge
from harness.skills.values import Refused, Skill

KEPT_RULES: Final = 8
"""Sets of rules kept at a time: agents of one workspace that are configured differently."""
KEPT_LISTS: Final = 64
"""Lists kept for each of them: agents times backends."""


@dataclass(slots=True)
class Judged:
    """A judgement, the lists written from it, and what it holds for."""

    rules: SkillRules
    bins: frozenset[str]
    judgement: Judgement
    path_stamps: tuple[tuple[str, Stamp], ...]
    """The folders of PATH, as long as some skill asks for a command."""
    version: int = 0
    """The library's version for which it holds."""
    looked: int = 0
    """How many changes of commands had been told when PATH was last looked at."""
    lists: dict[ListingOptions, SkillCatalogue] = field(default_factory=dict[ListingOptions, SkillCatalogue])

    def catalogue(self, options: ListingOptions) -> SkillCatalogue:
        """Return one agent's list; the same value each time."""
        kept = self.lists.get(options)
        if kept is None:
            rules = self.rules
            skills = allowed(self.judgement.eligible, options.allow)
            visible = [skill for skill in skills if is_visible(skill, rules)]
            kept = build_catalogue(visible, options, platform=rules.host.platform, nodes=rules.nodes)
            if len(self.lists) >= KEPT_LISTS:
                self.lists.pop(next(iter(self.lists)))
            self.lists[options] = kept
        return kept


class KeptJudgements:
    """The judgements of the rules that were used last. Not safe for use from several threads at a time."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: list[Judged] = []

    def __iter__(self) -> Iterator[Judged]:
        return iter(self._kept)

    def get(self, rules: SkillRules) -> Judged | None:
        """Return what was last made under equal rules, current or not."""
        return next((one for one in self._kept if one.rules is rules or one.rules == rules), None)

    def put(self, judged: Judged) -> None:
        """Keep `judged` in place of what was made under the same rules; the one made longest ago gives way."""
        others = [one for one in self._kept if one.rules != judged.rules]
        self._kept = [*others, judged][-KEPT_RULES:]


def judge_found(found: Sequence[Skill | Refused], rules: SkillRules, earlier: Judged | None) -> Judged:
    """Judge what was found, with the commands that are on PATH now.

    Args:
        found: Everything found, highest precedence first.
        rules: The configuration and the machine.
        earlier: What was made under the same rules before; verdicts on unchanged skills are taken over.
    """
    wanted = _commands(found)
    search_path = rules.host.environment.get("PATH", "") if wanted else ""
    # Stamps before the search, so that what is installed during it is noticed the next time.
    stamps = tuple((folder, disk.stamp_of(folder)) for folder in disk.search_folders(search_path))
    bins = disk.find_commands(wanted, search_path)
    known = earlier.judgement if earlier is not None and earlier.bins == bins else None
    return Judged(rules, bins, judge(found, rules, bins, earlier=known), stamps)


def _commands(found: Iterable[Skill | Refused]) -> frozenset[str]:
    skills = (one for one in found if isinstance(one, Skill))
    return frozenset(name for skill in skills for name in (*skill.gates.bins, *skill.gates.any_bins))
