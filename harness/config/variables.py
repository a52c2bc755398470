"""What a tree says once its `${NAME}` references are replaced by the environment.

Pure: the environment is an argument. `${NAME}` stands for the variable when the name is upper case;
`$${NAME}` is written for a literal `${NAME}`.
"""

import re
from collections.abc import Mapping

from harness.config.findings import ConfigFinding, DoubledKey, UnsetVariable
from harness.config.places import Place, write_place
from harness.json5_text import NotedObject
from harness.json_value import Json, children

REFERENCE = re.compile(r"(\$?)\$\{([A-Z_][A-Z0-9_]*)\}")
SURROGATE = re.compile("[\ud800-\udfff]")


def plain_tree(tree: Json) -> Json:
    """Copy a parsed tree into plain objects.

    Surrogates that were written as escapes are joined to their character; half of a pair becomes U+FFFD, as no
    file can hold it.
    """
    if isinstance(tree, dict):
        return {_whole(key): plain_tree(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [plain_tree(item) for item in tree]
    return _whole(tree) if isinstance(tree, str) else tree


def doubled_keys(tree: Json, at: Place = ()) -> list[ConfigFinding]:
    """Name the keys that stand twice in one object of a parsed tree."""
    findings: list[ConfigFinding] = []
    if isinstance(tree, NotedObject):
        findings += [DoubledKey(write_place((*at, key))) for key in tree.doubled]
    for part, child in children(tree):
        findings += doubled_keys(child, (*at, part))
    return findings


def with_variables(tree: Json, environment: Mapping[str, str], findings: list[ConfigFinding], at: Place = ()) -> Json:
    """Copy `tree` with every reference replaced.

    A key whose variable is missing or empty is left out, so that its default counts and no half-finished text is
    taken for a secret; a list keeps the text, as its other items would move. Both are added to `findings`.
    """
    if isinstance(tree, dict):
        copies = ((k, with_variables(v, environment, findings, (*at, k)), v) for k, v in tree.items())
        return {key: copy for key, copy, written in copies if not (copy is None and written is not None)}
    if isinstance(tree, list):
        copied = (with_variables(item, environment, findings, (*at, index)) for index, item in enumerate(tree))
        return [item if copy is None else copy for copy, item in zip(copied, tree, strict=True)]
    if not isinstance(tree, str) or "${" not in tree:
        return tree
    unset = [name for escape, name in REFERENCE.findall(tree) if not escape and not environment.get(name)]
    findings += [UnsetVariable(write_place(at), name) for name in dict.fromkeys(unset)]
    if unset:
        return None
    return REFERENCE.sub(lambda found: f"${{{found[2]}}}" if found[1] else environment[found[2]], tree)


def _whole(text: str) -> str:
    if text.isascii() or not SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
