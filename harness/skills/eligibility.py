"""Whether a skill's own requirements are met.

Pure: a skill, the rules and the commands that were found in; the deciding rule and a clause out. The checks run in
a fixed order, and the first one that has an answer decides (prompt-builder 8.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.json_value import Json
from harness.settings.skills import SkillEntry, SkillRules, SkillSource
from harness.skills.values import Skill, Why

NO_ENTRY: Final = SkillEntry()
ON_BY_DEFAULT: Final = frozenset({"browser.enabled", "browser.evaluateEnabled"})
"""Configuration paths that count as on while nobody set them."""
FORBIDDEN_SEGMENTS: Final = frozenset({"__proto__", "prototype", "constructor"})
"""Names that no configuration path may pass through."""
PLATFORM_NAMES: Final = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the first deciding check said."""

    eligible: bool
    why: Why
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """One skill before the checks."""

    skill: Skill
    entry: SkillEntry
    rules: SkillRules
    bins: frozenset[str]


def rule(skill: Skill, rules: SkillRules, bins: frozenset[str]) -> Ruling:
    """Decide about one skill.

    Args:
        skill: The skill.
        rules: The configuration and the machine.
        bins: Which of the commands that skills ask for are on this machine's PATH.
    """
    question = Question(skill, rules.entries.get(skill.key, NO_ENTRY), rules, bins)
    for check in CHECKS:
        ruling = check(question)
        if ruling is not None:
            return ruling
    return _UNCLEAR if skill.unclear else _ELIGIBLE


_ELIGIBLE: Final = Ruling(eligible=True, why=Why.ELIGIBLE, reason="meets all its requirements")
_UNCLEAR: Final = Ruling(
    eligible=True, why=Why.ELIGIBLE, reason="is in, but its requirements could not be read: see what is wrong with it"
)
_ALWAYS: Final = Ruling(eligible=True, why=Why.ALWAYS, reason="is marked as always available")


def _out(why: Why, reason: str) -> Ruling:
    return Ruling(eligible=False, why=why, reason=reason)


def _switched_off(question: Question) -> Ruling | None:
    if question.entry.enabled is not False:
        return None
    return _out(Why.DISABLED, f"is switched off by skills.entries.{question.skill.key}.enabled")


def _bundled_not_allowed(question: Question) -> Ruling | None:
    skill, allowed = question.skill, question.rules.allow_bundled
    if not allowed or skill.source is not SkillSource.BUNDLED or skill.key in allowed or skill.name in allowed:
        return None
    return _out(Why.BUNDLED_NOT_ALLOWED, "is bundled and skills.allowBundled does not name it")


def _wrong_platform(question: Question) -> Ruling | None:
    wanted = question.skill.gates.os
    here = question.rules.host.platform
    if not wanted or here in wanted or any(node.platform in wanted for node in question.rules.nodes):
        return None
    names = " or ".join(PLATFORM_NAMES.get(name, name) for name in wanted)
    return _out(Why.OS, f"needs {names}, and this machine is {PLATFORM_NAMES.get(here, here)}")


def _always(question: Question) -> Ruling | None:
    return _ALWAYS if question.skill.gates.always else None


def _missing_bins(question: Question) -> Ruling | None:
    missing = [name for name in question.skill.gates.bins if not _is_available(name, question)]
    return _out(Why.BINS, f"needs {_named('command', missing)} on PATH") if missing else None


def _missing_any_bins(question: Question) -> Ruling | None:
    wanted = question.skill.gates.any_bins
    if not wanted or any(_is_available(name, question) for name in wanted):
        return None
    return _out(Why.ANY_BINS, f"needs one of the commands {', '.join(wanted)} on PATH")


def _missing_env(question: Question) -> Ruling | None:
    missing = [name for name in question.skill.gates.env if not _is_set(name, question)]
    if not missing:
        return None
    key = question.skill.key
    where = f"skills.entries.{key}.env"
    if question.skill.primary_env in missing:
        where += f" or skills.entries.{key}.apiKey"
    return _out(Why.ENV, f"needs {_named('environment variable', missing)}; set it in the environment or in {where}")


def _missing_config(question: Question) -> Ruling | None:
    missing = [path for path in question.skill.gates.config if not is_on(question.rules.config, path)]
    return _out(Why.CONFIG, f"needs {' and '.join(missing)} to be set in the configuration") if missing else None


CHECKS: Final[tuple[Callable[[Question], Ruling | None], ...]] = (
    _switched_off,
    _bundled_not_allowed,
    _wrong_platform,
    _always,
    _missing_bins,
    _missing_any_bins,
    _missing_env,
    _missing_config,
)
"""The checks in their order. `always` stands after the platform on purpose: it cannot change the machine."""


def _is_available(command: str, question: Question) -> bool:
    return command in question.bins or any(command in node.bins for node in question.rules.nodes)


def _is_set(name: str, question: Question) -> bool:
    entry = question.entry
    return bool(
        question.rules.host.environment.get(name)
        or entry.env.get(name)
        or (entry.api_key and question.skill.primary_env == name)
    )


def is_on(config: Mapping[str, Json], path: str) -> bool:
    """Tell whether the dotted `path` of `config` holds something that counts as on."""
    segments = [segment for segment in path.split(".") if segment]
    if not segments or FORBIDDEN_SEGMENTS.intersection(segments):
        return False
    value = config.get(segments[0])
    for segment in segments[1:]:
        value = value.get(segment) if isinstance(value, dict) else None
    if value is None:
        return path in ON_BY_DEFAULT
    return bool(value.strip()) if isinstance(value, str) else isinstance(value, dict | list) or bool(value)


def _named(noun: str, names: Sequence[str]) -> str:
    return f"the {noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"
