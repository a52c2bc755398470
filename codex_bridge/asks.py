"""What a request of the server asks a person, as the gateway is told of it.

Pure. `questions` answers the same request; this says what was asked, of which item, by whom. What is to be allowed is
said whole: a person who is not shown all of it cannot allow it.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from codex_bridge.elicitations import form_of
from codex_bridge.rpc import Json, Requested
from codex_bridge.shell_calls import script_of
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
from harness.turns import FileChange, Notice, TurnEvent

FORMS: Final = frozenset({None, "form", "url", "openaiForm", "openai/form"})
"""The ways of asking that an MCP server has and a chat can follow."""
_TOLD_ANEW: Final = frozenset({"startedAtMs", "availableDecisions"})
"""Members of a request that say nothing of what is asked."""


def identity_of(request: Requested) -> str:
    """The name of an ask: the same when a server repeats it, and of no other one.

    A server repeats the request under its id, with all that it holds (measured on both versions). Another server begins
    its ids anew, but names other turns.
    """
    params = {name: value for name, value in request.params.items() if name not in _TOLD_ANEW}
    text = json.dumps([request.method, request.id, params], sort_keys=True)
    return f"codex:{request.params.get('threadId') or ''}:{sha256(text.encode()).hexdigest()[:32]}"


def asked_by(
    params: ServerRequestParams | None, ask: str, agent: str = "", changes: Iterable[FileChange] = ()
) -> ApprovalAsked | QuestionAsked | None:
    """Say what a request asks; None for one that asks nobody, or that nobody here can read.

    Args:
        params: The request.
        ask: The id that the ask gets.
        agent: The subagent whose request it is; empty for the turn's own.
        changes: Those of the item that it is about.
    """
    match params:
        case CommandApproval():
            return _command(params, ask, agent)
        case FileChangeApproval(item_id=item, reason=reason, grant_root=root):
            text = "\n".join(
                [*([f"anything below {_line(root)}, from now on"] if root else []), *map(_change, changes)]
            )
            return ApprovalAsked(ask, item, ApprovalKind.FILES, text, reason or "", agent=agent)
        case PermissionsApproval(item_id=item, reason=reason, cwd=cwd, permissions=permissions):
            text = "\n".join(_permissions(permissions))
            return ApprovalAsked(ask, item, ApprovalKind.PERMISSIONS, text, reason or "", cwd or "", agent)
        case UserInputRequest(item_id=item):
            return QuestionAsked(ask, item, tuple(map(_question, params.questions)), agent=agent)
        case Elicitation(server_name=server, message=message, url=url, requested_schema=schema):
            form = form_of(schema)
            questions = form.questions if form is not None else ()
            return QuestionAsked(ask, "", questions, message or "", server, url or "", agent)
        case _:
            return None


def unfit(params: ServerRequestParams | None) -> str:
    """Why a person cannot be asked that in a chat, in a few words; empty when one can."""
    match params:
        case Elicitation(mode=mode) if mode not in FORMS:
            return "it asks in a way that no chat has"
        case Elicitation(mode="url", url=None):
            return "it names no address"
        case Elicitation(requested_schema=schema) if form_of(schema) is None:
            return "its form cannot be asked as questions"
        case UserInputRequest(questions=()):
            return "it asks nothing"
        case _:
            return ""


def declined(what: ApprovalAsked | QuestionAsked | None, why: str) -> list[TurnEvent]:
    """What the gateway is told of a request that was answered with no at once, as nobody could be asked."""
    told: list[TurnEvent] = [] if what is None else [what, AskSettled(what.ask, Settlement.DECLINED, why)]
    return [*told, Notice(why)]


def _command(params: CommandApproval, ask: str, agent: str) -> ApprovalAsked:
    lines = [params.command] if params.command else []
    network: Json = params.network_approval_context
    if isinstance(network, Mapping):
        lines.append(f"network access to {network.get('protocol')}://{network.get('host')}")
    elif network is not None:
        lines.append(f"network access: {_json(network)}")
    lines += [f"for it: {each}" for each in _permissions(params.additional_permissions)]
    is_plain = params.kind == "command" and len(lines) == 1 and bool(params.command)
    if params.kind != "command":
        lines.insert(0, f"({params.kind})")
    return ApprovalAsked(
        ask,
        params.item_id,
        ApprovalKind.COMMAND if params.command else ApprovalKind.OTHER,
        "\n".join(lines) if params.command or network is not None else "",
        params.reason or "",
        params.cwd or "",
        agent,
        script=script_of(params.command or "") if is_plain else "",
        always=params.kind != "humanCommand",  # of which only the single answers are valid
    )


def _change(change: FileChange) -> str:
    """One change; what is in the file is set in, so that nothing there passes for a change of another file."""
    head = f"{change.kind} {_line(change.path)}" + (f", moved to {_line(change.moved_to)}" if change.moved_to else "")
    return "\n".join([head, *(f"    {line}" for line in change.diff.rstrip("\n").split("\n") if change.diff)])


def _line(path: str) -> str:
    return path.replace("\n", "\\n")


def _permissions(asked: Json) -> list[str]:
    """Each permission in a line; what is not known in the words of the request, so that nothing is left out."""
    if asked is None:
        return []
    if not isinstance(asked, Mapping):
        return [_json(asked)]
    lines: list[str] = []
    for name, value in asked.items():
        match name, value:
            case _, None:
                pass
            case "network", {"enabled": bool(enabled), **rest} if not any(rest.values()):
                lines.append(f"network access: {'on' if enabled else 'off'}")
            case "fileSystem", Mapping():
                lines += [line for part, paths in value.items() for line in _paths(part, paths)]
            case _:
                lines.append(f"{name}: {_json(value)}")
    return list(dict.fromkeys(lines))  # Codex names the same path in two forms (seen)


def _paths(name: str, paths: Json) -> list[str]:
    if paths is None:
        return []
    if name == "entries" and isinstance(paths, list):
        return [_entry(each) for each in paths]
    if isinstance(paths, list) and all(isinstance(each, str) for each in paths):
        return [f"{name} {each}" for each in paths]
    return [f"{name}: {_json(paths)}"]


def _entry(entry: Json) -> str:
    if isinstance(entry, Mapping) and isinstance(where := entry.get("path"), Mapping):
        access, path = entry.get("access"), where.get("path")
        if entry == {"access": access, "path": where} and where == {"type": "path", "path": path}:
            return f"{access} {path}"
    return _json(entry)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _question(asked: UserQuestion) -> Question:
    choices = tuple(Choice(each.label, each.description or "") for each in asked.options or ())
    in_words = asked.is_other or not choices
    return Question(asked.id, asked.question, asked.header or "", choices, in_words, asked.is_secret)
