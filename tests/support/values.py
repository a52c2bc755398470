"""JSON values for property tests, drawn at a cost that no loaded machine turns into a failed health check.

`st.recursive` draws again whatever grew too large, at times often; here the depth is given and nothing is thrown away.
"""

from typing import TypeVar

from hypothesis import strategies as st

from harness.json_value import Json

Leaf = TypeVar("Leaf")
DEPTH = 3
"""Lists and objects within each other."""


def json_values(
    leaves: st.SearchStrategy[Leaf], keys: st.SearchStrategy[str], *, depth: int = DEPTH, most: int = 3
) -> st.SearchStrategy[Json]:
    """Values with `leaves` at the ends and `keys` in objects; each level has up to `most` members."""
    found: st.SearchStrategy[Json] = leaves  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    for level in range(depth):
        # The deeper a level, the fewer members: the whole stays small without being thrown away.
        members = max(1, most - (depth - 1 - level))
        found = st.one_of(
            leaves,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            st.lists(found, max_size=members),
            st.dictionaries(keys, found, max_size=members),
        )
    return found
