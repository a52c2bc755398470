"""Which environment variables skills bring to the commands of an agent. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.settings.skills import SkillEntry
from harness.skills.values import Skill

DANGEROUS: Final = re.compile(
    r"^(?:PATH|HOME|SHELL|USER|LOGNAME|PWD|IFS|ENV|BASH_ENV|PROMPT_COMMAND|PS4|CDPATH|BASH_FUNC_.*"
    r"|LD_.*|DYLD_.*|PYTHON.*|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|PERL5?(?:LIB|OPT)|RUBY(?:LIB|OPT)"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|GIT_.*|SSH_ASKPASS|SSL_CERT_(?:FILE|DIR)|OPENSSL_.*"
    r"|(?:HTTPS?|ALL|NO)_PROXY|TMPDIR|EDITOR|VISUAL|PAGER|OPENCLAW_.*|CODEX_.*|XDG_.*)$",
    re.IGNORECASE,
)
"""Names that change which programs run, what they load or whom they trust; a skill's settings may not set them."""
_NAME: Final = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


@dataclass(frozen=True, slots=True)
class SkillEnvironment:
    """What to add to the environment of an agent's commands."""

    values: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    refused: tuple[str, ...] = ()
    """One sentence for each name that may not or cannot be set."""


def skill_environment(skills: Iterable[Skill], entries: Mapping[str, SkillEntry]) -> SkillEnvironment:
    """Collect `env` and `apiKey` of `skills.entries` for an agent's eligible skills (prompt-builder 8.4).

    Of two skills that set one name, the first counts.
    """
    values: dict[str, str] = {}
    refused: list[str] = []
    for skill in skills:
        entry = entries.get(skill.key)
        if entry is None:
            continue
        for name, value in _wanted(skill, entry, refused).items():
            if not _NAME.match(name) or DANGEROUS.match(name) or "\0" in value:
                refused.append(
                    f"skills.entries.{skill.key} may not set {name!r}; set it for the gateway itself if it is meant."
                )
            elif value:
                values.setdefault(name, value)
    return SkillEnvironment(values, tuple(refused))


def _wanted(skill: Skill, entry: SkillEntry, refused: list[str]) -> dict[str, str]:
    wanted = dict(entry.env)
    if isinstance(entry.api_key, str):
        if entry.api_key and skill.primary_env:
            wanted.setdefault(skill.primary_env, entry.api_key)
    elif entry.api_key and skill.primary_env and skill.primary_env not in wanted:
        refused.append(
            f"skills.entries.{skill.key}.apiKey is a reference that nobody replaced by its key; "
            f"set {skill.primary_env} in skills.entries.{skill.key}.env or write the key."
        )
    return wanted
