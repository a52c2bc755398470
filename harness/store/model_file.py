"""Where it is remembered over restarts which model somebody chose for a conversation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.store.small_file import SmallFile

NAME: Final = "session-models.json"


class ModelFile:
    """The file in one agent's folder, see `SmallFile`."""

    def __init__(self, folder: Path) -> None:
        self._file = SmallFile(folder / NAME, "conversations run on the agent's own model")

    def load(self) -> dict[str, str]:
        """Read what was chosen; an entry that somebody spoilt by hand counts for nothing."""
        return {key: each for key, each in self._file.load().items() if isinstance(each, str) and each.strip()}

    def keep(self, known: Mapping[str, str]) -> None:
        """Write it down, whole or not at all."""
        self._file.keep(known)
