"""What a turn's prompt is made of, how large each part is, and what was left out: the one source for `/context`.

Pure. Sizes are UTF-16 units. The backend adds which of its fields each layer travels in, and what tools it offers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import ceil
from typing import Any, Final

from harness.gather import Gathered
from harness.inventory import Inventory, SkillLine, ToolLine
from harness.layers import LayerName
from harness.prompt.render import digest_of
from harness.settings.files import FileLimits
from harness.units import utf16_units
from harness.workspace.analysis import BudgetAnalysis, Injected, analyse
from harness.workspace.budget import Fit
from harness.workspace.entries import NoticeCode
from harness.workspace.names import LAYER_OF
from harness.workspace.warning_text import advice


class Source(StrEnum):
    """Where a report comes from."""

    RUN = "run"
    """A turn that was sent."""
    ESTIMATE = "estimate"
    """The turn that would be sent now."""


class Fitting(StrEnum):
    """How much of a layer's source the turn carries."""

    OK = "OK"
    TRUNCATED = "TRUNCATED"
    MISSING = "MISSING"
    """There is nothing to read, and the turn says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Which turn a report is about."""

    source: Source = Source.ESTIMATE
    generated_at: str = ""
    """ISO 8601."""
    agent: str = ""
    session_key: str = ""
    provider: str = ""
    """Empty when it is not known before the turn."""
    model: str = ""
    """Empty when it is not known before the turn."""
    sandbox: str = ""
    """What commands may do; empty when the backend's own harness decides."""


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One layer that the turn carries."""

    name: str
    source: str
    lane: str
    """Where the backend puts it."""
    raw: int
    """0 when there is nothing to read."""
    kept: int
    missing: bool = False

    @property
    def fitting(self) -> Fitting:
        """How much of its source the turn carries."""
        if self.missing:
            return Fitting.MISSING
        return Fitting.TRUNCATED if self.kept < self.raw else Fitting.OK


@dataclass(frozen=True, slots=True)
class LeftOutLine:
    """One layer that the turn does not carry."""

    name: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class PromptReport:
    """The account of one turn's prompt."""

    about: Circumstances
    workspace: str
    limits: FileLimits
    layers: tuple[LayerLine, ...]
    left_out: tuple[LeftOutLine, ...]
    inventory: Inventory
    skills_left_out: tuple[str, ...]
    truncation: Mapping[str, Any] = field(repr=False)
    """Which files were cut and which are near a limit (prompt-builder 7.10)."""
    notices: tuple[str, ...]
    """What a person should know, one sentence each."""
    tools_left_out: tuple[str, ...] = ()
    """Tools that the backend does not take, with who brings them and why: one sentence each."""

    @property
    def units(self) -> int:
        """Size of all layers together."""
        return sum(line.kept for line in self.layers)

    @property
    def files(self) -> tuple[LayerLine, ...]:
        """The layers that are files of the workspace."""
        return tuple(line for line in self.layers if line.name in _FILE_NAMES)

    def lanes(self) -> dict[str, int]:
        """Size of what each lane carries, in the order of the layers."""
        sizes: dict[str, int] = {}
        for line in self.layers:
            sizes[line.lane] = sizes.get(line.lane, 0) + line.kept
        return sizes

    def as_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        about = self.about
        return {
            "source": about.source.value,
            "generatedAt": about.generated_at,
            "agent": about.agent,
            "sessionKey": about.session_key,
            "provider": about.provider,
            "model": about.model,
            "sandbox": about.sandbox,
            "workspace": self.workspace,
            "limits": asdict(self.limits),
            "units": self.units,
            "tokens": tokens(self.units),
            "layers": [
                {"name": line.name, "source": line.source, "lane": line.lane, "state": line.fitting.value,
                 "raw": line.raw, "kept": line.kept}
                for line in self.layers
            ],
            "leftOut": [asdict(line) for line in self.left_out],
            **self.inventory.as_data(),
            "skillsLeftOut": list(self.skills_left_out),
            "toolsLeftOut": list(self.tools_left_out),
            "truncation": dict(self.truncation),
            "notices": list(self.notices),
        }  # fmt: skip


def tokens(units: int) -> int:
    """A rough number of tokens: a quarter of the size (prompt-builder 13.2)."""
    return ceil(units / 4)


def report_of(
    gathered: Gathered,
    about: Circumstances,
    *,
    workspace: str,
    lanes: Mapping[LayerName, str],
    tools: Sequence[ToolLine] = (),
    tool_list: str = "",
    tools_left_out: Sequence[str] = (),
) -> PromptReport:
    """Make the report of a turn.

    Args:
        gathered: The turn; its composition holds what is really sent.
        about: Which turn it is.
        workspace: The agent's folder.
        lanes: The backend's field for each layer.
        tools: What the model is offered.
        tool_list: The text that lists them.
        tools_left_out: What is told of tools that the backend does not take.
    """
    composition = gathered.composition
    injected = [Injected(layer.source, layer.units) for layer in composition.layers if layer.name in FILES]
    analysis = analyse([each.file for each in gathered.files.files], injected, gathered.limits)
    catalogue = gathered.catalogue
    # What was cut is told once, with what to do about it.
    notices = [notice.text for notice in gathered.notices if notice.code is not NoticeCode.TRUNCATED]
    notices.extend(advice(analysis))
    if catalogue.warning:
        notices.append(catalogue.warning)
    skills = composition.get(LayerName.SKILLS)
    missing = {file.path for file in gathered.files.files if file.fit is Fit.MISSING}
    return PromptReport(
        about=about,
        workspace=workspace,
        limits=gathered.limits,
        layers=tuple(
            LayerLine(
                layer.name.value,
                layer.source,
                lanes[layer.name],
                0 if (gone := layer.name in FILES and layer.source in missing) else layer.raw_units,
                layer.units,
                gone,
            )
            for layer in composition.layers
            if layer.text
        ),
        left_out=tuple(LeftOutLine(each.name.value, each.source, each.reason) for each in composition.left_out),
        inventory=Inventory(
            tools=tuple(tools),
            tool_list_units=utf16_units(tool_list),
            skills=tuple(SkillLine(entry.name, entry.units) for entry in catalogue.entries) if skills else (),
            skills_units=skills.units if skills else 0,
            skills_hash=digest_of(skills.text) if skills else "",
        ),
        skills_left_out=catalogue.dropped,
        truncation=_truncation(gathered, analysis),
        notices=tuple(notices),
        tools_left_out=tuple(tools_left_out),
    )


def _truncation(gathered: Gathered, analysis: BudgetAnalysis) -> dict[str, Any]:
    told = gathered.truncation
    return {
        "warningShown": bool(told and told.shown),
        "signature": told.signature if told else "",
        "truncatedFiles": [stats.name for stats in analysis.truncated],
        "nearLimitFiles": [stats.name for stats in analysis.near_limit],
        "totalNearLimit": analysis.total_near_limit,
    }


FILES: Final = frozenset(LAYER_OF.values()) | {LayerName.EXTRA}
"""The layers that are files of the workspace."""
_FILE_NAMES: Final = frozenset(name.value for name in FILES)
