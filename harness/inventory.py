"""How large the tools and skills of a turn are: what `/context` and `status` say of them (prompt-builder 13.1, S67).

Pure. Sizes are UTF-16 units.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from harness.json_value import Json
from harness.tools import Tool
from harness.units import utf16_units


@dataclass(frozen=True, slots=True)
class ToolLine:
    """One tool that the model is offered."""

    name: str
    summary_units: int
    """Size of what it is said to be for."""
    summary_hash: str
    schema_units: int | None
    """Size of the JSON schema of its arguments; None where the gateway has it and we have not."""
    schema_hash: str
    properties: int | None
    """Number of its arguments; None where that is not known."""


@dataclass(frozen=True, slots=True)
class SkillLine:
    """One listed skill and the size of its entry."""

    name: str
    units: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """The tools and skills of a turn."""

    tools: tuple[ToolLine, ...] = ()
    tool_list_units: int = 0
    """Size of the text that lists the tools."""
    skills: tuple[SkillLine, ...] = ()
    skills_units: int = 0
    """Size of the text that lists the skills."""
    skills_hash: str = ""

    @property
    def schema_units(self) -> int:
        """Size of all schemas that are known: they count towards the context and are no text of the prompt."""
        return sum(line.schema_units or 0 for line in self.tools)

    @property
    def unknown_schemas(self) -> int:
        """How many tools there are whose schema only the gateway has."""
        return sum(line.schema_units is None for line in self.tools)

    def as_data(self) -> dict[str, Any]:
        """The inventory as JSON data."""
        return {
            "skills": {
                "promptUnits": self.skills_units,
                "hash": self.skills_hash,
                "entries": [{"name": line.name, "blockUnits": line.units} for line in self.skills],
            },
            "tools": {
                "listUnits": self.tool_list_units,
                "schemaUnits": self.schema_units,
                "entries": [
                    {
                        "name": line.name,
                        "summaryUnits": line.summary_units,
                        "summaryHash": line.summary_hash,
                        "schemaUnits": line.schema_units,
                        "schemaHash": line.schema_hash,
                        "propertiesCount": line.properties,
                    }
                    for line in self.tools
                ],
            },
        }


def tool_line(name: str, summary: str, schema: Mapping[str, Json] | None) -> ToolLine:
    """Measure one tool."""
    text = None if schema is None else orjson.dumps(dict(schema), option=orjson.OPT_SORT_KEYS).decode()
    properties = schema.get("properties") if schema is not None else None
    return ToolLine(
        name=name,
        summary_units=utf16_units(summary),
        summary_hash=_hash(summary),
        schema_units=None if text is None else utf16_units(text),
        schema_hash="" if text is None else _hash(text),
        properties=None if schema is None else len(properties) if isinstance(properties, dict) else 0,
    )


def tool_lines(tools: Iterable[Tool]) -> tuple[ToolLine, ...]:
    """Measure tools, in the order of their names."""
    found = (tool_line(tool.name, tool.description, tool.input_schema) for tool in tools)
    return tuple(sorted(found, key=lambda line: line.name))


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest() if text else ""
