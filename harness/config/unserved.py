"""Which keys of a tree ask for something that this version does nothing about.

Pure. The keys stand in one table for each root model, `Section.unserved`.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import BaseModel

from harness.config.findings import NotServed
from harness.config.places import Place, write_place
from harness.config.section import Unserved
from harness.config.shape import Shape, step
from harness.json_value import Json, children

ANY = "*"
"""In the path of a table: any key, or any index."""


def not_served(
    tree: Json, model: type[BaseModel], *, at: Place = (), removed: frozenset[Place] = frozenset()
) -> Iterator[NotServed]:
    """Yield what is set in `tree`, to something else than its default, and does nothing.

    Args:
        tree: The object as written.
        model: What it is read into; its table of unserved keys counts.
        at: Where `tree` stands in the file.
        removed: Places of values that were wrong, and count as not written.
    """
    table: Mapping[str, Unserved] = getattr(model, "unserved", {})
    for path, entry in table.items():
        for place, value in _written(tree, tuple(path.split("."))):
            if place not in removed and not _asks_nothing(value, entry, _default(model, place)):
                yield NotServed(write_place((*at, *place)), entry.instead, entry.refused)


def _written(tree: Json, path: tuple[str, ...], at: Place = ()) -> Iterator[tuple[Place, Json]]:
    """Yield every value of `tree` that `path` leads to, with its place."""
    if not path:
        yield at, tree
        return
    for part, value in children(tree):
        if path[0] in (ANY, part):
            yield from _written(value, path[1:], (*at, part))


def _asks_nothing(value: Json, entry: Unserved, default: object) -> bool:
    # To the authors of the file, null and "not written" are the same.
    return value in (None, [], {}) or _adds_nothing(value, default) or any(_has(value, each) for each in entry.harmless)


def _adds_nothing(value: Json, default: object) -> bool:
    """Whether whatever stands in `value` stands in `default` too."""
    if isinstance(value, dict) and isinstance(default, dict):
        known = cast("dict[str, object]", default)
        return all(key in known and _adds_nothing(each, known[key]) for key, each in value.items())
    return value == default and isinstance(value, bool) == isinstance(default, bool)


def _has(value: Json, wanted: object) -> bool:
    """Whether whatever stands in `wanted` stands in `value` too."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        known = cast("dict[str, object]", wanted)
        return all(key in value and _has(value[key], each) for key, each in known.items())
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _default(model: type[BaseModel], place: Place) -> object:
    """What counts when nothing is written at `place`, as JSON; None where no default is known."""
    shape: Shape | None = Shape(model)
    for part in place[:-1]:
        shape = step(shape, part) if shape is not None else None
    owner = next((choice.model for choice in shape.choices if choice.model is not None), None) if shape else None
    fields = {} if owner is None else {field.alias or name: field for name, field in owner.model_fields.items()}
    field = fields.get(str(place[-1]))
    value: object = None if field is None else field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
