"""What a configuration says: every key read, every mistake named, nothing lost.

Pure: the text and the facts about the machine are arguments; `load` reads files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from pydantic import BaseModel

from harness.config.check import check
from harness.config.errors import UnreadableConfigError
from harness.config.findings import ConfigFinding, WrongValue
from harness.config.places import Place, show_value, value_at
from harness.config.review import review
from harness.config.root import OpenClawConfig
from harness.config.shape import Shape, shape_at
from harness.config.surroundings import Surroundings
from harness.config.unserved import not_served
from harness.config.variables import doubled_keys, plain_tree, with_variables
from harness.json5_text import Json5Error, parse_json5
from harness.json_value import Json

Sections = Mapping[str, type[BaseModel]]
"""Models for subtrees that a backend owns, by their dotted path, such as `plugins.entries.codex.config`."""

NO_SECTIONS: Sections = MappingProxyType({})

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration that was read."""

    values: OpenClawConfig = field(default_factory=OpenClawConfig.model_construct)
    """Every known key; a bad one has its default."""
    written: Mapping[str, Json] = field(default_factory=dict[str, Json], repr=False)
    """The whole tree as written, unknown keys and `${NAME}` references included; write this back, never `values`."""
    effective: Mapping[str, Json] = field(default_factory=dict[str, Json], repr=False)
    """The same with the references replaced; may hold secrets."""
    sections: Mapping[str, BaseModel] = field(default_factory=dict[str, BaseModel])
    """The models of `sections`, by path."""
    findings: tuple[ConfigFinding, ...] = ()
    path: Path | None = None
    """The file, or None when there is none."""

    def section(self, path: str, model: type[M]) -> M:
        """Return the section at `path`, filled with its defaults when the file does not have it.

        Raises:
            TypeError: `path` was registered with another model.
        """
        found = self.sections.get(path)
        if found is None:
            return model.model_validate({})
        if not isinstance(found, model):
            raise TypeError(f"{path} was read as {type(found).__name__}, not as {model.__name__}.")
        return found


def read_config(
    text: str, surroundings: Surroundings, *, sections: Sections = NO_SECTIONS, path: Path | None = None
) -> Config:
    """Read the JSON5 `text` of a configuration file.

    Args:
        text: The file's content.
        surroundings: Environment variables for `${NAME}`, and the known time zones.
        sections: Further models, each for the subtree at its path; every key of theirs needs a default.
        path: Where the text comes from, for messages.

    Raises:
        UnreadableConfigError: The text is no JSON5 object.
        TypeError: A model in `sections` has a key without a default.
    """
    try:
        tree = parse_json5(text)
    except Json5Error as error:
        raise UnreadableConfigError(error.reason, line=error.line, column=error.column) from error
    if not isinstance(tree, dict):
        raise UnreadableConfigError("the file must hold one object in braces", line=1, column=1)
    findings = doubled_keys(tree)
    written = {key: plain_tree(value) for key, value in tree.items()}
    return _read(written, surroundings, sections, path, findings)


def read_tree(tree: Mapping[str, Json], surroundings: Surroundings, *, sections: Sections = NO_SECTIONS) -> Config:
    """Read a configuration that is already a tree; otherwise like `read_config`."""
    return _read({key: plain_tree(value) for key, value in tree.items()}, surroundings, sections, None, [])


def _read(
    written: dict[str, Json],
    surroundings: Surroundings,
    sections: Sections,
    path: Path | None,
    findings: list[ConfigFinding],
) -> Config:
    copied = with_variables(written, surroundings.environment, findings)
    effective = copied if isinstance(copied, dict) else {}
    places: dict[str, Place] = {name: tuple(name.split(".")) for name in sections}
    whole = check(effective, OpenClawConfig, claimed=frozenset(places.values()))
    findings += whole.findings
    findings += not_served(effective, OpenClawConfig, removed=whole.removed)
    filled: dict[str, BaseModel] = {}
    for name, model in sections.items():
        subtree = value_at(effective, places[name])
        if not isinstance(subtree, dict | None) and shape_at(Shape(OpenClawConfig), places[name]) is None:
            found = show_value(subtree, places[name])
            findings.append(WrongValue(name, found, "an object", "it counts as not written"))
        owned = subtree if isinstance(subtree, dict) else {}
        part = check(owned, model, at=places[name])
        filled[name] = part.value
        findings += part.findings
        findings += not_served(owned, model, at=places[name], removed=part.removed)
    findings += review(whole.value, surroundings, whole.removed)
    return Config(
        values=whole.value,
        written=written,
        effective=effective,
        sections=filled,
        findings=tuple(findings),
        path=path,
    )
