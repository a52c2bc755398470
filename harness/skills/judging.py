"""Which of the skills that were found are eligible, and why the others are not.

Pure: what was found in, verdicts out.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from harness.lean_values import dataclass
from harness.settings.skills import SkillRules
from harness.skills.order import name_key
from harness.skills.values import Refused, Skill, SkillVerdict, Standing, Why

NOT_ALLOWED: Final = "is not in this agent's list of skills (agents.list[].skills, else agents.defaults.skills)"
NO_ROOM: Final = (
    "does not fit the list; raise skills.limits.maxSkillsPromptChars or maxSkillsInPrompt, "
    "or shorten what the list holds"
)
SHADOWED_BY: Final = "is hidden by the skill of the same name at {file}; rename one of them"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The eligible skills in alphabetical order, and a verdict on everything that was found."""

    eligible: tuple[Skill, ...]
    verdicts: tuple[SkillVerdict, ...]


def judge(
    found: Iterable[Skill | Refused],
    rules: SkillRules,
    bins: frozenset[str],
    *,
    earlier: Judgement | None = None,
) -> Judgement:
    """Merge by name and check requirements.

    Of one name the first counts, eligible or not: a workspace's skill replaces the bundled one even while its own
    requirements are not met.

    Args:
        found: Everything found, highest precedence first.
        rules: The configuration and the machine.
        bins: Which of the commands that skills ask for are on this machine's PATH.
        earlier: A judgement by the same rules and commands; what it says of skills that did not change is taken over.
    """
    known = {} if earlier is None else {verdict.file: verdict for verdict in earlier.verdicts}
    first: dict[str, Skill] = {}
    verdicts: list[SkillVerdict] = []
    for one in found:
        if isinstance(one, Refused):
            verdicts.append(_refusal(one))
        elif (winner := first.setdefault(one.name, one)) is one:
            before = known.get(one.file)
            is_same = before is not None and before.skill is one and before.why is not Why.SHADOWED
            verdicts.append(before if before is not None and is_same else _verdict(one, rules, bins))
        else:
            verdicts.append(_about(one, Standing.OUT, Why.SHADOWED, SHADOWED_BY.format(file=winner.file)))
    verdicts.sort(key=lambda verdict: name_key(verdict.name))
    eligible = tuple(
        verdict.skill for verdict in verdicts if verdict.skill is not None and verdict.standing is not Standing.OUT
    )
    return Judgement(eligible, tuple(verdicts))


def allowed(eligible: Iterable[Skill], names: frozenset[str] | None) -> tuple[Skill, ...]:
    """Keep the skills that the agent may use; None restricts nothing."""
    return tuple(skill for skill in eligible if names is None or skill.name in names)


def is_visible(skill: Skill, rules: SkillRules) -> bool:
    """Tell whether the model may be told of an eligible skill (prompt-builder 8.6)."""
    return skill.model_invocable and skill.name not in rules.hidden


def for_agent(
    judgement: Judgement, names: frozenset[str] | None, no_room: frozenset[str] = frozenset()
) -> tuple[SkillVerdict, ...]:
    """Add what concerns one agent: its allowlist, and the names that its list has no room for."""
    return tuple(_for_agent(verdict, names, no_room) for verdict in judgement.verdicts)


def _for_agent(verdict: SkillVerdict, names: frozenset[str] | None, no_room: frozenset[str]) -> SkillVerdict:
    if verdict.standing is Standing.OUT:
        return verdict
    if names is not None and verdict.name not in names:
        return replace(verdict, standing=Standing.OUT, why=Why.NOT_ALLOWED, reason=NOT_ALLOWED)
    if verdict.standing is Standing.IN and verdict.name in no_room:
        return replace(verdict, standing=Standing.OUT, why=Why.NO_ROOM, reason=NO_ROOM)
    return verdict


def _verdict(skill: Skill, rules: SkillRules, bins: frozenset[str]) -> SkillVerdict:
    if skill.name in rules.archived:
        return _about(skill, Standing.OUT, Why.ARCHIVED, "was archived by the curator")
    from harness.skills.eligibility import rule  # many workspaces have no skill

    ruling = rule(skill, rules, bins)
    if not ruling.eligible:
        return _about(skill, Standing.OUT, ruling.why, ruling.reason)
    if not is_visible(skill, rules):
        reason = "is kept from the model and can be used as a command"
        return _about(skill, Standing.COMMAND_ONLY, Why.HIDDEN, reason)
    return _about(skill, Standing.IN, ruling.why, ruling.reason)


def _about(skill: Skill, standing: Standing, why: Why, reason: str) -> SkillVerdict:
    return SkillVerdict(skill.name, skill.file, skill.source, standing, why, reason, skill.plugin, skill)


def _refusal(refused: Refused) -> SkillVerdict:
    return SkillVerdict(
        refused.name, refused.file, refused.source, Standing.OUT, refused.why, refused.reason, refused.plugin
    )
