"""Every tricky rule and every claim about the system prompt has a test that names it."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import tests

RULES: Final = set(range(1, 16))
"""The tricky rules of the prompt-builder reference, section 16."""
CLAIMS: Final = {*range(1, 43), *range(79, 86)}
"""The claims of the seeds on assembly, sections, modes and documentation (A, B, C and H of the list)."""


@cache
def docstrings_of_tests() -> list[str]:
    """What every test says of itself."""
    found: list[str] = []
    for path in sorted(Path(next(iter(tests.__path__))).rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        found += [ast.get_docstring(node) or "" for node in functions if node.name.startswith("test_")]
    return found


def test_every_tricky_rule_has_a_test_that_names_it() -> None:
    named = {int(number) for said in docstrings_of_tests() for number in re.findall(r"\b[Rr]ule (\d+)\b", said)}
    assert named >= RULES


def test_every_claim_on_the_prompt_has_a_test_that_names_it() -> None:
    named = {int(number) for said in docstrings_of_tests() for number in re.findall(r"\bS(\d\d)\b", said)}
    assert CLAIMS - named == set()
