"""A public name is a promise: it is there, once, in the order a reader expects."""

import importlib
import pkgutil
from types import ModuleType

import pytest

import codex_bridge
import harness


def packages(root: ModuleType) -> list[str]:
    inner = pkgutil.walk_packages(root.__path__, f"{root.__name__}.")
    return [root.__name__, *(module.name for module in inner if module.ispkg)]


def linters_order(name: str) -> tuple[bool, bool, str]:
    """Constants, then classes, then the rest, as the linter (RUF022) keeps them."""
    return not name.isupper(), not name[0].isupper(), name


@pytest.mark.parametrize("name", [*packages(codex_bridge), *packages(harness)])
def test_public_names_are_sorted_and_real(name: str) -> None:
    package = importlib.import_module(name)
    names: list[str] = getattr(package, "__all__", [])
    assert names == sorted(names, key=linters_order)
    assert len(set(names)) == len(names)
    assert [each for each in names if not hasattr(package, each)] == []
