"""Tools of which some cannot be registered (T11), and what is left of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from codex_bridge.wire.requests import DynamicTool, ToolNamespace
from harness.json_value import Json
from harness.toolbox import ToolTurn
from harness.tools import Tool, ToolResult


async def echo(arguments: Mapping[str, Json]) -> ToolResult:
    return ToolResult(success=True, text=f"got {dict(arguments)}")


SCHEMA: dict[str, Json] = {"type": "object", "properties": {"text": {"type": "string", "description": "What to say."}}}


def tool(name: str, description: str = "Does a thing.", schema: Mapping[str, Json] = SCHEMA) -> Tool:
    return Tool(name, description, schema, echo)


class Box:
    """Tools that are the same on every turn."""

    def __init__(self, *tools: Tool) -> None:
        self._tools = tools
        self.names = frozenset(each.name for each in tools)

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        del turn
        return self._tools


class Unreadable(Tool):
    """A tool whose schema cannot be looked at."""

    @property
    def input_schema(self) -> Mapping[str, Json]:  # type: ignore[override]
        raise OSError("secret path")


def unreadable(name: str) -> Tool:
    made = object.__new__(Unreadable)
    for field, value in (("name", name), ("description", "D"), ("owner", "a plugin"), ("namespace", "openclaw")):
        object.__setattr__(made, field, value)
    return made


GRID: dict[str, Json] = {
    "type": "object",
    "properties": {"p": {"type": "array", "items": [{"type": "number"}, {"type": "number"}]}},
}
NULL: dict[str, Json] = {"type": "object", "properties": {"p": None}}
OFFERED = (
    tool("message"),
    tool("web_search"),
    replace(tool("weather.now"), owner="sky\u202e\n plugin"),
    replace(tool("mcp__evil"), owner="evil"),
    tool("n" * 129),
    tool("café"),
    tool("grid", schema=GRID),
    unreadable("ledger"),
    tool("null", schema=NULL),
    tool("notes"),
    replace(tool("notes"), owner="a second plugin"),
    replace(tool("look"), namespace="chat"),
    replace(tool("read_all"), namespace="chat", owner="another"),
    replace(tool("date"), namespace="clock"),
    replace(tool("dotted"), namespace="a.b"),
)
KEPT = {
    "": ["message"],
    "openclaw": ["grid", "notes", "web_search"],
    "chat": ["look", "read_all"],
}
LEFT_OUT = [
    r"The tool 'weather.now' of sky\u202e\n plugin is left out: its name has other characters than letters, digits, "
    "'_' and '-'.",
    "The tool 'mcp__evil' of evil is left out: its name has the form that is kept for MCP servers.",
    f"The tool '{'n' * 80}...' of the gateway is left out: its name has 129 characters, and at most 128 may be.",
    r"The tool 'caf\xe9' of the gateway is left out: its name has other characters than letters, digits, '_' and '-'.",
    "The tool 'ledger' of a plugin is left out: it cannot be read (OSError).",
    "The tool 'null' of the gateway is left out: its schema has null at /properties/p in place of a schema.",
    "The tool 'notes' of a second plugin is left out: another one has the same name.",
    "The tool 'date' of the gateway is left out: its namespace 'clock' is one of Codex or of the model's provider.",
    "The tool 'dotted' of the gateway is left out: its namespace has other characters than letters, digits, '_' and "
    "'-'.",
    "So 9 of 15 tools of this agent are left out, and 6 are kept.",
]


def groups(specs: Sequence[DynamicTool]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"": []}
    for spec in specs:
        if isinstance(spec, ToolNamespace):
            assert spec.name not in found
            found[spec.name] = [each.name for each in spec.tools]
        else:
            found[""].append(spec.name)
    return found
