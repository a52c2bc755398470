"""What the `metadata` value of a SKILL.md asks for.

Pure. The value is JSON5 with an object `openclaw`, or `clawdbot` in older files (prompt-builder 8.3).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import orjson

from harness.json5_text import Json5Error, parse_json5
from harness.json_value import Json
from harness.skills.shown import is_plain, shown
from harness.skills.values import InstallStep, SkillGates

BLOCK_NAMES: Final = ("openclaw", "clawdbot")
INSTALL_KINDS: Final = ("brew", "node", "go", "uv", "download")
MAX_JSON5_CHARACTERS: Final = 8_192
"""Longer texts must be JSON apart from comments, bare keys, single quotes and trailing commas."""

_NOTHING: Final[Mapping[str, Json]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Metadata:
    """The parts of `metadata` that have a meaning here."""

    gates: SkillGates = field(default_factory=SkillGates)
    key: str = ""
    primary_env: str = ""
    homepage: str = ""
    emoji: str = ""
    install: tuple[InstallStep, ...] = ()
    unclear: bool = False
    """What it asks for could not be read, or not all of it."""
    problems: tuple[str, ...] = ()


def read_metadata(text: str, *, otherwise: str = "") -> Metadata:
    """Read `metadata`; what cannot be read is named in `problems` and asks for nothing.

    Args:
        text: The value as written.
        otherwise: The same value as YAML understood it, in JSON, for text that is no JSON5.
    """
    if not text.strip():
        return Metadata()
    try:
        tree = _read_json(text)
    except Json5Error as error:
        if otherwise:
            return read_metadata(otherwise)
        return _unread(f"metadata is not valid JSON5 ({error}), so its requirements are not known")
    if not isinstance(tree, Mapping):
        return _unread(f"metadata must be an object such as {{openclaw: {{…}}}}, not {_kind(tree)}")
    for name in BLOCK_NAMES:
        block = tree.get(name)
        if isinstance(block, Mapping):
            return _Block(f"metadata.{name}").read(block)
        if block is not None:
            return _unread(f"metadata.{name} must be an object, not {_kind(block)}")
    return Metadata()


def _unread(problem: str) -> Metadata:
    return Metadata(unclear=True, problems=(problem,))


def _read_json(text: str) -> Json:
    with suppress(orjson.JSONDecodeError):
        plain: Json = orjson.loads(text)
        return plain
    return parse_json5(text, longest=MAX_JSON5_CHARACTERS)


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case _:
            return "a list"


class _Block:
    """Reads one block, remembering what was of the wrong kind."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._problems: list[str] = []

    def read(self, block: Mapping[str, Json]) -> Metadata:
        asked = block.get("requires")
        requires = asked if isinstance(asked, Mapping) else _NOTHING
        if requires is not asked and asked is not None:
            self._wrong("requires", "an object", asked)
        gates = SkillGates(
            always=self._flag(block, "always"),
            os=self._names(block, "os"),
            bins=self._names(requires, "bins", "requires."),
            any_bins=self._names(requires, "anyBins", "requires."),
            env=self._names(requires, "env", "requires."),
            config=self._names(requires, "config", "requires."),
        )
        unclear = bool(self._problems)  # so far they all are about what it asks for
        return Metadata(
            gates,
            key=self._word(block, "skillKey"),
            primary_env=self._word(block, "primaryEnv"),
            homepage=self._word(block, "homepage"),
            emoji=self._word(block, "emoji"),
            install=self._install(block.get("install")),
            unclear=unclear,
            problems=tuple(self._problems),
        )

    def _install(self, steps: Json) -> tuple[InstallStep, ...]:
        if steps is None:
            return ()
        if not isinstance(steps, list):
            self._wrong("install", "a list", steps)
            return ()
        return tuple(read for index, step in enumerate(steps) if (read := self._step(index, step)) is not None)

    def _step(self, index: int, step: Json) -> InstallStep | None:
        where = f"install[{index}]"
        if not isinstance(step, Mapping):
            self._wrong(where, "an object", step)
            return None
        kind = step.get("kind", step.get("type"))
        if not isinstance(kind, str) or kind.strip().lower() not in INSTALL_KINDS:
            allowed = ", ".join(INSTALL_KINDS)
            self._problems.append(f"{self._path}.{where}.kind must be one of {allowed}, so that step is left out")
            return None
        prefix = f"{where}."
        strip = step.get("stripComponents")
        return InstallStep(
            kind=kind.strip().lower(),
            id=self._word(step, "id", prefix),
            label=self._word(step, "label", prefix),
            bins=self._names(step, "bins", prefix),
            os=self._names(step, "os", prefix),
            formula=self._word(step, "formula", prefix),
            package=self._word(step, "package", prefix),
            module=self._word(step, "module", prefix),
            url=self._word(step, "url", prefix),
            archive=self._word(step, "archive", prefix),
            extract=self._flag(step, "extract", prefix),
            strip_components=strip if isinstance(strip, int) and not isinstance(strip, bool) else 0,
            target_dir=self._word(step, "targetDir", prefix),
        )

    def _names(self, block: Mapping[str, Json], name: str, prefix: str = "") -> tuple[str, ...]:
        """Read a list of names, or names with commas between them."""
        value = block.get(name)
        if value is None:
            return ()
        if isinstance(value, str):
            value = [*value.split(",")]
        if not isinstance(value, list):
            self._wrong(prefix + name, "a list of names", value)
            return ()
        names = [item.strip() for item in value if isinstance(item, str)]
        if len(names) < len(value):
            self._problems.append(f"{self._path}.{prefix}{name} holds something that is not text, which is left out")
        return tuple(self._possible(prefix + name, item) for item in names if item)

    def _possible(self, name: str, item: str) -> str:
        """Return a name that can be shown; one that nothing can have stays a requirement that is never met."""
        if is_plain(item):
            return item
        self._problems.append(f"{self._path}.{name} holds {shown(item)}, a name that nothing can have; correct it")
        return shown(item)

    def _word(self, block: Mapping[str, Json], name: str, prefix: str = "") -> str:
        value = block.get(name)
        if value is None or isinstance(value, str):
            word = (value or "").strip()
            if is_plain(word):
                return word
            self._problems.append(f"{self._path}.{prefix}{name} must be text on one line, so it is ignored")
            return ""
        self._wrong(prefix + name, "text", value)
        return ""

    def _flag(self, block: Mapping[str, Json], name: str, prefix: str = "") -> bool:
        value = block.get(name)
        if value is None or isinstance(value, bool):
            return value or False
        self._wrong(prefix + name, "true or false", value)
        return False

    def _wrong(self, name: str, wanted: str, value: Json) -> None:
        self._problems.append(f"{self._path}.{name} must be {wanted}, not {_kind(value)}, so it is ignored")
