"""Names of a package that load their module when they are first used.

A gateway imports a package for one or two of its names; what the rest needs, from SQLite to a file watcher, should
not be loaded for them.
"""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Make the `__getattr__` of a package.

    Args:
        package: The package's `__name__`.
        names: Each public name, and the module that has it.
    """

    def __getattr__(name: str) -> object:  # noqa: N807 - becomes the package's own (PEP 562)
        module = names.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(module), name)

    return __getattr__
