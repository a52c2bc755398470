"""What a turn's prompt is made of, how large each part is, and what was left out: the one source for `/context`.

Pure. Sizes are UTF-16 units. The backend adds which of its fields each layer travels in.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from harness.gather import Gathered
from harness.layers import LayerName
from harness.settings.files import FileLimits
from harness.workspace.analysis import Injected, analyse
from harness.workspace.entries import NoticeCode
from harness.workspace.names import LAYER_OF
from harness.workspace.warning_text import advice


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One layer that the turn carries."""

    name: str
    source: str
    lane: str
    """Where the backend puts it."""
    raw: int
    kept: int

    @property
    def cut(self) -> bool:
        """Whether the prompt holds less than the source."""
        return self.kept < self.raw


@dataclass(frozen=True, slots=True)
class LeftOutLine:
    """One layer that the turn does not carry."""

    name: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class SkillLine:
    """One listed skill and the size of its entry."""

    name: str
    units: int


@dataclass(frozen=True, slots=True)
class PromptReport:
    """The account of one turn's prompt."""

    workspace: str
    limits: FileLimits
    layers: tuple[LayerLine, ...]
    left_out: tuple[LeftOutLine, ...]
    skills: tuple[SkillLine, ...]
    skills_left_out: tuple[str, ...]
    notices: tuple[str, ...]
    """What a person should know, one sentence each."""

    @property
    def units(self) -> int:
        """Size of all layers together."""
        return sum(line.kept for line in self.layers)

    def lanes(self) -> dict[str, int]:
        """Size of what each lane carries, in the order of the layers."""
        sizes: dict[str, int] = {}
        for line in self.layers:
            sizes[line.lane] = sizes.get(line.lane, 0) + line.kept
        return sizes

    def as_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "workspace": self.workspace,
            "limits": asdict(self.limits),
            "units": self.units,
            "tokens": tokens(self.units),
            "layers": [asdict(line) for line in self.layers],
            "leftOut": [asdict(line) for line in self.left_out],
            "skills": [asdict(line) for line in self.skills],
            "skillsLeftOut": list(self.skills_left_out),
            "notices": list(self.notices),
        }


def tokens(units: int) -> int:
    """A rough number of tokens: a quarter of the size (prompt-builder 13.2)."""
    return ceil(units / 4)


def report_of(gathered: Gathered, workspace: str, lanes: Mapping[LayerName, str]) -> PromptReport:
    """Make the report of a turn; `lanes` names the backend's field for each layer."""
    composition = gathered.composition
    injected = [Injected(layer.source, layer.units) for layer in composition.layers if layer.name in _FILES]
    analysis = analyse([each.file for each in gathered.files.files], injected, gathered.limits)
    catalogue = gathered.catalogue
    # What was cut is told once, with what to do about it.
    notices = [notice.text for notice in gathered.notices if notice.code is not NoticeCode.TRUNCATED]
    notices.extend(advice(analysis))
    if catalogue.warning:
        notices.append(catalogue.warning)
    return PromptReport(
        workspace=workspace,
        limits=gathered.limits,
        layers=tuple(
            LayerLine(layer.name.value, layer.source, lanes[layer.name], layer.raw_units, layer.units)
            for layer in composition.layers
            if layer.text
        ),
        left_out=tuple(LeftOutLine(each.name.value, each.source, each.reason) for each in composition.left_out),
        skills=tuple(SkillLine(entry.name, entry.units) for entry in catalogue.entries),
        skills_left_out=catalogue.dropped,
        notices=tuple(notices),
    )


_FILES = frozenset(LAYER_OF.values()) | {LayerName.EXTRA}
