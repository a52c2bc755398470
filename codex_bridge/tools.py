"""How the agent's tools are registered with a thread of Codex.

Pure. Codex refuses a whole thread for one tool that it does not take, and has files, commands and plans of its own; so
what it would refuse is left out with a reason, and the gateway's tools for what it has itself stay out without one.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import orjson

from codex_bridge.rpc import Json
from codex_bridge.wire.requests import DynamicTool, FunctionTool, ToolNamespace
from harness.lean_values import dataclass
from harness.tools import NAMESPACE, Tool, name_of

if TYPE_CHECKING:
    from codex_bridge.tool_schemas import Schema

NATIVE: Final = frozenset(
    {
        "read", "write", "edit", "apply_patch", "exec", "process", "update_plan", "tool_call", "tool_describe",
        "tool_search", "tool_search_code",
    }
)  # fmt: skip
"""Names of which Codex has its own (harness reference, 5.1)."""
DIRECT: Final = frozenset({"memory_search", "memory_get", "heartbeat_respond", "message", "sessions_yield"})
"""Tools that the model sees at once; the others it finds through tool_search."""
BUILT_IN: Final = frozenset(
    {
        "exec_command", "write_stdin", "view_image", "web_search", "request_user_input", "request_user_input_async",
        "request_permissions", "get_goal", "create_goal", "update_goal", "shell", "local_shell", "wait", "sleep",
        "spawn_agent", "list_mcp_resources", "read_mcp_resource",
    }
)  # fmt: skip
"""Names that Codex gives tools of its own on some model. One of ours that stands beside them is never called, or is
offered twice (measured); in a group it is called, so ours stand there."""
RESERVED: Final = frozenset(
    {
        "api_tool", "browser", "computer", "container", "file_search", "functions", "image_gen", "multi_tool_use",
        "python", "python_user_visible", "submodel_delegator", "terminal", "tool_search", "web",
        "clock", "collaboration", "multi_agent_v1",
    }
)  # fmt: skip
"""Names of groups that Codex refuses, and in the last line those whose tools are Codex's own on some model
(measured on both versions)."""
NAMESPACE_DESCRIPTION: Final = "Tools of the gateway that this agent runs in."
_NAME: Final = re.compile(r"[A-Za-z0-9_-]*")
_LONGEST_NAME: Final = 128
_LONGEST_NAMESPACE: Final = 64
_LONGEST_SHOWN: Final = 80
"""Characters of a strange name that are repeated; our choice."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A tool that is left out."""

    name: str
    """With control characters, and whatever is not ASCII, escaped; cut where it is long."""
    owner: str
    """Likewise."""
    reason: str
    """The rest of a sentence about it."""

    def __str__(self) -> str:
        return f"The tool '{self.name}' of {self.owner} is left out: {self.reason}."


@dataclass(frozen=True, slots=True)
class Registered:
    """What is registered with a thread."""

    specs: tuple[DynamicTool, ...] = ()
    names: tuple[str, ...] = ()
    """Of all that are registered, sorted, each once."""
    fingerprint: str = ""
    """Of names and schemas, without order and descriptions; empty when there are none."""
    kept: int = 0
    """How many are registered."""
    left_out: tuple[Quarantined, ...] = ()
    """Those that cannot be registered."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What an operator has to know: a sentence for each that is left out, and how many there are of both kinds."""
        if not self.left_out:
            return ()
        count = f"{len(self.left_out)} of {self.kept + len(self.left_out)}"
        return (*map(str, self.left_out), f"So {count} tools of this agent are left out, and {self.kept} are kept.")


_Offered: TypeAlias = list[tuple[str, str, object, str]]


class Registrar:
    """Says how the tools of turns are registered, and works it out once for as long as turn after turn has the same.

    Args:
        direct: As for `registered`.
        exclude: As for `registered`.
    """

    def __init__(self, *, direct: bool = False, exclude: Iterable[str] = ()) -> None:
        self._direct = direct
        self._exclude = tuple(exclude)
        self._offered: _Offered | None = []
        self._made = Registered()
        self._told: set[tuple[str, ...]] = set()
        self._untold: tuple[str, ...] = ()

    def registered(self, tools: Sequence[Tool]) -> Registered:
        """The very same value for tools that differ from the last ones only in who serves them."""
        try:
            offered: _Offered | None = [
                (tool.name, tool.description, tool.input_schema, tool.namespace) for tool in tools
            ]
            same = offered == self._offered
        except Exception:  # a tool of somebody's cannot be read; it is left out below
            offered, same = None, False
        if not same:
            self._made = registered(tools, direct=self._direct, exclude=self._exclude)
            self._offered = offered
            if (problems := self._made.problems) and problems not in self._told:
                self._told.add(problems)
                self._untold = problems
        return self._made

    def untold(self) -> tuple[str, ...]:
        """What is wrong with the tools and was not told before, see `Registered.problems`; gives it once."""
        untold, self._untold = self._untold, ()
        return untold


def registered(tools: Sequence[Tool], *, direct: bool = False, exclude: Iterable[str] = ()) -> Registered:
    """Say how an agent's tools are registered.

    Args:
        tools: The agent's tools, which may be anybody's objects: one that cannot be read costs no other.
        direct: Show all of them to the model at once.
        exclude: Names to leave out, besides those that Codex has itself.
    """
    excluded = NATIVE | {name.strip().lower() for name in exclude}
    left_out: list[Quarantined] = []
    sound: dict[tuple[str, str], _Sound] = {}
    for tool in tools:
        if name_of(tool).lower() in excluded:
            continue
        read = _read(tool, direct=direct)
        if isinstance(read, _Sound) and (read.namespace, read.name) in sound:
            read = "another one has the same name"
        if isinstance(read, str):
            left_out.append(_quarantined(tool, read))
        else:
            sound[read.namespace, read.name] = read
    ordered = [sound[key] for key in sorted(sound)]
    groups: defaultdict[str, list[FunctionTool]] = defaultdict(list)
    for each in ordered:
        groups[each.namespace].append(each.spec)
    specs: list[DynamicTool] = [*groups.pop("", [])]
    specs += [ToolNamespace(name=name, description=_about(name), tools=inner) for name, inner in groups.items()]
    names = tuple(sorted({each.name for each in ordered}))
    return Registered(tuple(specs), names, _fingerprint(ordered), len(ordered), tuple(left_out))


@dataclass(frozen=True, slots=True)
class _Sound:
    namespace: str
    """Empty for a tool in no group."""
    name: str
    schema: "Schema"
    spec: FunctionTool


def _read(tool: Tool, *, direct: bool) -> _Sound | str:
    """What is registered of a tool, or why it is left out."""
    from codex_bridge.tool_schemas import UnfitSchemaError, projected  # once for as long as the tools are the same

    name = name_of(tool)
    try:
        namespace, schema = str(tool.namespace), projected(tool.input_schema)
    except UnfitSchemaError as error:
        return str(error)
    except Exception as error:  # other people's code
        return f"it cannot be read ({type(error).__name__})"
    if problem := _name_problem(name, "name", _LONGEST_NAME):
        return problem
    if problem := _name_problem(namespace, "namespace", _LONGEST_NAMESPACE):
        return problem
    if namespace in RESERVED:
        return f"its namespace {namespace!r} is one of Codex or of the model's provider"
    try:
        description = str(tool.description)
    except Exception:  # other people's code
        description = ""
    description = description.encode("utf-8", "replace").decode()  # half a pair would cost the whole request
    shown = direct or name in DIRECT
    at_the_top = namespace == NAMESPACE and shown and name not in BUILT_IN
    spec = FunctionTool(name=name, description=description, input_schema=cast("Json", schema))
    if not shown:
        spec = spec.model_copy(update={"defer_loading": True})
    return _Sound("" if at_the_top else namespace, name, schema, spec)


def _name_problem(name: str, what: str, longest: int) -> str:
    if not name:
        return f"it has no {what}"
    if len(name) > longest:
        return f"its {what} has {len(name)} characters, and at most {longest} may be"
    if not _NAME.fullmatch(name):
        return f"its {what} has other characters than letters, digits, '_' and '-'"
    if name == "mcp" or name.startswith("mcp__"):
        return f"its {what} has the form that is kept for MCP servers"
    return ""


def owner_of(tool: Tool) -> str:
    """Who brings a tool that may be anybody's object, as an operator is told it."""
    try:
        owner = str(tool.owner).strip()
    except Exception:  # other people's code
        owner = ""
    return _escaped(owner or "an unknown owner")


def _quarantined(tool: Tool, reason: str) -> Quarantined:
    return Quarantined(_escaped(name_of(tool)), owner_of(tool), _escaped(reason, None))


def _escaped(text: str, longest: int | None = _LONGEST_SHOWN) -> str:
    cut = text if longest is None or len(text) <= longest else f"{text[:longest]}..."
    return cut.encode("unicode_escape").decode()


def _about(namespace: str) -> str:
    return NAMESPACE_DESCRIPTION if namespace == NAMESPACE else f"Tools of the gateway for {namespace}."


def _fingerprint(tools: Sequence[_Sound]) -> str:
    """A digest of names and schemas, the same whatever their order and descriptions are (spec 4, C8)."""
    if not tools:
        return ""
    from codex_bridge.tool_schemas import undescribed

    known: list[list[str | Schema]] = []
    for each in sorted(tools, key=lambda each: (each.namespace or NAMESPACE, each.name)):
        other = [] if each.namespace in ("", NAMESPACE) else [each.namespace]
        known.append([*other, each.name, undescribed(each.schema)])
    return sha256(orjson.dumps(known, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
