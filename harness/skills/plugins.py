"""Which plugins of the gateway are installed, and which folders of theirs hold skills.

Looks at the disk, through `disk`; runs nothing of a plugin. Each has a manifest in its folder that names it and its
folders of skills, relative to itself (docs.openclaw.ai, plugins/manifest).
"""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import orjson

from harness.settings.skills import PluginSkills
from harness.skills import disk

MANIFEST: Final = "openclaw.plugin.json"
LARGEST: Final = 256 * 1024
"""Bytes of a manifest; our choice. A larger one is none."""
MOST: Final = 500
"""Entries of one folder of plugins that are looked at; our choice."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The plugins that were found."""

    plugins: tuple[PluginSkills, ...] = ()
    problems: tuple[str, ...] = ()
    """One sentence for each manifest that cannot be used."""


class _BadManifestError(ValueError):
    """What is wrong with a manifest, as the end of a sentence."""


def installed_plugins(folders: Iterable[str]) -> Installed:
    """Look for plugins that bring skills.

    Args:
        folders: Each is a plugin's own folder, or one that holds plugins; the first of two with one id counts.
    """
    found: dict[str, PluginSkills] = {}
    problems: list[str] = []
    for root in _roots(folders):
        try:
            plugin = _plugin(root)
        except FileNotFoundError:
            continue  # a folder that is no plugin
        except (OSError, _BadManifestError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            problems.append(
                f"{root}/{MANIFEST} cannot be used: {why}. The plugin's skills are left out; repair the file."
            )
        else:
            found.setdefault(plugin.id, plugin)
    return Installed(tuple(plugin for plugin in found.values() if plugin.dirs), tuple(problems))


def _roots(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        if os.path.lexists(f"{folder}/{MANIFEST}"):
            yield folder
            continue
        try:
            entries, _ = disk.subfolders(folder, MOST)
        except OSError:
            continue  # no plugin was ever installed here
        yield from (f"{folder}/{entry.name}" for entry in entries)


def _plugin(root: str) -> PluginSkills:
    path = Path(root, MANIFEST)
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
        raise _BadManifestError(f"it is no regular file of at most {LARGEST:,} bytes")
    try:
        manifest = cast("object", orjson.loads(path.read_bytes()))
    except orjson.JSONDecodeError as error:
        raise _BadManifestError(f"it is not valid JSON ({error})") from None
    if not isinstance(manifest, dict):
        raise _BadManifestError("it is not a JSON object")
    fields = cast("dict[str, object]", manifest)
    name, skills = fields.get("id"), fields.get("skills", [])
    if not isinstance(name, str) or not name.strip():
        raise _BadManifestError("it has no id")
    if not isinstance(skills, list):
        raise _BadManifestError("its skills are no list of folders")
    return PluginSkills(name.strip(), root, tuple(_folder(root, each) for each in cast("list[object]", skills)))


def _folder(root: str, relative: object) -> str:
    if not isinstance(relative, str) or not relative.strip() or "\0" in relative:
        raise _BadManifestError("its skills are no list of folders")
    folder = os.path.normpath(f"{root}/{relative.strip()}")
    if Path(relative.strip()).is_absolute() or not disk.is_inside(disk.real_path(folder), disk.real_path(root)):
        raise _BadManifestError(f"its folder of skills {relative!r} lies outside of the plugin")
    return folder
