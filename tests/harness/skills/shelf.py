"""A folder of skills made for one test."""

from dataclasses import dataclass, field
from pathlib import Path

from harness.skills import (
    Host,
    ListingOptions,
    ReadTool,
    Skill,
    SkillGates,
    SkillLibrary,
    SkillLimits,
    SkillPlaces,
    SkillRules,
    SkillSource,
    SkillSurvey,
)

RULES = SkillRules(Host("linux"))
OPTIONS = ListingOptions(ReadTool(), "gateway skills list")


def text_of(name: str, description: str = "Does things", extra: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n\n# {name}\n"


def skill(
    name: str,
    description: str = "Does things",
    *,
    source: SkillSource = SkillSource.WORKSPACE,
    gates: SkillGates | None = None,
    file: str = "",
    key: str = "",
    primary_env: str = "",
) -> Skill:
    path = file or f"/ws/skills/{name}/SKILL.md"
    return Skill(
        name,
        description,
        source,
        path,
        path.removesuffix("/SKILL.md"),
        "sha256:0123456789abcdef",
        gates=gates or SkillGates(),
        key=key or name,
        primary_env=primary_env,
    )


@dataclass
class Shelf:
    base: Path
    now: float = 1_000.0
    limits: SkillLimits = field(default_factory=SkillLimits)

    def __post_init__(self) -> None:
        # The real path, so that what is compared does not depend on links above the test's folder.
        self.base = self.base.resolve()
        self.workspace.mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Path:
        return self.base / "ws"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def skills(self) -> Path:
        return self.workspace / "skills"

    def put(self, folder: str | Path, description: str = "Does things", *, name: str = "", extra: str = "") -> Path:
        """Write a skill below the base folder and return its SKILL.md."""
        file = self.base / folder / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text_of(name or file.parent.name, description, extra), "utf-8")
        return file

    def places(self) -> SkillPlaces:
        return SkillPlaces(str(self.workspace), home=str(self.home), config_dir=str(self.home / ".openclaw"))

    def library(self, places: SkillPlaces | None = None) -> SkillLibrary:
        return SkillLibrary(places or self.places(), limits=self.limits, clock=lambda: self.now)

    def survey(self, places: SkillPlaces | None = None, rules: SkillRules = RULES) -> SkillSurvey:
        return self.library(places).survey(rules, OPTIONS)


def standings(survey: SkillSurvey) -> list[tuple[str, str, str]]:
    """Name, standing and rule of every verdict."""
    return [(one.name, one.standing.value, one.why.value) for one in survey.verdicts]


def names(library: SkillLibrary, rules: SkillRules = RULES, options: ListingOptions = OPTIONS) -> list[str]:
    return [entry.name for entry in library.catalogue(rules, options).entries]
