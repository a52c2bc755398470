"""Which value counts when several levels of the configuration may hold it.

Pure. A level is a section of the file, the closest one first; None, in a section or for a whole one, is "not written".
"""

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from harness.config.section import Section, Unusable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
D = TypeVar("D", bound="DataclassInstance")


def first(*values: T | None) -> T | None:
    """Return the first value that is written."""
    return next((value for value in values if value is not None), None)


def filled(built_in: D, *levels: Section | None) -> D:
    """Return `built_in` with every field that some level has a key of the same name for, key by key."""
    written: dict[str, object] = {}
    for level in reversed([level for level in levels if level is not None]):
        # Unknown keys are attributes of a section as well, and must not pass for known ones.
        known = type(level).model_fields.keys() & {field.name for field in fields(built_in)}
        written |= {name: value for name in known if (value := getattr(level, name)) is not None}
    return replace(built_in, **written)


def size_of(own: float | Unusable | None, shared: float | Unusable | None) -> int | None:
    """Return the agent's size, else the shared one, floored and at least 1; None when the built-in one counts.

    A wrong size of the agent hides the shared one (prompt-builder 7.8).
    """
    chosen = shared if own is None else own
    return None if chosen is None or isinstance(chosen, Unusable) else max(1, math.floor(chosen))
