"""What raw JSON is, as it stands in a file or comes from a model.

Pure. Dicts and lists are JSON's own; whoever reads a value takes it apart with `isinstance`.
"""

from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def children(tree: Json) -> list[tuple[str | int, Json]]:
    """Return what stands directly in `tree`, with its keys or indexes; nothing for a plain value."""
    if isinstance(tree, dict):
        return list(tree.items())
    return list(enumerate(tree)) if isinstance(tree, list) else []
