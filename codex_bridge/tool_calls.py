"""What happens when the model calls one of the agent's tools.

The server waits for ever for the answer of a tool (protocol reference, 5), so each call has a deadline here.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, cast

import anyio

from codex_bridge.wire.server_requests import ToolCall, ToolResult, ToolText
from harness.json_value import Json
from harness.tools import Tool, cut_result
from harness.tools import ToolResult as Result
from harness.units import units_within

TOOL_SECONDS: Final = 90.0
"""How long a call may take."""

logger = logging.getLogger("codex_bridge")


async def serve(
    call: ToolCall,
    tools: Mapping[str, Tool],
    *,
    done: Callable[[Result], object],
    units: int,
    ceiling: int,
    seconds: float = TOOL_SECONDS,
) -> ToolResult:
    """Run one call of the model and say what it came to; never raises for what a tool does.

    Args:
        call: The call.
        tools: The tools of the turn, by name.
        done: Hears what the tool came to, also that the turn is to end, when it was run to its end.
        units: How long an answer may be, in UTF-16 units.
        ceiling: How long the server lets it be, in bytes of UTF-8; see `ServerCapabilities.tool_result_bytes`.
        seconds: How long it may take.
    """
    tool = tools.get(call.tool)
    if tool is None:
        return _answer(False, f"There is no tool called {call.tool} on this turn.")
    given: object = call.arguments
    if not isinstance(given, dict):
        return _answer(False, f"The arguments of {call.tool} must be an object.")
    try:
        with anyio.fail_after(seconds):
            result = await tool.call(cast("Mapping[str, Json]", given))
    except TimeoutError:
        return _answer(False, f"{call.tool} did not answer within {seconds:g} s and was stopped.")
    except Exception:
        # The boundary between the model and anybody's code: a tool that breaks must not end the turn.
        logger.exception("the tool %s failed", call.tool)
        return _answer(False, f"{call.tool} failed; the gateway's log has the details.")
    done(result)
    return _answer(result.success, cut_result(result.text, min(units, units_within(result.text, ceiling))))


def _answer(success: bool, text: str) -> ToolResult:
    return ToolResult(success=success, content_items=[ToolText(text=text)])
