"""What happens when the model calls one of the agent's tools.

The server waits for ever for the answer of a tool (protocol reference, 5), so each call has a deadline here. A tool
that does not even stop when it is told to is left to itself: the model has its answer, and what it comes to is dropped.
"""

import asyncio
import base64
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Final, TypeAlias, cast

from codex_bridge.wire.server_requests import ToolCall, ToolPictureUrl, ToolResult, ToolText
from harness.json_value import Json
from harness.pictures import picture_problem, picture_type
from harness.tool_hooks import ToolHook
from harness.tool_running import called
from harness.tools import Tool, ToolPicture, cut_result, name_of
from harness.tools import ToolResult as Result
from harness.units import units_within

TOOL_SECONDS: Final = 90.0
"""How long a call may take, unless the tool or the model says otherwise (spec 5)."""
MOST_TOOL_SECONDS: Final = 600.0
"""How long it may take at most, whoever says so (spec 5)."""
HEADROOM: Final = 30.0
"""Seconds beyond the time that the model asks of a tool, so that its own word of the end of that comes first (H2)."""
MOST_PICTURES: Final = 10_000_000
"""Bytes of all pictures of one result; our choice."""

logger = logging.getLogger("codex_bridge")

_left: "set[asyncio.Task[Result]]" = set()
"""Calls that were given up and have not come to an end."""
_Content: TypeAlias = list[ToolText | ToolPictureUrl]


async def serve(
    call: ToolCall,
    tools: Sequence[Tool],
    *,
    done: Callable[[Result], object],
    units: int,
    ceiling: int,
    hooks: Sequence[ToolHook] = (),
    session_key: str = "",
) -> ToolResult:
    """Run one call of the model and say what it came to; never raises for what a tool does.

    Args:
        call: The call.
        tools: The tools of the turn.
        done: Hears what the tool came to, also that the turn is to end, when it was run to its end.
        units: How long an answer may be, in UTF-16 units.
        ceiling: How long the server lets it be, in bytes of UTF-8; see `ServerCapabilities.tool_result_bytes`.
        hooks: What stands before and after the call.
        session_key: The conversation, for the hooks.
    """
    tool = _found(call, tools)
    if tool is None:
        return _answer(False, f"There is no tool called {call.tool} on this turn.")
    given: object = call.arguments
    if not isinstance(given, dict):
        return _answer(False, f"The arguments of {call.tool} must be an object.")
    arguments = cast("Mapping[str, Json]", given)
    seconds = TOOL_SECONDS
    try:
        seconds = seconds_for(tool, arguments)
        result = await _within(called(tool, arguments, hooks, session_key), seconds)
    except TimeoutError:
        return _answer(
            False, f"{call.tool} did not answer within {seconds:g} s and was stopped; what it did by then stands."
        )
    except Exception:
        # The boundary between the model and anybody's code: a tool that breaks must not end the turn.
        logger.exception("the tool %s failed", call.tool)
        return _answer(False, f"{call.tool} failed; the gateway's log has the details.")
    done(result)
    text = cut_result(result.text, min(units, units_within(result.text, ceiling)))
    return ToolResult(success=result.success, content_items=[ToolText(text=text), *_pictures(result.pictures)])


def seconds_for(tool: Tool, arguments: Mapping[str, Json]) -> float:
    """How long a call may take: what the tool or the default says, or more where the model asks the tool for more."""
    asked = 0.0
    properties = tool.input_schema.get("properties")
    for name, unit in (("timeoutMs", 1000), ("timeoutSeconds", 1)):
        value = arguments.get(name)
        if isinstance(properties, dict) and name in properties and isinstance(value, int | float):
            asked = max(asked, value / unit)
    own = TOOL_SECONDS if tool.seconds is None else tool.seconds
    return min(max(own, asked + HEADROOM if asked > 0 else 0), MOST_TOOL_SECONDS)


def _found(call: ToolCall, tools: Sequence[Tool]) -> Tool | None:
    """The tool of that name, of that group where the call names one; the first one, as the first one is registered."""
    named = [tool for tool in tools if name_of(tool) == call.tool]
    if call.namespace is not None:
        named = [tool for tool in named if tool.namespace == call.namespace] or named
    return named[0] if named else None


async def _within(call: Coroutine[object, object, Result], seconds: float) -> Result:
    """Wait so long for a call, and not for its end when it is told to stop.

    Raises:
        TimeoutError: It takes longer.
        Exception: Whatever it raises.
    """
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return task.result()
        raise TimeoutError
    finally:
        if not task.done():
            _left.add(task)
            task.add_done_callback(_forget)
            task.cancel()


def _forget(task: "asyncio.Task[Result]") -> None:
    _left.discard(task)
    if not task.cancelled():
        # Asked for, so that nobody reports an error that nobody has seen.
        logger.warning("a tool that was given up came to an end: %s", task.exception() or "its result is dropped")


def _pictures(pictures: Sequence[ToolPicture]) -> _Content:
    """What the model sees of pictures; a word in place of each that it cannot be shown."""
    content: _Content = []
    left = MOST_PICTURES
    for number, picture in enumerate(pictures, 1):
        problem = picture_problem(picture.data)
        if not problem and len(picture.data) > left:
            problem = f"the pictures before it leave {left:,} bytes of {MOST_PICTURES:,}, and it has more"
        if problem:
            content.append(ToolText(text=f"[picture {number} of {len(pictures)} is not shown: {problem}]"))
            continue
        left -= len(picture.data)
        data = base64.b64encode(picture.data).decode()
        content.append(ToolPictureUrl(image_url=f"data:{picture_type(picture.data)};base64,{data}"))
    return content


def _answer(success: bool, text: str) -> ToolResult:
    return ToolResult(success=success, content_items=[ToolText(text=text)])
