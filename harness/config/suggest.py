"""Which known key a person probably meant.

Pure.
"""

from functools import cache

from pydantic import BaseModel

from harness.config.places import Place
from harness.config.shape import Shape, known_places

LIKENESS = 0.78
"""How like two names must be, from 0 to 1; our choice: two letters swapped in a name of nine still match."""
TELLING_LENGTH = 8
"""Shorter names, such as `env`, mean different things in different places."""


def plain(key: str) -> str:
    """Drop what people mix up: case, `_` and `-`."""
    return key.replace("_", "").replace("-", "").lower()


def near_key(key: str, known: list[str]) -> str | None:
    """Return the key of `known` that `key` is a misspelling of, or None."""
    # Imported here: only a misspelt key needs it.
    from difflib import get_close_matches

    by_plain = {plain(name): name for name in known}
    exact = by_plain.get(plain(key))
    if exact is not None:
        return exact
    close = get_close_matches(plain(key), list(by_plain), n=1, cutoff=LIKENESS)
    return by_plain[close[0]] if close else None


@cache
def _places_by_leaf(model: type[BaseModel]) -> dict[str, list[Place]]:
    places: dict[str, list[Place]] = {}
    for place in known_places(Shape(model)):
        leaf = place[-1]
        if isinstance(leaf, str) and len(leaf) >= TELLING_LENGTH:
            places.setdefault(plain(leaf), []).append(place)
    return places


def moved_key(place: Place, root: type[BaseModel]) -> Place | None:
    """Return where in `root` the last key of `place` belongs, when it is a known key in the wrong object."""
    leaf = place[-1]
    homes = _places_by_leaf(root).get(plain(leaf), []) if isinstance(leaf, str) else []
    if not homes:
        return None

    def distance(home: Place) -> tuple[int, int]:
        shared = next((at for at, pair in enumerate(zip(place, home, strict=False)) if pair[0] != pair[1]), len(home))
        return -shared, len(home)

    return min(homes, key=distance)
