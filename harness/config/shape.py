"""What may stand at a place of the configuration: the known keys, and the allowed values in words.

Pure. Reads the annotations of pydantic models; knows no key by name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from harness.config.places import Place
from harness.config.section import InWords, Unusable

DEEPEST = 12
"""A model that holds itself ends here; our choice, half as deep again as the known keys go."""
ANY_KEY = "<key>"
"""Stands for the keys that people choose themselves."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of a value, without its annotations, and those annotations from the outside in."""

    kind: object
    notes: tuple[object, ...] = ()

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of this value, or None when it is not an object with known keys."""
        return self.kind if isinstance(self.kind, type) and issubclass(self.kind, BaseModel) else None

    @property
    def words(self) -> type[Enum] | None:
        """The words of which one must be chosen, or None when there is no such choice."""
        return self.kind if isinstance(self.kind, type) and issubclass(self.kind, Enum) else None

    @property
    def item(self) -> "Shape | None":
        """The shape of each item of a list, or None when this is no list."""
        arguments = get_args(self.kind)
        return shape_of(arguments[0]) if get_origin(self.kind) in (tuple, list) and arguments else None

    @property
    def entry(self) -> "Shape | None":
        """The shape of each value of an object whose keys people choose, or None when this is none."""
        return shape_of(get_args(self.kind)[1]) if get_origin(self.kind) is dict else None

    @property
    def choices(self) -> "tuple[Shape, ...]":
        """The members of a union that a file can hold, or this shape alone."""
        if get_origin(self.kind) not in (Union, UnionType):
            return (self,)
        members = [shape_of(member) for member in get_args(self.kind) if member not in (NoneType, Unusable)]
        return tuple(
            choice if choice is member else Shape(choice.kind, member.notes + choice.notes)
            for member in members
            for choice in member.choices
        )


def shape_of(annotation: object, notes: tuple[object, ...] = ()) -> Shape:
    """Take the `Annotated` wrappers off a type."""
    while get_origin(annotation) is Annotated:
        annotation, *inner = get_args(annotation)
        notes += tuple(inner)
    flat: list[object] = []
    for note in notes:
        flat += note.metadata if isinstance(note, FieldInfo) else [note]
    return Shape(annotation, tuple(flat))


@cache
def keys_of(model: type[BaseModel]) -> dict[str, Shape]:
    """Return the keys that `model` knows, as people write them."""
    return {
        field.alias or name: shape_of(field.annotation, tuple(field.metadata))
        for name, field in model.model_fields.items()
    }


def step(shape: Shape, part: str | int) -> Shape | None:
    """Go one key or index further; None when nothing is known there."""
    for choice in shape.choices:
        if isinstance(part, int):
            found = choice.item
        elif choice.model is not None:
            found = keys_of(choice.model).get(part)
        else:
            found = choice.entry
        if found is not None:
            return found
    return None


def shape_at(shape: Shape, place: Place) -> Shape | None:
    """Follow `place` from `shape`; None when nothing is known there."""
    found: Shape | None = shape
    for part in place:
        if found is None:
            return None
        found = step(found, part)
    return found


def known_places(shape: Shape, prefix: Place = ()) -> Iterator[Place]:
    """Yield the place of every known key, with `<key>` for keys that people choose and 0 for any index."""
    if len(prefix) >= DEEPEST:
        return
    for choice in shape.choices:
        if choice.model is not None:
            for key, inner in keys_of(choice.model).items():
                yield (*prefix, key)
                yield from known_places(inner, (*prefix, key))
        elif choice.item is not None:
            yield from known_places(choice.item, (*prefix, 0))
        elif choice.entry is not None:
            yield from known_places(choice.entry, (*prefix, ANY_KEY))


PLAIN_WORDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    object: "any value",
    dict: "an object",
    list: "a list",
    tuple: "a list",
}
NUMBER_BOUNDS = ("gt", "ge", "lt", "le")
BOUND_WORDS = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}


def stated_words(shape: Shape) -> str | None:
    """Return how the type itself names the values that it allows, or None when it does not."""
    own = next((note.text for note in shape.notes if isinstance(note, InWords)), None)
    inner = (stated_words(choice) for choice in shape.choices if choice is not shape)
    return own or next((words for words in inner if words is not None), None)


def in_words(shape: Shape) -> str:
    """Name the values that `shape` allows, such as `a whole number from 1 to 14`."""
    stated = stated_words(shape)
    if stated is not None:
        return stated
    choices = dict.fromkeys(in_words(choice) for choice in shape.choices if choice is not shape)
    return ", or ".join(choices) or _one_in_words(shape)


def _one_in_words(shape: Shape) -> str:
    if get_origin(shape.kind) is Literal:
        return _listed(get_args(shape.kind))
    if shape.words is not None:
        return _listed([member.value for member in shape.words])
    if shape.model is not None:
        return "an object"
    if shape.item is not None:
        return f"a list, each item {in_words(shape.item)}"
    if shape.entry is not None:
        return "an object"
    return PLAIN_WORDS.get(shape.kind, "a valid value") + _bounds_in_words(shape)


def _listed(values: Sequence[object]) -> str:
    words = [f'"{value}"' if isinstance(value, str) else str(value) for value in values]
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _bounds_in_words(shape: Shape) -> str:
    bounds = {name: getattr(note, name) for note in shape.notes for name in NUMBER_BOUNDS if hasattr(note, name)}
    if "ge" in bounds and "le" in bounds:
        return f" from {bounds['ge']} to {bounds['le']}"
    return "".join(f" {BOUND_WORDS[name]} {bounds[name]}" for name in NUMBER_BOUNDS if name in bounds)
