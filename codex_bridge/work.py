"""What a turn does besides talking: told to a reader as it begins and ends, and kept as evidence.

Pure. An item may begin and never end (an approval that is cancelled, a command that outlives its turn), or end without
a word of its beginning. A reader hears of both, in that order, and once: what is still open at the end of the turn is
told as over then, as far as it is known.
"""

from collections.abc import Iterable
from typing import Final

from codex_bridge.rpc import encode
from codex_bridge.wire.items import (
    AgentMessageItem,
    CommandItem,
    CompactionItem,
    DynamicToolItem,
    FileChangeItem,
    ItemValue,
    McpToolItem,
    PictureItem,
    UnknownItem,
    WebSearchItem,
)
from harness.tools import Sent, ToolResult
from harness.turns import (
    Command,
    CommandAction,
    CommandFinished,
    CommandOutput,
    CommandStarted,
    Compacted,
    CompactionStarted,
    Evidence,
    FileChange,
    FilesChanged,
    FilesChanging,
    ToolFinished,
    ToolStarted,
    TurnEvent,
)

ACTIONS: Final = {
    "read": CommandAction.READ,
    "listFiles": CommandAction.LIST,
    "search": CommandAction.SEARCH,
}
"""What a command does, by the type of its action."""
CHILDREN: Final = frozenset({"collabAgentToolCall", "subAgentActivity"})
"""Items that tell of subagents (protocol reference, 3.6)."""
CALLS: Final = (CommandItem, DynamicToolItem, FileChangeItem, McpToolItem)
"""Items whose id is that of a call of the model."""
MOST_OUTPUT: Final = 40_000
"""Characters of a command's output that the model is shown at most: 10,000 tokens unless it asks for more."""
TERMINAL: Final = "terminal"
"""What was done when something was typed into a command that runs."""
NAMELESS: Final = "unknown"
"""What was done when an item does not say its type."""
WEB_SEARCH: Final = "web_search"
"""The name that a search of the web is told by."""
IMAGE_GENERATION: Final = "image_generation"
"""The name that the making of a picture is told by."""
RUNNING: Final = "running"
"""How a command is told that goes on behind its turn."""
UNKNOWN: Final = "unknown"
"""How something is told that nobody knows the end of."""


class Work:
    """The work of one turn."""

    def __init__(self) -> None:
        self.units = 0
        """About how many UTF-16 units of answers, calls and outputs it added to the conversation."""
        self.any = False
        """Whether it did anything at all, a search of the web among it, which is no evidence."""
        self._commands: dict[str, Command] = {}
        self._changes: dict[str, tuple[str, ...]] = {}
        self._tools: dict[str, str] = {}
        self._children: set[str] = set()
        self._others: dict[str, None] = {}
        self._open: dict[str, ItemValue] = {}
        self._sent: list[Sent] = []
        self._media: dict[str, None] = {}
        self._repeated = 0
        """How often the id of a call came again for another one."""
        self._printed: dict[str, int] = {}
        """How many characters of a command's output were told while it ran."""

    def begin(self, item: ItemValue) -> Iterable[TurnEvent]:
        """Something began."""
        self._note(item, over=False)
        return self._begun(item)

    def set_apart(self, item: ItemValue) -> None:
        """Another call begins under the id of one that is over, which is kept as one by itself."""
        self._repeated += 1
        name = f"{item.id} before {self._repeated}"
        if item.id in self._commands:
            self._commands[name] = self._commands.pop(item.id)
        if item.id in self._changes:
            self._changes[name] = self._changes.pop(item.id)
        if item.id in self._tools:
            self._tools[name] = self._tools.pop(item.id)

    def print(self, item_id: str, text: str) -> Iterable[TurnEvent]:
        """A command printed something."""
        self._printed[item_id] = self._printed.get(item_id, 0) + len(text)
        return (CommandOutput(item_id, text),)

    def type(self) -> None:
        """Something was typed into a command that runs."""
        self._others[TERMINAL] = None

    def hand_in(self, result: ToolResult) -> None:
        """A tool of ours was run, and this came of it: what it sent by itself, and files for the answer."""
        self._sent += result.sent
        self._media.update(dict.fromkeys(result.media))

    @property
    def media(self) -> tuple[str, ...]:
        """Paths of files that belong to the answer."""
        return tuple(self._media)

    def end(self, item: ItemValue) -> Iterable[TurnEvent]:
        """Something is over."""
        began = () if item.id in self._open else self._begun(item)
        self._open.pop(item.id, None)
        self._note(item, over=True)
        self.units += _size(item)
        return (*began, *self._ended(item))

    def close(self, *, goes_on: bool) -> list[TurnEvent]:
        """The turn is over, and with it whatever began and did not end.

        Args:
            goes_on: Whether a command of it outlives the turn; else nobody knows what became of it.
        """
        left, self._open = self._open, {}
        return [event for item in left.values() for event in self._left(item, goes_on=goes_on)]

    def changes_of(self, item_id: str) -> tuple[FileChange, ...]:
        """The changes that are about to be made; empty where none of that id are."""
        item = self._open.get(item_id)
        return _changes(item) if isinstance(item, FileChangeItem) else ()

    def evidence(self, messages: int) -> Evidence:
        """What was done, also what was only begun."""
        return Evidence(
            commands=tuple(self._commands.values()),
            changes=tuple(path for paths in self._changes.values() for path in paths),
            tools=tuple(self._tools.values()),
            others=tuple(self._others),
            children=len(self._children),
            sent=tuple(self._sent),
            messages=messages,
        )

    def _begun(self, item: ItemValue) -> Iterable[TurnEvent]:
        match item:
            case CommandItem(id=item_id, command=command, cwd=cwd):
                event: TurnEvent = CommandStarted(item_id, command, cwd)
            case FileChangeItem(id=item_id):
                event = FilesChanging(item_id, _changes(item))
            case McpToolItem() | DynamicToolItem() | WebSearchItem() | PictureItem():
                event = ToolStarted(item.id, tool_name(item))
            case CompactionItem(id=item_id):
                event = CompactionStarted(item_id)
            case _:
                return ()
        self._open[item.id] = item
        return (event,)

    def _ended(self, item: ItemValue) -> Iterable[TurnEvent]:
        match item:
            case CommandItem(id=item_id, command=command, status=status, exit_code=code, aggregated_output=output):
                told = self._printed.pop(item_id, 0)
                if output and len(output) != told:
                    # The pieces are what came after the first moments alone; a quick command has none (measured).
                    yield CommandOutput(item_id, output, whole=True)
                yield CommandFinished(item_id, command, status, code)
            case FileChangeItem(id=item_id, status=status):
                yield FilesChanged(item_id, status, _changes(item))
            case McpToolItem() | DynamicToolItem():
                yield ToolFinished(item.id, tool_name(item), item.status == "completed")
            case WebSearchItem():
                yield ToolFinished(item.id, WEB_SEARCH, succeeded=True)
            case PictureItem(saved_path=path):
                if path:
                    self._media[path] = None
                yield ToolFinished(item.id, IMAGE_GENERATION, succeeded=bool(path))
            case CompactionItem(id=item_id):
                yield Compacted(item_id)
            case _:
                pass

    @staticmethod
    def _left(item: ItemValue, *, goes_on: bool) -> Iterable[TurnEvent]:
        match item:
            case CommandItem(id=item_id, command=command):
                yield CommandFinished(item_id, command, RUNNING if goes_on else UNKNOWN, None)
            case FileChangeItem(id=item_id):
                yield FilesChanged(item_id, UNKNOWN, _changes(item))
            case McpToolItem() | DynamicToolItem() | WebSearchItem() | PictureItem():
                yield ToolFinished(item.id, tool_name(item), None)
            case CompactionItem(id=item_id):
                yield Compacted(item_id, succeeded=False)
            case _:
                pass

    def _note(self, item: ItemValue, *, over: bool) -> None:
        """Keep what an item does. One that only began may have done it all the same."""
        match item:
            case CommandItem(id=item_id, command=command):
                did = tuple(ACTIONS.get(each.type, CommandAction.OTHER) for each in item.command_actions)
                self._commands[item_id] = Command(command, did, over)
            case FileChangeItem(id=item_id, status=status, changes=changes):
                self._changes[item_id] = () if status == "declined" else tuple(each.path for each in changes)
            case McpToolItem() | DynamicToolItem():
                self._tools[item.id] = tool_name(item)
            case WebSearchItem():
                pass
            case PictureItem():
                self._others[IMAGE_GENERATION] = None
            case UnknownItem(id=item_id, type=kind):
                if kind in CHILDREN:
                    self._children.add(item_id or f"without id {len(self._children)}")
                else:
                    self._others[kind or NAMELESS] = None
            case _:
                return
        self.any = True


def tool_name(item: McpToolItem | DynamicToolItem | WebSearchItem | PictureItem) -> str:
    """The name that a call is told by."""
    if isinstance(item, PictureItem):
        return IMAGE_GENERATION
    if isinstance(item, WebSearchItem):
        return WEB_SEARCH
    owner = item.server if isinstance(item, McpToolItem) else item.namespace
    return f"{owner}.{item.tool}" if owner else item.tool


def _changes(item: FileChangeItem) -> tuple[FileChange, ...]:
    return tuple(FileChange(each.path, each.kind.type, each.diff, each.kind.move_path or "") for each in item.changes)


def _size(item: ItemValue) -> int:
    match item:
        case AgentMessageItem(text=text):
            return len(text)
        case CommandItem(command=command, aggregated_output=output):
            return len(command) + min(len(output or ""), MOST_OUTPUT)
        case DynamicToolItem(arguments=arguments, content_items=read):
            return len(encode([arguments, read]))
        case McpToolItem(arguments=arguments, result=read):
            return len(encode([arguments, read]))
        case _:
            return 0
