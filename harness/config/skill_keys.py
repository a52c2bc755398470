"""Which keys stand under `skills`.

Pure. None means "not written"; the built-in numbers are those of `harness.settings.skills`.
"""

from typing import Annotated

from pydantic import Field

from harness.config.section import Opaque, Section, Texts, Whole

Count = Annotated[Whole, Field(ge=0)]


class SkillLimits(Section):
    """`skills.limits`."""

    max_candidates_per_root: Count | None = None
    max_skills_loaded_per_source: Count | None = None
    max_skills_in_prompt: Count | None = None
    max_skills_prompt_chars: Count | None = None
    max_skill_file_bytes: Count | None = None


class SkillLoad(Section):
    """`skills.load`: where skills are looked for, and whether edits are noticed."""

    extra_dirs: Texts = ()
    allow_symlink_targets: Texts = ()
    watch: bool | None = None
    watch_debounce_ms: Count | None = None


class SkillEntry(Section):
    """`skills.entries.<key>`: the settings of one skill."""

    enabled: bool | None = None
    api_key: str | Opaque | None = None
    """A key, or a reference to a secret store."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    config: Opaque = Field(default_factory=dict[str, object])


class Skills(Section):
    """`skills`."""

    allow_bundled: Texts | None = None
    entries: dict[str, SkillEntry] = Field(default_factory=dict[str, SkillEntry])
    limits: SkillLimits = SkillLimits.model_construct()
    load: SkillLoad = SkillLoad.model_construct()
