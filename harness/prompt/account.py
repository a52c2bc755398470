"""How large a prompt is and what it is made of: the numbers for `/context`, `status` and `codex-bridge prompt`.

Pure. Sizes are UTF-16 units, hashes SHA-256, so that two prompts can be compared without showing them.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from harness.prompt.facts import ContextDoc
from harness.prompt.render import Rendered, SystemPrompt, digest_of
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
        }


def account_of(prompt: SystemPrompt, files: Iterable[ContextDoc]) -> PromptAccount:
    """Make the account of a prompt; `files` are those that were rendered into it."""
    stable = "\n".join(each.text for each in prompt.sections if each.stable)
    lines = tuple(FileLine(file.path, utf16_units(file.text), digest_of(file.text)) for file in files)
    return PromptAccount(
        units=prompt.units,
        digest=prompt.digest,
        stable_units=utf16_units(stable),
        stable_digest=digest_of(stable),
        files_units=sum(line.units for line in lines),
        sections=tuple(_line(each) for each in prompt.sections),
        files=lines,
    )


def _line(section: Rendered) -> SectionLine:
    return SectionLine(section.name, section.stable, section.units, section.digest)
