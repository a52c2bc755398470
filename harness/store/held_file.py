"""Where it is remembered over restarts what the conversations of an agent hold.

The file is a memory aid: without it, or when it cannot be used, conversations are told things once more.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from harness.conversations import Held
from harness.store.small_file import SmallFile

NAME: Final = "conversations.json"


class HeldFile:
    """The file in one agent's folder, see `SmallFile`."""

    def __init__(self, folder: Path) -> None:
        self._file = SmallFile(folder / NAME, "conversations are told things once more")

    def load(self) -> dict[str, Held]:
        """Read what is remembered."""
        return {key: held for key, entry in self._file.load().items() if (held := _held(entry)) is not None}

    def keep(self, known: Mapping[str, Held]) -> None:
        """Write it down, whole or not at all."""
        self._file.keep({key: _entry(held) for key, held in known.items()})


def _entry(held: Held) -> dict[str, object]:
    return {"id": held.id, "files": held.holds_files, "cuts": list(held.cuts_told), "compacted": held.compacted}


def _held(entry: object) -> Held | None:
    """Read one entry; one that somebody changed by hand counts for nothing."""
    if not isinstance(entry, dict):
        return None
    row = cast("dict[str, object]", entry)
    name, files, cuts, compacted = (row.get(key) for key in ("id", "files", "cuts", "compacted"))
    if "id" not in row or not isinstance(name, str | None) or not isinstance(cuts, list):
        return None
    if not isinstance(files, bool) or not isinstance(compacted, bool):
        return None
    told = tuple(cut for cut in cast("list[object]", cuts) if isinstance(cut, str))
    return Held(name, files, told, compacted)
