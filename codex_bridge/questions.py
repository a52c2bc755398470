"""What we answer when the app-server asks and nobody can be reached: no, in the form that each method wants.

Pure but for the clock that `currentTime/read` asks for, which is given.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ValidationError

from codex_bridge.errors import RefusalError
from codex_bridge.rpc import METHOD_NOT_FOUND, Json, Requested
from codex_bridge.wire.server_requests import (
    CURRENT_TIME,
    REQUESTS,
    TOOL_CALL,
    CommandApproval,
    CurrentTime,
    Elicitation,
    FileChangeApproval,
    PermissionsApproval,
    ServerRequestParams,
    ToolCall,
    ToolResult,
    ToolText,
    UserInputRequest,
    refusals,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """Our answer to a request, and what the operator should hear of it."""

    result: Json
    thread_id: str = ""
    """The thread that it concerns; empty when it concerns none."""
    turn_id: str = ""
    """The turn of it; empty when the request names none."""
    params: ServerRequestParams | None = None
    """What was asked, as far as it can be read."""
    notice: str = ""
    """One sentence; empty when there is nothing to tell."""


def reply(request: Requested, now: Callable[[], float]) -> Reply:
    """Answer `request` without granting anything. `now` gives the time in Unix seconds.

    Raises:
        RefusalError: It is a request that we do not know, or cannot serve.
    """
    if request.method == CURRENT_TIME:
        return Reply(CurrentTime(current_time_at=int(now())).to_wire())
    asked = _read(request)
    thread_id = asked.thread_id if asked else ""
    no = refusals().get(request.method)
    if no is None:
        raise RefusalError(METHOD_NOT_FOUND, f"{request.method} is not supported by this client")
    turn_id = (asked.turn_id if asked else "") or ""
    notice = f"{_what(asked)}, and nobody could be asked, so the answer was no."
    return Reply(no.to_wire(), thread_id, turn_id, asked, notice)


def tool_call(request: Requested) -> ToolCall | None:
    """The call of a tool that a request is; None for every other request, and for one that cannot be read."""
    asked = _read(request) if request.method == TOOL_CALL else None
    return asked if isinstance(asked, ToolCall) else None


def tool_refusal(text: str) -> ToolResult:
    """The answer to a call that is not served."""
    return ToolResult(success=False, content_items=[ToolText(text=text)])


def _read(request: Requested) -> ServerRequestParams | None:
    model = REQUESTS.get(request.method)
    if model is None:
        return None
    try:
        return model.model_validate(request.params)
    except ValidationError:
        return None  # a newer server's; it is answered by its method alone


def _what(asked: ServerRequestParams | None) -> str:
    match asked:
        case CommandApproval(command=str(command)):
            return f"Codex asked to run `{command}`"
        case FileChangeApproval():
            return "Codex asked to change files"
        case PermissionsApproval():
            return "Codex asked for more permissions"
        case Elicitation(server_name=server):
            return f"The MCP server {server} asked for input"
        case UserInputRequest():
            return "The agent had questions"
        case _:
            return "Codex asked for an approval"
