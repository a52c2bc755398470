"""How well the workspace's files fit the prompt: what was cut and why, and what is near its limit.

Pure (prompt-builder 7.10). Sizes are UTF-16 units.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import ceil

import orjson

from harness.settings.files import FileLimits
from harness.workspace.entries import WorkspaceFile
from harness.workspace.names import base_name
from harness.workspace.reads import Content

NEAR_LIMIT_RATIO = 0.85
"""Share of a limit from which on a size is near it."""

_REMEMBERED = 16


class Cause(Enum):
    """Which limit cut a file; the value is the limit's short name in reports."""

    PER_FILE = "max/file"
    TOTAL = "max/total"


@dataclass(frozen=True, slots=True)
class Injected:
    """What a prompt carries under a path, in whichever way it got there."""

    path: str
    units: int


@dataclass(frozen=True, slots=True)
class FileStats:
    """How one file fared."""

    name: str
    path: str
    missing: bool
    raw_units: int
    injected_units: int
    near_limit: bool
    causes: tuple[Cause, ...]

    @property
    def truncated(self) -> bool:
        """Whether the prompt holds less than the file."""
        return not self.missing and self.injected_units < self.raw_units

    @property
    def removed_percent(self) -> int:
        """How much of the file the prompt does not hold, in whole percent, at least 1 when anything is gone."""
        if not self.truncated:
            return 0
        return max(1, round(100 * (self.raw_units - self.injected_units) / self.raw_units))


@dataclass(frozen=True, slots=True)
class BudgetAnalysis:
    """How all files fared."""

    limits: FileLimits
    files: tuple[FileStats, ...]
    raw_units: int
    injected_units: int
    total_near_limit: bool

    @property
    def truncated(self) -> tuple[FileStats, ...]:
        """The files that were cut or left out for size."""
        return tuple(file for file in self.files if file.truncated)

    @property
    def near_limit(self) -> tuple[FileStats, ...]:
        """The files at or above the near-limit share, cut ones included."""
        return tuple(file for file in self.files if file.near_limit)

    @property
    def signature(self) -> str:
        """The same text for the same limits and cuts; empty when nothing was cut."""
        if not self.truncated:
            return ""
        rows = sorted(
            [file.path, file.raw_units, file.injected_units, [cause.value for cause in file.causes]]
            for file in self.truncated
        )
        return orjson.dumps([self.limits.per_file, self.limits.total, rows]).decode()


def analyse(
    files: Iterable[WorkspaceFile],
    injected: Sequence[Injected],
    limits: FileLimits,
    *,
    near_limit_ratio: float = NEAR_LIMIT_RATIO,
) -> BudgetAnalysis:
    """Compare the files that a run may carry with what its prompt holds.

    Args:
        files: The files of the run.
        injected: What the prompt holds; matched by path, then by a path that is a bare name, then by last part.
        limits: The limits in force.
        near_limit_ratio: Strictly between 0 and 1; anything else means the usual share.
    """
    ratio = near_limit_ratio if 0 < near_limit_ratio < 1 else NEAR_LIMIT_RATIO
    return _analyse(tuple(files), tuple(injected), limits, ratio)


@lru_cache(maxsize=_REMEMBERED)
def _analyse(
    files: tuple[WorkspaceFile, ...], injected: tuple[Injected, ...], limits: FileLimits, ratio: float
) -> BudgetAnalysis:
    raw = [file.read.raw_units if isinstance(file.read, Content) else 0 for file in files]
    units = [units if size else 0 for size, units in zip(raw, _injected_units(files, injected), strict=True)]
    total = sum(units)
    return BudgetAnalysis(
        limits=limits,
        files=tuple(
            FileStats(
                name=file.name,
                path=file.path,
                missing=not isinstance(file.read, Content),
                raw_units=size,
                injected_units=kept,
                near_limit=size >= ceil(limits.per_file * ratio),
                causes=_causes(size, kept, total, limits),
            )
            for file, size, kept in zip(files, raw, units, strict=True)
        ),
        raw_units=sum(raw),
        injected_units=total,
        total_near_limit=total >= ceil(limits.total * ratio),
    )


def _causes(raw: int, injected: int, total: int, limits: FileLimits) -> tuple[Cause, ...]:
    """Name the limits that cut a file. The total can cut one without being reached: a small rest is not used."""
    if injected >= raw:
        return ()
    too_long = raw > limits.per_file
    checks = ((Cause.PER_FILE, too_long), (Cause.TOTAL, total >= limits.total or not too_long))
    return tuple(cause for cause, applies in checks if applies)


def _injected_units(files: tuple[WorkspaceFile, ...], injected: tuple[Injected, ...]) -> list[int]:
    """Find what the prompt holds of each file.

    An entry that names a file by its whole path is that file's alone: the AGENTS.md of the workspace does not speak
    for one in a folder of it that was left out.
    """
    by_path = {entry.path: entry.units for entry in injected}
    paths = {file.path for file in files}
    by_name = {base_name(entry.path): entry.units for entry in reversed(injected) if entry.path not in paths}
    return [by_path.get(file.path, by_path.get(file.name, by_name.get(file.name, 0))) for file in files]
