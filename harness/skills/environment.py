"""Which environment variables skills bring to a run.

Pure, except that `EnvironmentLender` changes the mapping that it is given.
"""

import re
from collections.abc import Generator, Iterable, Mapping, MutableMapping
from contextlib import contextmanager
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
    """What to add to the environment of a run."""

    values: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    refused: tuple[str, ...] = ()
    """One sentence for each name that may not or cannot be set."""


def skill_environment(
    skills: Iterable[Skill], entries: Mapping[str, SkillEntry], environment: Mapping[str, str]
) -> SkillEnvironment:
    """Collect `env` and `apiKey` of `skills.entries` for the eligible skills of a run (prompt-builder 8.4).

    What the environment already has stays as it is; of two skills that set one name, the first counts.
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
            elif value and not environment.get(name):
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


class EnvironmentLender:
    """Lends variables to an environment for the length of a run, also when runs overlap."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        self._borrowers: dict[str, int] = {}
        self._before: dict[str, str | None] = {}

    @contextmanager
    def lend(self, values: Mapping[str, str]) -> Generator[None]:
        """Set `values` while the block lasts.

        A name that is set already keeps its value. A name that several runs borrow goes back when the last one ends.
        """
        names = [name for name in values if name in self._borrowers or not self._environment.get(name)]
        for name in names:
            if name not in self._borrowers:
                self._before[name] = self._environment.get(name)
                self._environment[name] = values[name]
            self._borrowers[name] = self._borrowers.get(name, 0) + 1
        try:
            yield
        finally:
            for name in names:
                self._give_back(name)

    def _give_back(self, name: str) -> None:
        self._borrowers[name] -= 1
        if self._borrowers[name]:
            return
        del self._borrowers[name]
        before = self._before.pop(name)
        if before is None:
            self._environment.pop(name, None)
        else:
            self._environment[name] = before
