"""Where the skills that came with the gateway lie.

Looks at the disk, through `disk` (prompt-builder 8.1).
"""

from pathlib import PurePath
from typing import Final

from harness.skills.disk import is_folder, skill_file_mode, subfolders
from harness.skills.roots import SKILLS_FOLDER

PARENTS: Final = 6
SCAN: Final = 1_000


def find_bundled(
    *,
    override: str | None = None,
    executable: str | None = None,
    package_root: str | None = None,
    module: str | None = None,
) -> str | None:
    """Find the folder of bundled skills; the first of these counts.

    Args:
        override: The value of `OPENCLAW_BUNDLED_SKILLS_DIR`, taken as it is when not blank.
        executable: The gateway's program; a `skills` folder beside it is taken when there is one.
        package_root: The gateway's package; its `skills` folder is taken when it holds a skill.
        module: A file or folder of the gateway; `skills` folders of up to six parents upward are tried likewise.
    """
    if override is not None and override.strip():
        return override.strip()
    if executable is not None:
        beside = str(PurePath(executable).parent / SKILLS_FOLDER)
        if is_folder(beside):
            return beside
    parents = [] if module is None else [str(parent) for parent in PurePath(module).parents[:PARENTS]]
    bases = [*([] if package_root is None else [package_root]), *parents]
    candidates = (f"{base}/{SKILLS_FOLDER}" for base in bases)
    return next((folder for folder in candidates if holds_skills(folder)), None)


def holds_skills(folder: str) -> bool:
    """Tell whether some direct subfolder has a SKILL.md; a folder of source code named `skills` has none."""
    try:
        entries, _ = subfolders(folder, SCAN)
    except OSError:
        return False
    return any(skill_file_mode(f"{folder}/{entry.name}") is not None for entry in entries)
