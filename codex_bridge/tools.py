"""How the agent's tools are registered with a thread of Codex.

Pure. Codex has files, commands and plans of its own, so the gateway's tools for these stay out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, cast

import orjson

from codex_bridge.rpc import Json
from codex_bridge.wire.requests import DynamicTool, FunctionTool, ToolNamespace
from harness.json_value import Json as Value
from harness.lean_values import dataclass
from harness.tools import Tool

NATIVE: Final = frozenset(
    {
        "read", "write", "edit", "apply_patch", "exec", "process", "update_plan", "tool_call", "tool_describe",
        "tool_search", "tool_search_code",
    }
)  # fmt: skip
"""Names of which Codex has its own (harness reference, 5.1)."""
DIRECT: Final = frozenset({"memory_search", "memory_get", "heartbeat_respond", "message", "sessions_yield"})
"""Tools that the model sees at once; the others it finds through tool_search."""
NAMESPACE: Final = "openclaw"
NAMESPACE_DESCRIPTION: Final = "Tools of the gateway that this agent runs in."
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Registered:
    """What is registered with a thread."""

    specs: tuple[DynamicTool, ...] = ()
    names: tuple[str, ...] = ()
    """Of all that are registered, sorted."""
    fingerprint: str = ""
    """Of names and schemas, without order and descriptions; empty when there are none."""
    problems: tuple[str, ...] = ()
    """One sentence for each tool that cannot be registered."""


class Registrar:
    """Says how the tools of turns are registered, and works it out once for as long as turn after turn has the same.

    Args:
        direct: As for `registered`.
        exclude: As for `registered`.
    """

    def __init__(self, *, direct: bool = False, exclude: Iterable[str] = ()) -> None:
        self._direct = direct
        self._exclude = tuple(exclude)
        self._offered: list[tuple[str, str, Mapping[str, Value]]] = []
        self._made = Registered()

    def registered(self, tools: Sequence[Tool]) -> Registered:
        """The very same value for tools that differ from the last ones only in who serves them."""
        offered = [(tool.name, tool.description, tool.input_schema) for tool in tools]
        if offered != self._offered:
            self._made = registered(tools, direct=self._direct, exclude=self._exclude)
            self._offered = offered
        return self._made


def registered(tools: Sequence[Tool], *, direct: bool = False, exclude: Iterable[str] = ()) -> Registered:
    """Say how an agent's tools are registered.

    Args:
        tools: The agent's tools.
        direct: Show all of them to the model at once.
        exclude: Names to leave out, besides those that Codex has itself.
    """
    left_out = NATIVE | {name.strip().lower() for name in exclude}
    problems: list[str] = []
    sound: dict[str, Tool] = {}
    for tool in tools:
        if tool.name.lower() in left_out:
            continue
        problem = _problem(tool, sound)
        if problem:
            problems.append(f"The tool {tool.name!r} is left out: {problem}.")
        else:
            sound[tool.name] = tool
    ordered = [sound[name] for name in sorted(sound)]
    shown = [tool for tool in ordered if direct or tool.name in DIRECT]
    deferred = [tool for tool in ordered if not direct and tool.name not in DIRECT]
    specs: list[DynamicTool] = [_spec(tool) for tool in shown]
    if deferred:
        inner = [_spec(tool, deferred=True) for tool in deferred]
        specs.append(ToolNamespace(name=NAMESPACE, description=NAMESPACE_DESCRIPTION, tools=inner))
    return Registered(tuple(specs), tuple(sorted(sound)), fingerprint(ordered), tuple(problems))


def fingerprint(tools: Sequence[Tool]) -> str:
    """A digest of names and schemas, the same whatever their order and descriptions are (spec 4, C8)."""
    if not tools:
        return ""
    known = sorted([tool.name, _undescribed(cast("Value", dict(tool.input_schema)))] for tool in tools)
    return sha256(orjson.dumps(known, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def _problem(tool: Tool, known: Mapping[str, Tool]) -> str:
    if not _NAME.fullmatch(tool.name):
        return "its name has other characters than letters, digits, '_' and '-', or more than 128"
    if tool.name in known:
        return "another one has the same name"
    if tool.input_schema.get("type") != "object":
        return "its schema is no object"
    try:
        orjson.dumps(dict(tool.input_schema))
    except TypeError as error:
        return f"its schema is not JSON ({error})"
    return ""


def _spec(tool: Tool, *, deferred: bool = False) -> FunctionTool:
    schema = cast("Json", dict(tool.input_schema))
    spec = FunctionTool(name=tool.name, description=tool.description, input_schema=schema)
    return spec.model_copy(update={"defer_loading": True}) if deferred else spec


def _undescribed(schema: Value) -> Value:
    if isinstance(schema, dict):
        return {name: _undescribed(value) for name, value in schema.items() if name != "description"}
    return [_undescribed(value) for value in schema] if isinstance(schema, list) else schema
