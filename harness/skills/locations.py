"""How a skill's path is written for the model.

Pure: text in, text out (prompt-builder 8.9).
"""

from collections.abc import Iterable
from typing import Final

from harness.lean_values import dataclass
from harness.settings.skills import PLUGIN_LINKS_FOLDER

STATE_FOLDERS: Final = ("skills", PLUGIN_LINKS_FOLDER)


@dataclass(frozen=True, slots=True)
class PathNaming:
    """What is needed to shorten a path."""

    homes: tuple[str, ...] = ()
    """The folders that may become `~/`: the configured home, the person's home, and where both really are."""
    shell_homes: tuple[str, ...] | None = None
    """What `~` means to the shell or the read tool, in all spellings; None when that is the same as `homes`."""
    state_dir: str = ""
    """The state folder; its skills stay absolute where the shell's `~` would not reach them."""

    def locations(self, files: Iterable[str]) -> list[str]:
        """Write each path as the model should see it."""
        homes = sorted(self.homes, key=len, reverse=True)
        return [self._location(file, homes) for file in files]

    def _location(self, file: str, homes: list[str]) -> str:
        for home in homes:
            rest = _below(file, home)
            if rest:
                return file if self._is_out_of_reach(file, home) else f"~/{rest}"
        return file

    def _is_out_of_reach(self, file: str, home: str) -> bool:
        if self.shell_homes is None or home in self.shell_homes or not self.state_dir:
            return False
        return any(_below(file, f"{self.state_dir}/{folder}") for folder in STATE_FOLDERS)


def _below(path: str, folder: str) -> str:
    prefix = folder.rstrip("/") + "/"
    return path[len(prefix) :] if len(prefix) > 1 and path.startswith(prefix) else ""
