"""Where it is remembered over restarts what the conversations of an agent hold: one small file, its owner's alone.

Touches the disk. The file is a memory aid: without it, or when it cannot be used, conversations are told things once
more, so nothing here fails.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import orjson

from harness.conversations import Held

NAME: Final = "conversations.json"
LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a file that is read; a thousand conversations need a hundredth of it."""

logger = logging.getLogger(__name__)


class HeldFile:
    """The file in one agent's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME

    def load(self) -> dict[str, Held]:
        """Read what is remembered; nothing where there is no file, or none that can be used."""
        try:
            with self._path.open("rb") as file:
                stored = cast("object", orjson.loads(file.read(LARGEST)))
        except FileNotFoundError:
            return {}
        except (OSError, orjson.JSONDecodeError) as error:
            logger.warning("%s cannot be used, conversations are told things once more: %s", self._path, error)
            return {}
        entries = cast("dict[str, object]", stored) if isinstance(stored, dict) else {}
        return {key: held for key, entry in entries.items() if (held := _held(entry)) is not None}

    def keep(self, known: Mapping[str, Held]) -> None:
        """Write it down, whole or not at all."""
        fresh = self._path.with_name(f".{NAME}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with open(os.open(fresh, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor has no path
                file.write(orjson.dumps({key: _entry(held) for key, held in known.items()}))
            fresh.replace(self._path)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self._path, error)


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
