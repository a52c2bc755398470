"""What a block of YAML says, by the rules of YAML's core schema.

Pure. PyYAML's own schema is that of YAML 1.1, where `no` is a boolean and `1:30` a number; descriptions are
full of such words, so only the core schema's few plain forms get a type. No tag ever builds a Python object.
"""

import re
from typing import TYPE_CHECKING, Final

import yaml

from harness.json_value import Json

MAX_NODES: Final = 10_000
"""Where expanded aliases stop being text that somebody wrote."""
MAX_DEPTH: Final = 64


class YamlError(ValueError):
    """The block is not usable YAML.

    Attributes:
        line: The line of the block where reading stopped, from 1.
        problem: What is wrong, a clause in lower case.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


_TAG: Final = "tag:yaml.org,2002:"
_FORMS: Final = (
    ("null", r"^(?:~|null|Null|NULL|)$", ("~", "n", "N", "")),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", tuple("tTfF")),
    ("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", tuple("-+0123456789")),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", tuple("-+.0123456789")),
)
"""Type, form, and the characters that such a scalar can start with."""


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    by_first: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name, form, starts in _FORMS:
        for start in starts:
            by_first.setdefault(start, []).append((_TAG + name, re.compile(form)))
    return by_first


if TYPE_CHECKING:
    from yaml import SafeLoader as _Base
else:
    # libyaml reads a hundred skills in the time the Python reader takes for ten.
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CoreLoader(_Base):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = _resolvers()


def read_yaml(block: str) -> tuple[dict[str, Json], frozenset[str]]:
    """Read a block that must be a mapping.

    Returns:
        The values by key, in the order written: the text of a scalar as it stands, or the structure of anything
        else; and the keys that were given more than once, of which the last counts. A key without a value is left out.

    Raises:
        YamlError: The block is not YAML, not a mapping, or too large or deep once its aliases are expanded.
    """
    try:
        root = yaml.compose(block, Loader=_CoreLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, error.problem or "not YAML") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise YamlError(1, str(error).splitlines()[0].lower()) from error
    if root is None:
        return {}, frozenset()
    if not isinstance(root, yaml.MappingNode):
        raise YamlError(1, "expected lines of the form key: value")
    return _Reader().top(root)


class _Reader:
    """Turns nodes into values, counting them so that aliases cannot multiply without end."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def top(self, root: yaml.MappingNode) -> tuple[dict[str, Json], frozenset[str]]:
        values: dict[str, Json] = {}
        seen: set[str] = set()
        twice: set[str] = set()
        for key_node, node in root.value:
            key = _text(key_node)
            if key in seen:
                twice.add(key)
            seen.add(key)
            values.pop(key, None)
            if not isinstance(node, yaml.ScalarNode):
                values[key] = self._value(node, 1)
            elif node.tag != f"{_TAG}null":
                values[key] = node.value
        return values, frozenset(twice)

    def _value(self, node: yaml.Node, depth: int) -> Json:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise YamlError(node.start_mark.line + 1, "the structure is too large or too deep")
        if isinstance(node, yaml.MappingNode):
            return {_text(key): self._value(value, depth + 1) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, depth + 1) for item in node.value]
        return _scalar(node.tag, str(node.value))


def _text(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    raise YamlError(node.start_mark.line + 1, "a key must be plain text")


def _scalar(tag: str, text: str) -> Json:
    match tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return _integer(text)
        case "float":
            return float(text)
        case _:
            return text


def _integer(text: str) -> Json:
    if text[:2] in {"0o", "0x"}:
        number = int(text, 0) if len(text) <= len("0x") + 16 else 2**64
    else:
        number = int(text) if len(text) <= len("-9223372036854775808") else 2**64
    # JSON writers stop at 64 bits; a longer row of digits is an identifier, so its text is kept.
    return number if abs(number) < 2**63 else text
