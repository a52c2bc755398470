"""Which keys of a tree a model does not know.

Pure.
"""

from collections.abc import Iterator

from pydantic import BaseModel

from harness.config.findings import UnknownKey
from harness.config.places import Place, write_place
from harness.config.shape import Shape, keys_of, step
from harness.config.suggest import moved_key, near_key
from harness.json_value import Json, children

NOTHING_CLAIMED: frozenset[Place] = frozenset()


def unknown_keys(
    tree: Json, model: type[BaseModel], *, at: Place = (), claimed: frozenset[Place] = NOTHING_CLAIMED
) -> Iterator[UnknownKey]:
    """Yield the highest unknown keys of `tree`, which stands at `at` and is read into `model`.

    Args:
        tree: The object as written.
        model: Knows the keys; where it `has_open_keys`, only a likely misspelling is yielded.
        at: Where `tree` stands in the file.
        claimed: Places of the file that somebody else reads; nothing on the way to them is unknown.
    """
    for place, owner in _strangers(tree, Shape(model), ()):
        whole = (*at, *place)
        if any(path[: len(whole)] == whole for path in claimed):
            continue
        near = near_key(str(place[-1]), list(keys_of(owner)))
        if near is not None:
            yield UnknownKey(write_place(whole), write_place((*whole[:-1], near)))
        elif not getattr(owner, "has_open_keys", False):
            home = moved_key(place, model)
            # The known place names no particular entry of a list.
            suggestion = write_place((*at, *home)).replace("[0]", "[]") if home is not None else None
            yield UnknownKey(write_place(whole), suggestion)


def _strangers(tree: Json, shape: Shape, at: Place) -> Iterator[tuple[Place, type[BaseModel]]]:
    """Yield each unknown key's place with the model of the object that it stands in."""
    owner = next((choice.model for choice in shape.choices if choice.model is not None), None)
    for part, value in children(tree):
        place = (*at, part)
        inner = step(shape, part)
        if inner is not None:
            yield from _strangers(value, inner, place)
        elif owner is not None:
            yield place, owner
