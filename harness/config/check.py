"""Which keys of a tree a model cannot use, and the model without them.

Pure. Nothing is raised for a bad key: it is named, and its default counts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from harness.config.findings import ConfigFinding, WrongValue
from harness.config.places import Place, show_value, value_at, write_place
from harness.config.section import Clamped, WhenWrong
from harness.config.shape import NUMBER_BOUNDS, Shape, in_words, shape_at, stated_words
from harness.config.unknown import NOTHING_CLAIMED, unknown_keys
from harness.json_value import Json

M = TypeVar("M", bound=BaseModel)

SAID_BY_MODEL = frozenset({"value_error", "assertion_error"})
"""Errors whose text a model's own validator wrote; it should name the allowed values, as in "a path without spaces"."""


@dataclass(frozen=True, slots=True)
class Checked(Generic[M]):
    """A model that holds every usable key, and what was wrong with the others."""

    value: M
    findings: tuple[ConfigFinding, ...]
    removed: frozenset[Place]
    """What counts as not written; items of lists after these stand earlier in `value` than in the file."""


@dataclass(slots=True)
class _Repairs:
    """What stands in for bad values while the rest is validated."""

    removed: set[Place] = field(default_factory=set[Place])
    replaced: dict[Place, object] = field(default_factory=dict[Place, object])


def check(
    tree: dict[str, Json], model: type[M], *, at: Place = (), claimed: frozenset[Place] = NOTHING_CLAIMED
) -> Checked[M]:
    """Read `tree` into `model`, key by key.

    Args:
        tree: The object as written, below the place `at` of the file.
        model: The model to fill; every key must have a default.
        at: Where `tree` stands in the file, for the findings.
        claimed: Places that another model reads; they are not reported as unknown.

    Raises:
        TypeError: `model` has a key without a default.
    """
    findings: list[ConfigFinding] = list(unknown_keys(tree, model, at=at, claimed=claimed))
    repairs = _Repairs()
    while True:
        try:
            value = model.model_validate(_repaired(tree, (), repairs))
        except ValidationError as error:
            if not tree or repairs.removed.issuperset((key,) for key in tree):
                raise TypeError(f"{model.__name__} needs a default for every key: {error}") from error
            for place, said in sorted(_faults(tree, error, repairs).items(), key=str):
                findings += _repair(tree, place, Shape(model), at, repairs, said)
        else:
            return Checked(value, tuple(sorted(findings, key=lambda found: found.place)), frozenset(repairs.removed))


def _faults(tree: Json, error: ValidationError, repairs: _Repairs) -> dict[Place, str | None]:
    """Return the places of the file that are at fault, and what a validator of the model said about each."""
    faults: dict[Place, str | None] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        place = _place_of(tree, detail["loc"], repairs)
        faults[place] = _said(detail) or faults.get(place)
    # A union names its members' faults one by one; the deepest is the one that a person can mend.
    return {p: said for p, said in faults.items() if not any(other[: len(p)] == p != other for other in faults)}


def _said(detail: ErrorDetails) -> str | None:
    if detail["type"] in SAID_BY_MODEL:
        return detail["msg"].partition(", ")[2]
    return f'an object with the key "{detail["loc"][-1]}"' if detail["type"] == "missing" else None


def _repaired(tree: Json, at: Place, repairs: _Repairs) -> object:
    """Copy `tree` with the bad values removed or replaced."""
    if at in repairs.replaced:
        return repairs.replaced[at]
    if isinstance(tree, dict):
        return {k: _repaired(v, (*at, k), repairs) for k, v in tree.items() if (*at, k) not in repairs.removed}
    if isinstance(tree, list):
        return [_repaired(v, (*at, i), repairs) for i, v in enumerate(tree) if (*at, i) not in repairs.removed]
    return tree


def _place_of(tree: Json, loc: Place, repairs: _Repairs) -> Place:
    """Turn an error's location into a place of the file.

    Names of union members are no keys, and items that were left out still count in the file.
    """
    place: Place = ()
    node = tree
    for part in loc:
        if isinstance(node, dict) and isinstance(part, str) and part in node and (*place, part) not in repairs.removed:
            place, node = (*place, part), node[part]
        elif isinstance(node, list) and isinstance(part, int):
            kept = [index for index in range(len(node)) if (*place, index) not in repairs.removed]
            place, node = (*place, kept[part]), node[kept[part]]
    return place


def _repair(
    tree: dict[str, Json], place: Place, root: Shape, at: Place, repairs: _Repairs, said: str | None
) -> Iterator[WrongValue]:
    """Put something usable at `place` for the next try, and say what was wrong."""
    found = value_at(tree, place)
    shape = shape_at(root, place) or Shape(object)
    whole = (*at, *place)
    stand_in = _stand_in(found, shape)
    if place == ():
        repairs.removed.update((key,) for key in tree)
        in_force = "all its keys count as not written"
    elif stand_in is not None and place not in repairs.replaced:
        repairs.replaced[place] = stand_in.value
        in_force = stand_in.in_force
    else:
        repairs.replaced.pop(place, None)
        repairs.removed.add(place)
        in_force = "this item is left out" if isinstance(place[-1], int) else "it counts as not written"
    # In the file's own language null and "not written" are the same, so nobody is told.
    if found is not None:
        allowed = stated_words(shape) or said or in_words(shape)
        yield WrongValue(write_place(whole), show_value(found, whole), allowed, in_force)


def _stand_in(found: Json, shape: Shape) -> WhenWrong | None:
    """Return what counts instead of the wrong value `found`, or None when the key should go."""
    if found is None:
        return None
    notes = [*shape.notes, *(note for choice in shape.choices for note in choice.notes)]
    number = not isinstance(found, bool) and isinstance(found, int | float) and math.isfinite(found)
    if number and any(isinstance(note, Clamped) for note in notes):
        bounds = {name: getattr(note, name) for note in notes for name in NUMBER_BOUNDS if hasattr(note, name)}
        bounded = int(max(bounds.get("ge", found), min(bounds.get("le", found), found)))
        return WhenWrong(bounded, f"{bounded} is used")
    return next((note for note in notes if isinstance(note, WhenWrong)), None)
