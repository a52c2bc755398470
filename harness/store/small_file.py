"""A small file of what is good to remember over restarts, and no loss when it cannot be: its owner's alone.

Touches the disk. Nothing here fails: what cannot be read counts as nothing, and what cannot be written is told to the
log.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import orjson

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a file that is read; a thousand entries need a hundredth of it."""

logger = logging.getLogger(__name__)


class SmallFile:
    """An object of JSON in a file.

    Args:
        path: The file.
        loss: What it means when it cannot be used, as a clause for the log.
    """

    def __init__(self, path: Path, loss: str) -> None:
        self._path = path
        self._loss = loss

    def load(self) -> dict[str, object]:
        """Read what is remembered; nothing where there is no file, or none that can be used."""
        try:
            with self._path.open("rb") as file:
                stored = cast("object", orjson.loads(file.read(LARGEST)))
        except FileNotFoundError:
            return {}
        except (OSError, orjson.JSONDecodeError) as error:
            logger.warning("%s cannot be used, %s: %s", self._path, self._loss, error)
            return {}
        return cast("dict[str, object]", stored) if isinstance(stored, dict) else {}

    def keep(self, entries: Mapping[str, object]) -> None:
        """Write it down, whole or not at all."""
        fresh = self._path.with_name(f".{self._path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with open(os.open(fresh, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor has no path
                file.write(orjson.dumps(dict(entries)))
            fresh.replace(self._path)
        except OSError as error:
            logger.warning("%s cannot be written: %s", self._path, error)
