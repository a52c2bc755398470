"""A public name is a promise, and importing the bridge costs nothing that only the command line or an extra needs."""

import importlib
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import codex_bridge
import harness

NOT_ASKED_FOR = {"typer", "rich", "pydantic_ai", "websockets", "h11", "codex_bridge.cli"}


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


@pytest.mark.parametrize("module", ["codex_bridge", "codex_bridge.bridge"])
def test_importing_the_bridge_loads_neither_the_command_line_nor_an_extra(module: str) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", f"import {module}, sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert module in loaded
    assert NOT_ASKED_FOR & set(loaded) == set()
