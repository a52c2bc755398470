"""What the head of a SKILL.md says: its keys and values, and what was wrong with it.

Pure. YAML is tried first; where it fails, the lines speak for themselves and the person is told.
"""

import json
from dataclasses import dataclass, field
from typing import Final

import orjson

from harness.json_value import Json
from harness.skills.lines import read_lines

FENCE: Final = "---"


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The values of a head, all as text; a structure is JSON text."""

    values: dict[str, str]
    problems: tuple[str, ...] = ()
    """Clauses about the head, such as "its YAML is broken in line 3"."""
    broken: bool = False
    """It is no YAML and was read line by line, so that values may be lacking."""
    structures: dict[str, str] = field(default_factory=dict[str, str])
    """JSON of the structures that YAML saw where the line's own text was kept as the value."""


def read_frontmatter(text: str) -> Frontmatter:
    """Read the block between the `---` lines at the top of `text` (prompt-builder 8.3)."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        return Frontmatter({}, (f"its first line is not {FENCE}, so it has no name and description",))
    end = next((index for index, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        return Frontmatter({}, (f"the {FENCE} line that ends its head is missing",))
    return _read_block("\n".join(lines[1:end]))


def _read_block(block: str) -> Frontmatter:
    from harness.skills.yaml_core import YamlError, read_yaml  # only an agent with skills pays for a YAML reader

    try:
        values, twice = read_yaml(block)
    except YamlError as error:
        # The fence is line 1 of the file.
        problem = (
            f"line {error.line + 1} is not valid YAML ({error.problem}), so its head was read line by line; "
            "put values that hold a colon in quotes and indent with spaces"
        )
        return Frontmatter({key: value.text for key, value in read_lines(block).items()}, (problem,), broken=True)
    problems = tuple(f"{key} is given more than once, and the last one counts" for key in sorted(twice))
    if all(isinstance(value, str) for value in values.values()):
        return Frontmatter({key: str(value) for key, value in values.items()}, problems)
    texts = {key: value if isinstance(value, str) else _json(value) for key, value in values.items()}
    kept = {
        key: line.text
        for key, line in read_lines(block).items()
        if ":" in line.inline and not isinstance(values.get(key, ""), str)
    }
    return Frontmatter(texts | kept, problems, structures={key: texts[key] for key in kept})


def _json(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # half of a surrogate pair, which JSON can hold only as an escape
        return json.dumps(value)
