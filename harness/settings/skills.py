"""Which skills an agent may have, where they are looked for, and how much of the prompt they may take.

Pure values; nothing here reads a file or the environment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum

from harness.json_value import Json
from harness.lean_values import dataclass


class SkillSource(StrEnum):
    """Where a skill comes from, highest precedence first (prompt-builder 8.1)."""

    WORKSPACE = "openclaw-workspace"
    PROJECT = "agents-skills-project"
    PERSONAL = "agents-skills-personal"
    MANAGED = "openclaw-managed"
    BUNDLED = "openclaw-bundled"
    EXTRA = "openclaw-extra"


PLUGINS_FOLDER = "extensions"
"""The folder of the state directory in which plugins are installed (docs.openclaw.ai, tools/plugin)."""
PLUGIN_LINKS_FOLDER = "plugin-skills"
"""The folder of the state directory that holds links to the skills of plugins (prompt-builder 8.1)."""


def name_filter(names: Iterable[str] | None) -> frozenset[str] | None:
    """Return the names that a list means, blanks dropped; None, no list, stays None and an empty list stays empty."""
    return None if names is None else frozenset(trimmed for name in names if (trimmed := name.strip()))


@dataclass(frozen=True, slots=True)
class SkillLimits:
    """`skills.limits.*`; the defaults are those of prompt-builder 8.2."""

    max_candidates_per_root: int = 300
    max_skills_loaded_per_source: int = 200
    """Counted for each root, so that one extra folder cannot starve another."""
    max_skills_in_prompt: int = 150
    max_skills_prompt_chars: int = 18_000
    """UTF-16 units, notes included."""
    max_skill_file_bytes: int = 256_000


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """`skills.entries.<key>`. Secrets never show in a repr."""

    enabled: bool | None = None
    api_key: str | Mapping[str, object] = field(default="", repr=False)
    """A key, or a reference to a secret store, which whoever runs the gateway replaces by the key."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that runs the agent."""

    platform: str
    """darwin, linux or win32, as `sys.platform` says it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The process environment; its PATH is where commands are looked for."""


@dataclass(frozen=True, slots=True)
class RemoteNode:
    """Another machine that is connected and can run commands."""

    name: str
    platform: str
    bins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SkillRules:
    """Everything besides the files that decides whether a skill is eligible."""

    host: Host
    entries: Mapping[str, SkillEntry] = field(default_factory=dict[str, SkillEntry])
    allow_bundled: frozenset[str] = frozenset()
    """`skills.allowBundled`: keys or names; empty allows every bundled skill."""
    archived: frozenset[str] = frozenset()
    """Names that the curator archived."""
    hidden: frozenset[str] = frozenset()
    """Names that the gateway keeps from the model, like `disable-model-invocation` in the file."""
    config: Mapping[str, Json] = field(default_factory=dict[str, Json], repr=False)
    """The whole configuration as raw JSON, for `requires.config`."""
    nodes: tuple[RemoteNode, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginSkills:
    """The skill folders that one plugin brings."""

    id: str
    root: str
    """The plugin's own folder; links of the generated plugin folder must lead into it."""
    dirs: tuple[str, ...] = ()
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class SkillPlaces:
    """Where to look for skills. Absolute paths; None leaves a place out."""

    workspace: str
    home: str | None = None
    config_dir: str | None = None
    """The state folder, `~/.openclaw` by default."""
    bundled: str | None = None
    extra_dirs: tuple[str, ...] = ()
    """`skills.load.extraDirs`; `~/` means `home`, and a relative path starts at the workspace."""
    plugins: tuple[PluginSkills, ...] = ()
    plugin_links: str | None = None
    """The generated folder of links to plugin skills."""
    allow_symlink_targets: tuple[str, ...] = ()
    """`skills.load.allowSymlinkTargets`; written like `extra_dirs`."""
    exclude: frozenset[SkillSource] = frozenset()
    """Sources that are not read at all, such as a person's own `~/.agents/skills`."""
    workspace_only: bool = False
    """For sandboxed runs, which see nothing but the workspace's own skills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSwitches:
    """`plugins`: which of the installed ones are on."""

    on: bool = True
    """False: none is."""
    only: frozenset[str] | None = None
    """`plugins.allow`; None for no such list."""
    never: frozenset[str] = frozenset()
    """`plugins.deny`."""
    single: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """`plugins.entries.<id>.enabled`."""

    def is_on(self, plugin: str, default: bool) -> bool:
        """Say whether a plugin is on; one that is not named is left to its own default."""
        if not self.on or plugin in self.never or (self.only is not None and plugin not in self.only):
            return False
        return self.single.get(plugin, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSettings:
    """Everything that the configuration says about the skills of one agent."""

    places: SkillPlaces
    """Without the folders of plugins: see `with_plugins`."""
    rules: SkillRules
    limits: SkillLimits = field(default_factory=SkillLimits)
    """The agent's own `skillsLimits` are laid over the shared ones."""
    allow: frozenset[str] | None = None
    """The names that the agent may use; None: every skill, empty: none at all (prompt-builder 8.5)."""
    homes: tuple[str, ...] = ()
    """The folders that a person may mean by `~`."""
    watch: bool = True
    watch_debounce_ms: int = 250
    plugins: PluginSwitches = field(default_factory=PluginSwitches)
    """Which plugins are on."""
    plugin_folders: tuple[str, ...] = ()
    """Where plugins are installed: each a plugin's own folder, or one that holds plugins."""

    def with_plugins(self, installed: Iterable[PluginSkills]) -> SkillPlaces:
        """Return the places with the folders of the plugins that are there, each switched on or off."""
        switched = (replace(one, enabled=self.plugins.is_on(one.id, one.enabled)) for one in installed)
        return replace(self.places, plugins=tuple(switched))
