"""What is done when Codex refuses a conversation for the tools that it is to have.

What the known versions refuse is left out beforehand, see `tools`; a later one may refuse more. A tool that it names is
left out then, and if that is of no help, or it names none, all are: an agent without tools answers, one without a
thread does not.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from codex_bridge.errors import RpcError
from codex_bridge.failures import Trouble, trouble_of
from codex_bridge.servers import Connection
from codex_bridge.tools import Registered, owner_of
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import DynamicTool, ThreadOpened, ToolNamespace
from harness.approvals.display import plain
from harness.tools import NAMESPACE
from harness.turns import Notice

Named: TypeAlias = frozenset[tuple[str, str]]
"""Tools by their groups, as they are registered, and names; a tool in no group has an empty one."""
_SAID: Final = (r"""[`'"“]{}[`'"”]""", r"(?<![\w-]){}(?![\w-])")
"""How a refusal names something: in quotes, or else as a word."""
MOST_NAMED: Final = 5
"""Tools that are named in one sentence; our choice."""

logger = logging.getLogger("codex_bridge")


def blames_tools(error: RpcError, turn: CodexTurn) -> bool:
    """Whether a refused thread/start may have been refused for its tools."""
    return turn.tools.kept > 0 and trouble_of(error) is Trouble.OTHER


async def start_with_less(
    refused: RpcError, connection: Connection, turn: CodexTurn, start: Callable[[], Awaitable[ThreadOpened]]
) -> ThreadOpened:
    """Begin the thread without what was refused of its tools, and have the operator told.

    Raises:
        RpcError: It is not for them: what was refused first.
        CodexError: The server went away.
    """
    tools = turn.tools
    everything = frozenset(_registered(tools.specs))
    for gone in dict.fromkeys((named(tools, refused.message), everything)):
        turn.take_tools(without(tools, gone))
        try:
            opened = await start()
        except RpcError as error:
            logger.warning("a thread without %s: %s", sorted(gone), error)
            continue
        connection.refused_tools |= gone
        text = _told(turn, gone, everything, refused)
        logger.warning("%s", text)
        turn.buffer.push(Notice(text))
        return opened
    turn.take_tools(tools)
    raise refused


def fit(connection: Connection, turn: CodexTurn) -> None:
    """Leave out of a turn's tools what its server has refused before."""
    turn.take_tools(without(turn.tools, frozenset(connection.refused_tools)))


def named(tools: Registered, words: str) -> Named:
    """The tools that a refusal names by themselves, or by their group; all of them when it names none."""
    known = list(_registered(tools.specs))
    for form in _SAID:
        by_name = [each for each in known if re.search(form.format(re.escape(each[1])), words)]
        by_group = [each for each in known if each[0] and re.search(form.format(re.escape(each[0])), words)]
        both = [each for each in by_name if each in by_group]
        if found := both or by_name or by_group:
            return frozenset(found)
    return frozenset(known)


def without(tools: Registered, gone: Named) -> Registered:
    """Registered tools without some. The fingerprint stays: it says which ones the conversation is to have."""
    specs: list[DynamicTool] = []
    for spec in tools.specs:
        if not isinstance(spec, ToolNamespace):
            specs += [] if ("", spec.name) in gone else [spec]
        elif inner := [each for each in spec.tools if (spec.name, each.name) not in gone]:
            specs.append(spec.model_copy(update={"tools": inner}))
    left = [name for _, name in _registered(specs)]
    return replace(tools, specs=tuple(specs), names=tuple(sorted(set(left))), kept=len(left))


def _registered(specs: Iterable[DynamicTool]) -> Iterator[tuple[str, str]]:
    for spec in specs:
        if isinstance(spec, ToolNamespace):
            yield from ((spec.name, each.name) for each in spec.tools)
        else:
            yield "", spec.name


def _told(turn: CodexTurn, gone: Named, everything: Named, refused: RpcError) -> str:
    called = [f"'{name}' of {_owner(turn, group or NAMESPACE, name)}" for group, name in sorted(gone)]
    if len(called) == 1:
        what, are = f"the tool {called[0]}", "it is"
    elif gone == everything or len(called) > MOST_NAMED:
        which = "all" if gone == everything else "some"
        what, are = f"{which} {len(called)} tools of this agent", "they are"
    else:
        what, are = f"the tools {', '.join(called)}", "they are"
    word = plain(refused.message).text
    return f"Codex refuses {what}, so {are} left out until it is started anew. It says: {word}"


def _owner(turn: CodexTurn, group: str, name: str) -> str:
    for tool in turn.request.tools:
        try:
            if (tool.namespace, tool.name) == (group, name):
                return owner_of(tool)
        except Exception:  # other people's code, and left out before
            logger.debug("a tool cannot be read", exc_info=True)
    return "the gateway"
