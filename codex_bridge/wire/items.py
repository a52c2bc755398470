"""What a turn is made of: messages, thoughts, commands, file changes, tool calls.

`read_item` never raises. An item of a type that we do not know, or whose content is not what we expect,
becomes an `UnknownItem` that keeps its id and type.
"""

from collections.abc import Callable
from typing import Annotated, TypeAlias, cast

from pydantic import Field, ValidationError
from pydantic_core import CoreSchema, core_schema

from codex_bridge.rpc import JsonObject
from codex_bridge.wire.base import RawJson, Received, known


class UnknownItem(Received):
    """An item that this version does not understand."""

    id: str = ""
    type: str = ""


class UserMessageItem(Received):
    """What was said to the agent; `client_id` is the id that we gave it at turn/start."""

    id: str
    client_id: str | None = None


class AgentMessageItem(Received):
    """What the agent says."""

    id: str
    text: str
    phase: Annotated[str | None, known("commentary", "final_answer")] = None


class ReasoningItem(Received):
    """What the agent thinks, as far as it is shown."""

    id: str
    summary: tuple[str, ...] = ()
    content: tuple[str, ...] = ()


class PlanItem(Received):
    """A proposed plan."""

    id: str
    text: str = ""


class CommandAction(Received):
    """What a command does, as far as Codex can tell."""

    type: Annotated[str, known("read", "listFiles", "search", "unknown")]


class CommandItem(Received):
    """A command that runs or ran."""

    id: str
    command: str
    cwd: str = ""
    status: Annotated[str, known("inProgress", "completed", "failed", "declined")] = ""
    command_actions: tuple[CommandAction, ...] = ()
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


class PatchKind(Received):
    """Whether a file is added, deleted or updated."""

    type: Annotated[str, known("add", "delete", "update")]
    move_path: str | None = Field(default=None, alias="move_path")  # as it is spelled (measured on 0.163)
    """Where an updated file is to stand afterwards; None for where it stands."""


class FileUpdate(Received):
    """The change of one file."""

    path: str
    kind: PatchKind
    diff: str = ""


class FileChangeItem(Received):
    """Changes of files."""

    id: str
    changes: tuple[FileUpdate, ...] = ()
    status: Annotated[str, known("inProgress", "completed", "failed", "declined")] = ""


class McpToolItem(Received):
    """A call of an MCP server's tool."""

    id: str
    server: str = ""
    tool: str = ""
    status: Annotated[str, known("inProgress", "completed", "failed")] = ""
    arguments: RawJson = None
    result: RawJson = None


class DynamicToolItem(Received):
    """A call of a tool that the gateway registered."""

    id: str
    tool: str
    namespace: str | None = None
    status: Annotated[str, known("inProgress", "completed", "failed")] = ""
    arguments: RawJson = None
    content_items: RawJson = None
    success: bool | None = None


class WebSearchItem(Received):
    """A search of the web."""

    id: str
    query: str = ""


class PictureItem(Received):
    """A picture that Codex's own tool makes; its bytes come along, and are not kept."""

    id: str
    status: str = ""
    saved_path: str | None = None
    """Where the server has left it, on its own disk; None while it is made, and when there is none."""


class CompactionItem(Received):
    """The history was summarised to make room."""

    id: str


ItemValue: TypeAlias = (
    UserMessageItem
    | AgentMessageItem
    | ReasoningItem
    | PlanItem
    | CommandItem
    | FileChangeItem
    | McpToolItem
    | DynamicToolItem
    | WebSearchItem
    | PictureItem
    | CompactionItem
    | UnknownItem
)

ITEMS: dict[str, type[ItemValue]] = {
    "userMessage": UserMessageItem,
    "agentMessage": AgentMessageItem,
    "reasoning": ReasoningItem,
    "plan": PlanItem,
    "commandExecution": CommandItem,
    "fileChange": FileChangeItem,
    "mcpToolCall": McpToolItem,
    "dynamicToolCall": DynamicToolItem,
    "webSearch": WebSearchItem,
    "imageGeneration": PictureItem,
    "contextCompaction": CompactionItem,
}
"""The item types that we read, by the name they have on the wire."""


def read_item(raw: object) -> ItemValue:
    """Read one item as far as we understand it. Never raises."""
    if not isinstance(raw, dict):
        return UnknownItem()
    item = cast("JsonObject", raw)
    kind, item_id = item.get("type"), item.get("id")
    model = ITEMS.get(kind) if isinstance(kind, str) else None
    if model is not None:
        try:
            return model.read_from(item)
        except ValidationError:
            pass  # known by name but not as we know it: a newer server
    return UnknownItem.model_construct(
        id=item_id if isinstance(item_id, str) else "", type=kind if isinstance(kind, str) else ""
    )


class _ReadItem:
    """Makes a field read its item with `read_item` alone."""

    def core_schema(self, _inner: Callable[[], CoreSchema]) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(read_item)


Item: TypeAlias = Annotated[ItemValue, _ReadItem()]
"""A field that holds an item."""
