"""What the prompt holds of each workspace file, all of them together within the total budget.

Pure, and remembered for the last few inputs: the same files and limits give the very same value again. Sizes are
UTF-16 units (prompt-builder 7.8).
"""

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Final
from weakref import WeakKeyDictionary

from harness.lean_values import dataclass
from harness.settings.files import FileLimits
from harness.units import utf16_units
from harness.workspace.boundaries import clamp
from harness.workspace.entries import LeftOutFile, Notice, NoticeCode, WorkspaceFile
from harness.workspace.names import BOOTSTRAP, HEARTBEAT
from harness.workspace.reads import Content, Refused
from harness.workspace.truncate import Truncation, truncate

SMALLEST_REST = 64
"""A rest of the total budget below this is not used (prompt-builder 7.8)."""

EMPTY = "the file is empty"
NO_PATH = "a hook gave it no path"

_FOR_SOME: Final = frozenset({HEARTBEAT, BOOTSTRAP})
_REMEMBERED = 16
_MOST_CUTS = 8
"""Limits under which the cut of one text is remembered: agents that share a folder may have different ones."""

# A turn on which one file changed cuts that file alone anew. An entry goes when nobody holds the content any more.
_CUTS: WeakKeyDictionary[Content, dict[tuple[str, int], Truncation]] = WeakKeyDictionary()


class Fit(Enum):
    """How a file got into the prompt."""

    WHOLE = "whole"
    TRUNCATED = "truncated"
    MISSING = "missing"
    """Its place holds a short marker, as there was nothing to read."""


@dataclass(frozen=True, slots=True)
class ContextFile:
    """What the prompt holds of one file."""

    file: WorkspaceFile
    text: str
    fit: Fit
    raw_units: int
    """Size of the file's text without trailing white space; 0 when missing."""
    units: int
    """Size of `text`."""
    truncation: Truncation | None = None
    """How a file that was read was fitted."""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name

    @property
    def path(self) -> str:
        """The path that the prompt shows."""
        return self.file.path


@dataclass(frozen=True, slots=True)
class ContextFiles:
    """What the prompt holds of all files."""

    files: tuple[ContextFile, ...]
    left_out: tuple[LeftOutFile, ...]
    notices: tuple[Notice, ...]
    limits: FileLimits

    @property
    def units(self) -> int:
        """Size of all texts together, missing-file markers included."""
        return sum(file.units for file in self.files)


def missing_marker(file: WorkspaceFile) -> str:
    """Return what stands in the place of a file that was not read."""
    why = f" (not read: {file.read.refusal.value.partition(';')[0]})" if isinstance(file.read, Refused) else ""
    return f"[MISSING] Expected at: {file.path}{why}"


def comes_and_goes(file: WorkspaceFile) -> bool:
    """Whether only some turns of an agent get the file: what started the turn, or who reads along, decides."""
    return file.memory is not None or file.name in _FOR_SOME


def build_context(files: Sequence[WorkspaceFile], limits: FileLimits) -> ContextFiles:
    """Fit files, in their order, into the limits.

    A file that is longer than its limit or than what is left is cut with a marker. Once less than `SMALLEST_REST` is
    left, that file and all after it are left out, and listed as such.
    """
    return _build(tuple(files), limits)


@lru_cache(maxsize=_REMEMBERED)
def _build(files: tuple[WorkspaceFile, ...], limits: FileLimits) -> ContextFiles:
    built: list[ContextFile] = []
    left_out: list[LeftOutFile] = []
    notices: list[Notice] = []
    left = limits.total
    full = False
    for file in files:
        full = full or left <= 0 or (isinstance(file.read, Content) and left < SMALLEST_REST)
        outcome = _full(file, left, limits) if full else _fit(file, left, limits)
        if isinstance(outcome, str):
            left_out.append(LeftOutFile(file.name, file.path, outcome))
            if outcome != EMPTY:
                notices.append(Notice(NoticeCode.OMITTED, file.path, f"{file.name} was left out: {outcome}."))
            continue
        built.append(outcome)
        if outcome.fit is Fit.TRUNCATED:
            notices.append(_truncation_notice(outcome, left, limits))
        left -= outcome.units
    return ContextFiles(tuple(built), tuple(left_out), tuple(notices), limits)


def _fit(file: WorkspaceFile, left: int, limits: FileLimits) -> ContextFile | str:
    """Fit one file into what is left of the total; text means that it is left out, and why."""
    if not file.path.strip():
        return NO_PATH
    if not isinstance(file.read, Content):
        marker = clamp(missing_marker(file), left)
        return ContextFile(file, marker, Fit.MISSING, 0, utf16_units(marker))
    cut = _cut(file.read, file.name, min(limits.per_file, left))
    if not cut.raw_units:
        return EMPTY
    fit = Fit.TRUNCATED if cut.truncated else Fit.WHOLE
    return ContextFile(file, cut.text, fit, cut.raw_units, cut.units, cut)


def _cut(content: Content, name: str, limit: int) -> Truncation:
    cuts = _CUTS.setdefault(content, {})
    cut = cuts.get((name, limit))
    if cut is None:
        if len(cuts) == _MOST_CUTS:
            cuts.clear()
        cut = cuts[name, limit] = truncate(content.text, name=name, limit=limit)
    return cut


def _full(file: WorkspaceFile, left: int, limits: FileLimits) -> str:
    if not file.path.strip():
        return NO_PATH
    if isinstance(file.read, Content) and not file.text.strip():
        return EMPTY
    return f"the total limit of {limits.total} units is used up ({max(0, left)} left)"


def _truncation_notice(file: ContextFile, left: int, limits: FileLimits) -> Notice:
    """Say which limit cut the file: its own, or the total, when less than that was left of it."""
    own = limits.per_file <= left
    limit, kind = (limits.per_file, "bootstrapMaxChars") if own else (limits.total, "bootstrapTotalMaxChars")
    kept = file.truncation.kept_units if file.truncation else 0
    text = (
        f"{file.name} was cut for the prompt: raw={file.raw_units} kept={kept} limit={limit} ({kind}), in UTF-16 units."
        f" The file itself is whole: {file.path}."
    )
    return Notice(NoticeCode.TRUNCATED, file.path, text)
