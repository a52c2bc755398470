"""Skills: found, checked, and listed for the model within a budget."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.settings.skills import (
        Host,
        PluginSkills,
        RemoteNode,
        SkillEntry,
        SkillLimits,
        SkillPlaces,
        SkillRules,
        SkillSettings,
        SkillSource,
    )
    from harness.skills.catalogue import CatalogueEntry, ListingOptions, SkillCatalogue, Tier, build_catalogue
    from harness.skills.disk import home_spellings
    from harness.skills.environment import SkillEnvironment, skill_environment
    from harness.skills.layer import skills_layer
    from harness.skills.library import SkillLibrary, SkillSurvey
    from harness.skills.listing import listing_options
    from harness.skills.locations import PathNaming
    from harness.skills.roots import Guard, SkillRoot, skill_roots
    from harness.skills.snapshot import (
        SkillNeed,
        SkillSnapshot,
        SkillVersions,
        is_outdated,
        take_snapshot,
    )
    from harness.skills.values import (
        InstallStep,
        Skill,
        SkillCommand,
        SkillGates,
        SkillProblem,
        SkillVerdict,
        Standing,
        Why,
    )
    from harness.skills.watching import watch_skills
    from harness.skills.wording import Loading, ReadTool, Shell

__all__ = [
    "CatalogueEntry",
    "Guard",
    "Host",
    "InstallStep",
    "ListingOptions",
    "Loading",
    "PathNaming",
    "PluginSkills",
    "ReadTool",
    "RemoteNode",
    "Shell",
    "Skill",
    "SkillCatalogue",
    "SkillCommand",
    "SkillEntry",
    "SkillEnvironment",
    "SkillGates",
    "SkillLibrary",
    "SkillLimits",
    "SkillNeed",
    "SkillPlaces",
    "SkillProblem",
    "SkillRoot",
    "SkillRules",
    "SkillSettings",
    "SkillSnapshot",
    "SkillSource",
    "SkillSurvey",
    "SkillVerdict",
    "SkillVersions",
    "Standing",
    "Tier",
    "Why",
    "build_catalogue",
    "home_spellings",
    "is_outdated",
    "listing_options",
    "skill_environment",
    "skill_roots",
    "skills_layer",
    "take_snapshot",
    "watch_skills",
]

__getattr__ = lazily(
    __name__,
    {
        "CatalogueEntry": "harness.skills.catalogue",
        "Guard": "harness.skills.roots",
        "Host": "harness.settings.skills",
        "InstallStep": "harness.skills.values",
        "ListingOptions": "harness.skills.catalogue",
        "Loading": "harness.skills.wording",
        "PathNaming": "harness.skills.locations",
        "PluginSkills": "harness.settings.skills",
        "ReadTool": "harness.skills.wording",
        "RemoteNode": "harness.settings.skills",
        "Shell": "harness.skills.wording",
        "Skill": "harness.skills.values",
        "SkillCatalogue": "harness.skills.catalogue",
        "SkillCommand": "harness.skills.values",
        "SkillEntry": "harness.settings.skills",
        "SkillEnvironment": "harness.skills.environment",
        "SkillGates": "harness.skills.values",
        "SkillLibrary": "harness.skills.library",
        "SkillLimits": "harness.settings.skills",
        "SkillNeed": "harness.skills.snapshot",
        "SkillPlaces": "harness.settings.skills",
        "SkillProblem": "harness.skills.values",
        "SkillRoot": "harness.skills.roots",
        "SkillRules": "harness.settings.skills",
        "SkillSettings": "harness.settings.skills",
        "SkillSnapshot": "harness.skills.snapshot",
        "SkillSource": "harness.settings.skills",
        "SkillSurvey": "harness.skills.library",
        "SkillVerdict": "harness.skills.values",
        "SkillVersions": "harness.skills.snapshot",
        "Standing": "harness.skills.values",
        "Tier": "harness.skills.catalogue",
        "Why": "harness.skills.values",
        "build_catalogue": "harness.skills.catalogue",
        "home_spellings": "harness.skills.disk",
        "is_outdated": "harness.skills.snapshot",
        "listing_options": "harness.skills.listing",
        "skill_environment": "harness.skills.environment",
        "skill_roots": "harness.skills.roots",
        "skills_layer": "harness.skills.layer",
        "take_snapshot": "harness.skills.snapshot",
        "watch_skills": "harness.skills.watching",
    },
)
