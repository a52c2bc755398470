"""What a tool of the agent is, whoever offers it and whichever backend registers it.

Pure values. A gateway registers them with the backend; a tool is a plain value, so that the list of an agent's tools
can be compared, sorted and fingerprinted.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from harness.json_value import Json
from harness.lean_values import dataclass
from harness.units import utf16_units

if TYPE_CHECKING:
    from harness.turns import PlanChanged

LONGEST_NAME = 80
"""How much of a strange argument's name is repeated to the model."""
NAMESPACE = "openclaw"
"""Where a tool belongs that says nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a call put into a chat by itself."""

    channel: str
    chat: str
    """The channel's own id of the chat."""
    topic: str | None = None
    """The channel's own id of the topic or thread inside the chat; empty for none, None for that of the turn."""
    text: str = ""
    media: tuple[str, ...] = ()
    """Paths or addresses of what went along."""
    final: bool = False
    """It is the answer of the turn, and nothing more is to come."""


@dataclass(frozen=True, slots=True)
class ToolPicture:
    """A picture that the model sees in a result."""

    media_type: str
    """Such as "image/png"."""
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call came to."""

    success: bool
    text: str
    """What the model reads."""
    ends_turn: bool = False
    """The model goes on although nothing is left to do: the backend stops the turn."""
    plan: "PlanChanged | None" = None
    """A plan that the call gave, for whoever runs the turn to tell."""
    pictures: tuple[ToolPicture, ...] = ()
    """What the model sees besides."""
    sent: tuple[Sent, ...] = ()
    """What the call put into chats itself."""
    media: tuple[str, ...] = ()
    """Paths of files that the call made and that belong to the answer of the turn."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the agent."""

    name: str
    description: str
    """What the model is told of it; the same on every turn."""
    input_schema: Mapping[str, Json]
    """The JSON schema of its arguments, an object. Not to be changed: another schema is another mapping."""
    call: Callable[[Mapping[str, Json]], Awaitable[ToolResult]]
    """Takes the model's arguments; a call that cannot be served says why in its result and raises nothing."""
    owner: str = "the gateway"
    """Who brings it, such as a plugin's name, for whoever has to be told that something is wrong with it."""
    namespace: str = NAMESPACE
    """The group that a backend shows it in, where it has groups. Tools that name the same one are in one group."""
    seconds: float | None = None
    """How long a call may take; None for the backend's own limit."""


def name_of(tool: Tool) -> str:
    """The name of a tool that may be anybody's object; empty when it has none that can be read."""
    try:
        return str(tool.name)
    except Exception:  # other people's code
        return ""


def cut_result(text: str, units: int) -> str:
    """Return what the model reads of a result: at most `units` UTF-16 units, the word of what was cut among them.

    A backend cuts each result once, to what `TurnRequest.excerpts` allows on the model of the turn.
    """
    size = utf16_units(text)
    if size <= units:
        return text
    from harness.workspace.boundaries import cut_with_line  # few results are that long

    return cut_with_line(text, units, f"[cut: the whole has {size:,} UTF-16 units; ask for less at a time]")


def strange_argument(tool: str, schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> str:
    """Return the sentence for an argument that a tool's schema does not have; empty when there is none."""
    properties = schema.get("properties")
    known = sorted(properties) if isinstance(properties, dict) else []
    strange = sorted(set(arguments).difference(known))
    if not strange:
        return ""
    return f"{strange[0][:LONGEST_NAME]!r} is no argument of {tool}; it takes {', '.join(known)}."
