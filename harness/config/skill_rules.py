"""Which skills an agent may have, as the configuration and the machine say.

Pure. Which plugins are installed, which machines are connected and what a curator archived is not known here: see
`SkillSettings.with_plugins`, and the fields of `SkillRules`.
"""

from pathlib import Path

from harness.config.agent_keys import AgentEntry
from harness.config.levels import filled
from harness.config.read import Config
from harness.config.surroundings import Surroundings
from harness.settings.skills import (
    PLUGIN_LINKS_FOLDER,
    PLUGINS_FOLDER,
    Host,
    PluginSwitches,
    SkillEntry,
    SkillLimits,
    SkillPlaces,
    SkillRules,
    SkillSettings,
    name_filter,
)


def skills_of(config: Config, entry: AgentEntry, surroundings: Surroundings, workspace: Path) -> SkillSettings:
    """Return which skills an agent may have.

    The agent's own list counts whole, an empty one and null included; lists are never merged (prompt-builder 8.5).
    """
    values = config.values
    allowed = entry.skills if "skills" in entry.model_fields_set else values.agents.defaults.skills
    settings = SkillSettings(
        places=_places(config, surroundings, workspace),
        rules=_rules(config, surroundings),
        limits=filled(SkillLimits(), entry.skills_limits, values.skills.limits),
        allow=name_filter(allowed),
        homes=tuple(dict.fromkeys((str(surroundings.gateway_home), str(surroundings.home)))),
        plugins=_switches(config),
        plugin_folders=(str(surroundings.state_dir / PLUGINS_FOLDER), *_paths(values.plugins.load.paths, surroundings)),
    )
    return filled(settings, values.skills.load)


def _switches(config: Config) -> PluginSwitches:
    written = config.values.plugins
    return PluginSwitches(
        on=written.enabled is not False,
        only=name_filter(written.allow),
        never=name_filter(written.deny) or frozenset(),
        single={name: plugin.enabled for name, plugin in written.entries.items() if plugin.enabled is not None},
    )


def _places(config: Config, surroundings: Surroundings, workspace: Path) -> SkillPlaces:
    load, bundled = config.values.skills.load, surroundings.bundled_skills_dir
    return SkillPlaces(
        workspace=str(workspace),
        home=str(surroundings.home),
        config_dir=str(surroundings.state_dir),
        bundled=None if bundled is None else str(bundled),
        extra_dirs=_paths(load.extra_dirs, surroundings),
        plugin_links=str(surroundings.state_dir / PLUGIN_LINKS_FOLDER),
        allow_symlink_targets=_paths(load.allow_symlink_targets, surroundings),
    )


def _rules(config: Config, surroundings: Surroundings) -> SkillRules:
    written = config.values.skills
    return SkillRules(
        host=Host(surroundings.platform, surroundings.environment),
        entries={
            key: SkillEntry(enabled=skill.enabled, api_key=skill.api_key or "", env=skill.env)
            for key, skill in written.entries.items()
        },
        allow_bundled=name_filter(written.allow_bundled) or frozenset(),
        config=config.effective,
    )


def _paths(texts: tuple[str, ...], surroundings: Surroundings) -> tuple[str, ...]:
    return tuple(str(surroundings.path(text)) for text in texts if text.strip())
