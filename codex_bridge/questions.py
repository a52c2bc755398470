"""What the app-server is answered: in the form that each method wants, and never more than was allowed.

Pure but for the clock that `currentTime/read` asks for, which is given. `asks` says what the same request asks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from codex_bridge.elicitations import form_of
from codex_bridge.errors import RefusalError
from codex_bridge.rpc import METHOD_NOT_FOUND, Json, JsonObject, Requested
from codex_bridge.wire.server_requests import (
    ATTESTATION,
    CURRENT_TIME,
    REQUESTS,
    TOKENS,
    TOOL_CALL,
    CommandApproval,
    CurrentTime,
    Decision,
    Elicitation,
    ElicitationAnswer,
    FileChangeApproval,
    GrantedPermissions,
    PermissionsApproval,
    ServerRequestParams,
    ToolCall,
    ToolResult,
    ToolText,
    UserAnswers,
    UserInputRequest,
    refusals,
)
from harness.asks import Answer, Settlement, Verdict

UNSERVED: Final[Mapping[str, str]] = {
    TOKENS: "this client gave no ChatGPT tokens and has no newer ones; sign in with codex login",
    ATTESTATION: "this client makes no attestations",
}
"""What is known and cannot be served, and why: a sign-in is Codex's own, and nobody announced attestations."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Our answer to a request of a person."""

    result: Json
    how: Settlement
    why: str = ""
    """One sentence about an answer that is not what the person said; empty otherwise."""
    ends_turn: bool = False
    """Whether the turn is to be ended besides, as this answer alone would not."""


def read(request: Requested) -> ServerRequestParams | None:
    """What a request holds; None for one that concerns no thread, or that nobody here can read."""
    model = REQUESTS.get(request.method)
    if model is None:
        return None
    try:
        return model.model_validate(request.params)
    except ValidationError:
        return None  # a newer server's; it is answered by its method alone


def plain(request: Requested, now: Callable[[], float]) -> Json:
    """Answer a request that asks no person. `now` gives the time in Unix seconds.

    Raises:
        RefusalError: It is a request that we do not know, or cannot serve.
    """
    if request.method == CURRENT_TIME:
        return CurrentTime(current_time_at=int(now())).to_wire()
    why = UNSERVED.get(request.method, "it is not supported by this client")
    raise RefusalError(METHOD_NOT_FOUND, f"{request.method}: {why}")


def asks_a_person(request: Requested) -> bool:
    """Whether it is a request that a person may answer, by its method alone."""
    return request.method in refusals()


def refusal(request: Requested, params: ServerRequestParams | None, why: str) -> Json:
    """The answer that grants nothing; the model is told why where the method lets it be told.

    Args:
        request: The request.
        params: What it holds, where that can be read.
        why: One sentence.
    """
    if isinstance(params, UserInputRequest) and params.questions:
        said: JsonObject = {"answers": [f"No answer: {why}"]}
        return UserAnswers(answers={each.id: dict(said) for each in params.questions}).to_wire()
    return refusals()[request.method].to_wire()


def reply(request: Requested, params: ServerRequestParams, answer: Answer, *, always: bool = True) -> Reply:
    """The answer that says what a person, or a rule, said.

    Args:
        request: The request, which asks a person.
        params: What it holds.
        answer: What was said.
        always: Whether it may be allowed for longer than this once.
    """
    verdict = answer.verdict
    if verdict in (Verdict.DECLINE, Verdict.CANCEL):
        return _no(request, params, answer)
    lasting = verdict is Verdict.ALLOW_ALWAYS and always
    match params:
        case CommandApproval() | FileChangeApproval():
            decision = Decision(decision="acceptForSession" if lasting else "accept")
            return Reply(decision.to_wire(), Settlement.ALLOWED)
        case PermissionsApproval() if (asked := _object(params.permissions)) is not None:
            granted = GrantedPermissions(permissions=asked, scope="session" if lasting else "turn")
            return Reply(granted.to_wire(), Settlement.ALLOWED)
        case UserInputRequest(questions=questions):
            words = {each.id: list(answer.words.get(each.id, ())) for each in questions}
            answers = UserAnswers(answers={name: {"answers": said} for name, said in words.items() if said})
            return Reply(answers.to_wire(), Settlement.ANSWERED)
        case Elicitation():
            return _filled(request, params, answer)
        case _:
            why = "It cannot be said what would be allowed, so the answer was no."
            return Reply(refusal(request, params, why), Settlement.DECLINED, why)


def _object(value: Json) -> "JsonObject | None":
    return value if isinstance(value, dict) else None


def _no(request: Requested, params: ServerRequestParams, answer: Answer) -> Reply:
    ends = answer.verdict is Verdict.CANCEL
    if ends and isinstance(params, CommandApproval | FileChangeApproval):
        return Reply(Decision(decision="cancel").to_wire(), Settlement.DECLINED, answer.why)
    if ends and isinstance(params, Elicitation):
        cancelled = ElicitationAnswer(action="cancel", content=None)
        return Reply(cancelled.to_wire(), Settlement.DECLINED, answer.why, ends_turn=True)
    told = answer.why or "the person declined."
    return Reply(refusal(request, params, told), Settlement.DECLINED, answer.why, ends_turn=ends)


def _filled(request: Requested, params: Elicitation, answer: Answer) -> Reply:
    if params.mode == "url":
        return Reply(ElicitationAnswer(action="accept", content=None).to_wire(), Settlement.ANSWERED)
    form = form_of(params.requested_schema)
    try:
        if form is None:
            raise ValueError("Its form cannot be filled in.")
        content = form.content(answer.words)
    except ValueError as error:
        why = f"{params.server_name} was told no, as what was said does not fit: {error}"
        return Reply(refusal(request, params, why), Settlement.DECLINED, why)
    return Reply(ElicitationAnswer(action="accept", content=content).to_wire(), Settlement.ANSWERED)


def tool_call(request: Requested) -> ToolCall | None:
    """The call of a tool that a request is; None for every other request, and for one that cannot be read."""
    asked = read(request) if request.method == TOOL_CALL else None
    return asked if isinstance(asked, ToolCall) else None


def tool_refusal(text: str) -> ToolResult:
    """The answer to a call that is not served."""
    return ToolResult(success=False, content_items=[ToolText(text=text)])


def wanted(asked: ServerRequestParams | None) -> str:
    """What a request wants, as the beginning of a sentence."""
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
