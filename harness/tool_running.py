"""How a tool is called, whatever backend serves the call: its arguments are checked, and its hooks are asked."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio

from harness.json_value import Json
from harness.tool_arguments import wrong_arguments
from harness.tool_hooks import HOOK_SECONDS, Changed, Refused, ToolHook, ToolUse, Verdict
from harness.tools import Tool, ToolResult

logger = logging.getLogger("harness")


async def called(tool: Tool, arguments: Mapping[str, Json], hooks: Sequence[ToolHook], session_key: str) -> ToolResult:
    """Check the arguments of a call, make it between its hooks, and give what it came to.

    Raises:
        Exception: Whatever the tool raises.
    """
    if wrong := wrong_arguments(tool, arguments):
        return ToolResult(False, wrong)
    use = ToolUse(session_key=session_key, tool=tool.name, owner=tool.owner, arguments=arguments)
    for hook in hooks:
        verdict = await _before(hook, use)
        if isinstance(verdict, Refused):
            return ToolResult(False, verdict.reason)
        if isinstance(verdict, Changed):
            if wrong := wrong_arguments(tool, verdict.arguments):
                logger.warning("the hook %s changed a call of %s: %s", hook.name, tool.name, wrong)
                return ToolResult(False, f"A rule of the gateway changed this call, and then {wrong}")
            use = replace(use, arguments=verdict.arguments)
    result = await tool.call(use.arguments)
    for hook in reversed(hooks):
        result = await _after(hook, use, result)
    return result


async def _before(hook: ToolHook, use: ToolUse) -> Verdict:
    try:
        with anyio.fail_after(HOOK_SECONDS):
            return await hook.before(use)
    except Exception:  # other people's code, and what it was to keep out stays out
        logger.exception("the hook %s before a call of %s", hook.name, use.tool)
        return Refused(f"{use.tool} was not called: a rule of the gateway could not be applied.")


async def _after(hook: ToolHook, use: ToolUse, result: ToolResult) -> ToolResult:
    try:
        with anyio.fail_after(HOOK_SECONDS):
            # What was sent is sent, whatever a hook makes of it.
            return replace(await hook.after(use, result), sent=result.sent)
    except Exception:  # other people's code; the call is made by now
        logger.exception("the hook %s after a call of %s", hook.name, use.tool)
        return result
