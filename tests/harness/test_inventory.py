"""How large tools and skills are (S67, prompt-builder 13.1)."""

from collections.abc import Mapping
from hashlib import sha256

from harness.inventory import Inventory, SkillLine, ToolLine, tool_line, tool_lines
from harness.json_value import Json
from harness.tools import Tool, ToolResult


async def nothing(_: Mapping[str, Json]) -> ToolResult:
    raise NotImplementedError


def test_a_tool_is_measured_by_its_summary_and_its_schema_as_json() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"who": {"type": "string"}, "🦞": {}}}
    text = '{"properties":{"who":{"type":"string"},"🦞":{}},"type":"object"}'
    assert tool_line("greet", "Says hello 🦞", schema) == ToolLine(
        name="greet",
        summary_units=13,
        summary_hash=sha256("Says hello 🦞".encode()).hexdigest(),
        schema_units=len(text) + 1,
        schema_hash=sha256(text.encode()).hexdigest(),
        properties=2,
    )


def test_what_is_not_known_of_a_tool_is_not_counted() -> None:
    """The schemas of a gateway's own tools are its own."""
    known, bare = tool_line("a", "", {"type": "object"}), tool_line("b", "", None)
    assert (bare.schema_units, bare.schema_hash, bare.properties, known.properties) == (None, "", None, 0)
    found = Inventory(tools=(known, bare))
    assert (found.schema_units, found.unknown_schemas) == (len('{"type":"object"}'), 1)


def test_tools_stand_in_the_order_of_their_names_whoever_offers_them() -> None:
    tools = [Tool(name, name, {"type": "object"}, nothing) for name in ("b", "a")]
    assert [line.name for line in tool_lines(tools)] == ["a", "b"]


def test_the_data_has_an_entry_for_each_tool_and_skill() -> None:
    line = tool_line("a", "x", {"type": "object"})
    found = Inventory(
        tools=(line,), tool_list_units=4, skills=(SkillLine("tide", 90),), skills_units=300, skills_hash="h"
    )
    assert found.as_data() == {
        "skills": {"promptUnits": 300, "hash": "h", "entries": [{"name": "tide", "blockUnits": 90}]},
        "tools": {
            "listUnits": 4,
            "schemaUnits": 17,
            "entries": [
                {
                    "name": "a",
                    "summaryUnits": 1,
                    "summaryHash": sha256(b"x").hexdigest(),
                    "schemaUnits": 17,
                    "schemaHash": sha256(b'{"type":"object"}').hexdigest(),
                    "propertiesCount": 0,
                }
            ],
        },
    }
