"""How large a prompt is and what it is made of: the numbers for `/context`, `status` and `codex-bridge prompt`.

Pure. Sizes are UTF-16 units, hashes SHA-256, so that two prompts can be compared without showing them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from harness.inventory import Inventory
from harness.layers import Composition, Layer, LayerName, LeftOut
from harness.prompt.boundary import disarmed
from harness.prompt.facts import ContextDoc
from harness.prompt.render import Rendered, SystemPrompt, digest_of
from harness.prompt.sections.headings import file_heading
from harness.units import utf16_units


@dataclass(frozen=True, slots=True)
class SectionLine:
    """One section of the prompt."""

    name: str
    stable: bool
    """It stands above the cache boundary."""
    units: int
    digest: str


@dataclass(frozen=True, slots=True)
class FileLine:
    """One workspace file in the prompt."""

    path: str
    units: int
    digest: str


@dataclass(frozen=True, slots=True)
class PromptAccount:
    """The account of one prompt."""

    units: int
    digest: str
    stable_units: int
    """Size of what stands above the cache boundary."""
    stable_digest: str
    files_units: int
    """Size of the workspace's files, which is part of `units`."""
    sections: tuple[SectionLine, ...]
    files: tuple[FileLine, ...]
    inventory: Inventory

    @property
    def other_units(self) -> int:
        """Size of all that is no file of the workspace."""
        return self.units - self.files_units

    def as_data(self) -> dict[str, Any]:
        """The account as JSON data."""
        return {
            "units": self.units,
            "hash": self.digest,
            "stable": {"units": self.stable_units, "hash": self.stable_digest},
            "projectContextUnits": self.files_units,
            "nonProjectContextUnits": self.other_units,
            "sections": [asdict(line) for line in self.sections],
            "files": [asdict(line) for line in self.files],
            **self.inventory.as_data(),
        }


def account_of(prompt: SystemPrompt, files: Iterable[ContextDoc], inventory: Inventory | None = None) -> PromptAccount:
    """Make the account of a prompt.

    Args:
        prompt: The prompt.
        files: The files that it was made from; those that it does not hold are not counted.
        inventory: The tools and skills of the turn.
    """
    stable = "\n".join(each.text for each in prompt.sections if each.stable)
    files = _held(prompt, files)
    lines = tuple(FileLine(file.path, utf16_units(file.text), digest_of(file.text)) for file in files)
    return PromptAccount(
        units=prompt.units,
        digest=prompt.digest,
        stable_units=utf16_units(stable),
        stable_digest=digest_of(stable),
        files_units=sum(line.units for line in lines),
        sections=tuple(_line(each) for each in prompt.sections),
        files=lines,
        inventory=inventory or Inventory(),
    )


def really_sent(composition: Composition, prompt: SystemPrompt, files: Iterable[ContextDoc]) -> Composition:
    """The layers of a turn as its system prompt has them; what it has no place for is among those left out.

    Args:
        composition: What was gathered for the turn, the person's words among it.
        prompt: The prompt that was made of it.
        files: The files that it was made from.
    """
    held = {doc.path: doc.text for doc in _held(prompt, files)}
    sections = {section.name: section.text for section in prompt.sections}
    layers: list[Layer] = []
    left_out = list(composition.left_out)
    for layer in composition.layers:
        if layer.name in (LayerName.USER_TEXT, LayerName.QUOTES):
            layers.append(layer)
            continue
        text = sections.get(section) if (section := _SECTION_OF.get(layer.name)) else held.get(layer.source)
        if text is None and layer.text and layer.text in prompt.text:
            text = layer.text
        if text is None:
            left_out.append(LeftOut(layer.name, layer.source, NO_PLACE))
        else:
            whole = layer.raw_units == layer.units
            layers.append(replace(layer, text=text, raw_units=-1 if whole else layer.raw_units))
    return Composition(tuple(layers), tuple(left_out))


NO_PLACE: Final = "the system prompt of this run has no section for it"
_SECTION_OF: Final[Mapping[LayerName, str]] = MappingProxyType(
    {
        LayerName.SKILLS: "skills",
        LayerName.MEMORY_NOTE: "memory",
        LayerName.HEARTBEAT_GUIDANCE: "heartbeats",
        LayerName.CRON_GUIDANCE: "schedule",
    }
)
"""The section that says what a layer says on other backends, in words of its own."""
_FILES: Final = ("project_context", "dynamic_context")
"""The sections that hold the workspace's files."""


def _held(prompt: SystemPrompt, files: Iterable[ContextDoc]) -> tuple[ContextDoc, ...]:
    """Those of the files whose heading stands in the prompt."""
    shown = {line for each in prompt.sections if each.name in _FILES for line in each.text.splitlines()}
    return tuple(doc for doc in files if disarmed(file_heading(doc.path)) in shown)


def _line(section: Rendered) -> SectionLine:
    return SectionLine(section.name, section.stable, section.units, section.digest)
