"""Which folders are searched for skills, in which order, and how far each is trusted.

Pure: places in, roots out. Nothing here looks at a disk.
"""

from collections.abc import Iterator
from enum import Enum
from pathlib import PurePath
from typing import Final

from harness.home_paths import at_home
from harness.lean_values import dataclass
from harness.settings.skills import PluginSkills, SkillPlaces, SkillSource

GROUP_DEPTH: Final = 6
EXTRA_DEPTH: Final = 2
"""How many folders deep a skill may lie below its root (prompt-builder 8.2)."""
SKILLS_FOLDER: Final = "skills"


class Guard(Enum):
    """How far a link inside a root may lead."""

    ROOT = "root"
    """Nowhere outside of the root."""
    ROOT_OR_TRUSTED = "root-or-trusted"
    """Outside of the root only into a folder that the operator listed."""
    OWN_FOLDER = "own-folder"
    """A folder may be a link to anywhere; the SKILL.md must lie inside that folder."""
    PLUGIN_LINK = "plugin-link"
    """Every entry must be a link into the folder of a known plugin, and its SKILL.md no link."""


GUARD_OF: Final = {
    SkillSource.WORKSPACE: Guard.ROOT_OR_TRUSTED,
    SkillSource.PROJECT: Guard.ROOT_OR_TRUSTED,
    SkillSource.PERSONAL: Guard.OWN_FOLDER,
    SkillSource.MANAGED: Guard.OWN_FOLDER,
    SkillSource.BUNDLED: Guard.ROOT,
    SkillSource.EXTRA: Guard.ROOT_OR_TRUSTED,
}
"""The link policy of each source (prompt-builder 8.2)."""

HARD_LINKS_ALLOWED: Final = frozenset({SkillSource.BUNDLED})
"""Package installers hard-link what they unpack; anywhere else a second name for a file is a way out of the folder."""


@dataclass(frozen=True, slots=True)
class SkillRoot:
    """One folder to search."""

    path: str
    source: SkillSource
    guard: Guard
    within: str = ""
    """The folder that the root itself must not leave; empty where that does not matter."""
    trusted: tuple[str, ...] = ()
    plugins: tuple[PluginSkills, ...] = ()
    """For `Guard.PLUGIN_LINK`: the plugins that its links may lead to."""
    plugin: PluginSkills | None = None
    """The plugin that owns the root."""
    configured: bool = False
    """True for `extraDirs`, whose search is shallow unless the folder is named `skills`."""

    def depth(self, true_path: str) -> int:
        """Return how many folders deep to search below `true_path`, the folder that turned out to be the root."""
        if self.configured and PurePath(true_path).name != SKILLS_FOLDER:
            return EXTRA_DEPTH
        return GROUP_DEPTH


def skill_roots(places: SkillPlaces) -> tuple[SkillRoot, ...]:
    """List the roots of `places`, highest precedence first (prompt-builder 8.1)."""
    roots = _own_roots(places) if places.workspace_only else _all_roots(places)
    return tuple(root for root in roots if root.source not in places.exclude)


def _all_roots(places: SkillPlaces) -> Iterator[SkillRoot]:
    yield from _own_roots(places)
    yield from _shared_roots(places)
    yield from _extra_roots(places)


def _own_roots(places: SkillPlaces) -> Iterator[SkillRoot]:
    yield _root(places, f"{places.workspace}/skills", SkillSource.WORKSPACE, within=places.workspace)


def _shared_roots(places: SkillPlaces) -> Iterator[SkillRoot]:
    yield _root(places, f"{places.workspace}/.agents/skills", SkillSource.PROJECT, within=places.workspace)
    if places.home is not None:
        yield _root(places, f"{places.home}/.agents/skills", SkillSource.PERSONAL)
    if places.config_dir is not None:
        yield _root(places, f"{places.config_dir}/skills", SkillSource.MANAGED)
    if places.bundled is not None:
        yield _root(places, places.bundled, SkillSource.BUNDLED)


def _extra_roots(places: SkillPlaces) -> Iterator[SkillRoot]:
    for folder in places.extra_dirs:
        yield _root(places, resolve(folder, places), SkillSource.EXTRA, configured=True)
    for plugin in places.plugins:
        for folder in plugin.dirs:
            yield _root(places, folder, SkillSource.EXTRA, plugin=plugin)
    if places.plugin_links is not None:
        yield SkillRoot(places.plugin_links, SkillSource.EXTRA, Guard.PLUGIN_LINK, plugins=places.plugins)


def _root(
    places: SkillPlaces,
    path: str,
    source: SkillSource,
    *,
    within: str = "",
    plugin: PluginSkills | None = None,
    configured: bool = False,
) -> SkillRoot:
    guard = GUARD_OF[source]
    trusted: tuple[str, ...] = ()
    if guard is Guard.ROOT_OR_TRUSTED:
        trusted = tuple(resolve(target, places) for target in places.allow_symlink_targets)
    return SkillRoot(path, source, guard, within=within, trusted=trusted, plugin=plugin, configured=configured)


def resolve(path: str, places: SkillPlaces) -> str:
    """Make a path of the configuration absolute."""
    plain = path if places.home is None else at_home(path, places.home)
    return str(PurePath(places.workspace) / plain)
