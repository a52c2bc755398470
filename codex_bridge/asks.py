"""What a request of the server asks a person, as the gateway is told of it.

Pure. `questions` answers the same request; this says what was asked, of which item, by whom.
"""

from collections.abc import Mapping
from typing import cast

from codex_bridge.rpc import Json
from codex_bridge.wire.server_requests import (
    CommandApproval,
    Elicitation,
    FileChangeApproval,
    PermissionsApproval,
    ServerRequestParams,
    UserInputRequest,
    UserQuestion,
)
from harness.asks import ApprovalAsked, ApprovalKind, AskSettled, Choice, Question, QuestionAsked, Settlement
from harness.turns import Notice, TurnEvent


def asked_by(params: ServerRequestParams | None, ask: str, agent: str = "") -> ApprovalAsked | QuestionAsked | None:
    """Say what a request asks; None for one that asks nobody, or that nobody here can read.

    Args:
        params: The request.
        ask: The id that the ask gets.
        agent: The subagent whose request it is; empty for the turn's own.
    """
    match params:
        case CommandApproval(item_id=item, command=command, cwd=cwd, reason=reason):
            kind = ApprovalKind.COMMAND
            return ApprovalAsked(ask, item, kind, command or "", reason or "", cwd or "", agent)
        case FileChangeApproval(item_id=item, reason=reason, grant_root=root):
            return ApprovalAsked(ask, item, ApprovalKind.FILES, root or "", reason or "", agent=agent)
        case PermissionsApproval(item_id=item, reason=reason, cwd=cwd):
            return ApprovalAsked(ask, item, ApprovalKind.PERMISSIONS, "", reason or "", cwd or "", agent)
        case UserInputRequest(item_id=item, questions=questions):
            return QuestionAsked(ask, item, tuple(map(_question, questions)), agent=agent)
        case Elicitation(server_name=server, message=message, url=url, requested_schema=schema):
            return QuestionAsked(ask, "", _fields(schema), message or "", server, url or "", agent)
        case _:
            return None


def declined(params: ServerRequestParams | None, ask: str, why: str, agent: str = "") -> list[TurnEvent]:
    """What the gateway is told of a request that was answered with no at once, as nobody could be asked."""
    asked = asked_by(params, ask, agent)
    told: list[TurnEvent] = [] if asked is None else [asked, AskSettled(ask, Settlement.DECLINED, why)]
    return [*told, Notice(why)]


def _question(asked: UserQuestion) -> Question:
    choices = tuple(Choice(each.label, each.description or "") for each in asked.options or ())
    in_words = asked.is_other or not choices
    return Question(asked.id, asked.question, asked.header or "", choices, in_words, asked.is_secret)


def _fields(schema: Json) -> tuple[Question, ...]:
    """The fields of a form, each as a question of its own."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    fields = cast("Mapping[str, Json]", properties).items() if isinstance(properties, Mapping) else ()
    return tuple(_field(name, shape) for name, shape in fields if isinstance(shape, Mapping))


def _field(name: str, shape: Mapping[str, Json]) -> Question:
    title, description, words = shape.get("title"), shape.get("description"), shape.get("enum")
    choices = tuple(Choice(str(word)) for word in words) if isinstance(words, list) else ()
    if shape.get("type") == "boolean":
        choices = (Choice("true"), Choice("false"))
    header = title if isinstance(title, str) else ""
    return Question(name, description if isinstance(description, str) else header or name, header, choices, not choices)
