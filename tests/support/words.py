"""Which words a module looks for in what it is told."""

import ast
import inspect
from types import ModuleType


def words_compared(module: ModuleType) -> set[str]:
    """The texts that a module compares something with, or matches it against."""
    found: set[object] = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        for part in (*node.comparators, node.left) if isinstance(node, ast.Compare) else ():
            found |= {leaf.value for leaf in ast.walk(part) if isinstance(leaf, ast.Constant)}
        if isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant):
            found.add(node.value.value)
    return {each for each in found if isinstance(each, str) and each}
