"""What every part of the configuration model shares: original key names, unknown keys kept, values never changed.

Pure. A section of your own (for a plugin's subtree) may derive from `Section`, or be any pydantic model whose
keys all have defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from harness.durations import parse_duration


@dataclass(frozen=True, slots=True)
class Unserved:
    """What is to be said of a known key that this version does nothing with."""

    instead: str
    """A clause that says what holds, and what to do."""
    harmless: tuple[object, ...] = ()
    """Further values, beside the default, that ask for nothing but what holds anyway. An object stands for every
    object that has its keys with its values."""
    refused: bool = False
    """Whether no turn starts: the key asks for a limit that would not be kept."""


class Section(BaseModel):
    """A part of the configuration: camelCase keys in the file, snake_case attributes here, unknown keys kept."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        allow_inf_nan=False,
        # Building the validators takes longer than all our imports; only a process that reads a file pays for it.
        defer_build=True,
        extra="allow",
        frozen=True,
        strict=True,
    )

    unserved: ClassVar[Mapping[str, Unserved]] = MappingProxyType({})
    """For a root: the keys that nothing reads, by their dotted path below it; `*` stands for any key or index."""
    has_open_keys: ClassVar[bool] = False
    """True where other parts keep keys of their own: an unknown key is then named only when it looks misspelt."""


class Unusable(Enum):
    """Stands for a value that was written but cannot be used, where that differs from not written at all."""

    UNUSABLE = "unusable"


UNUSABLE: Final = Unusable.UNUSABLE


@dataclass(frozen=True, slots=True)
class InWords:
    """Annotation: how a finding names the values that this type allows."""

    text: str


@dataclass(frozen=True, slots=True)
class WhenWrong:
    """Annotation: what takes the place of a wrong value, where removing the key would mean something else."""

    value: object
    in_force: str
    """A clause for the finding."""


@dataclass(frozen=True, slots=True)
class Clamped:
    """Annotation: a number outside its bounds counts as the nearest bound."""


def _whole(value: object) -> object:
    # The file's authors had one kind of number, so 2.0 is the same as 2 to them.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _duration(value: str | float) -> str | float:
    if parse_duration(value) is None:
        raise ValueError("not a duration")
    return value


def _numeral(value: str | float) -> str | float:
    if isinstance(value, str):
        float(value)
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number; `2.0` counts."""

PositiveNumber = Annotated[float, Field(gt=0)]

Texts = Annotated[tuple[str, ...], Field(strict=False)]
"""A list of texts."""

Limit = Annotated[PositiveNumber | Unusable | None, WhenWrong(UNUSABLE, "the built-in limit is used")]
"""A size that falls to the built-in constant when it is wrong, and to the next level only when it is not written
(prompt-builder 7.8)."""

Duration = Annotated[str | float, AfterValidator(_duration), InWords('a duration such as "30m", "1h" or "0m" (off)')]

Numeral = Annotated[str | float, AfterValidator(_numeral), InWords('a number, or a number as text such as "300"')]

Opaque = dict[str, object]
"""A subtree that its owner reads; kept as raw JSON."""
