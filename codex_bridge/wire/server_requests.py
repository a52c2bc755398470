"""What the app-server asks us, and the answers that mean no.

Each method has an answer that grants nothing, so that a request is never left open and never granted by
accident. A method that is not listed here is refused with an error.
"""

from functools import cache
from typing import Annotated, Literal, TypeAlias

from codex_bridge.wire.base import OrElse, RawJson, RawObject, Received, Sent, Variant, known


class CommandApproval(Received):
    """May this command run?"""

    thread_id: str
    turn_id: str = ""
    item_id: str = ""
    kind: Annotated[str, known("command")] = "command"
    """Something else than a command may be asked for by this, such as what is typed into one."""
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    additional_permissions: RawJson = None
    network_approval_context: RawJson = None


class FileChangeApproval(Received):
    """May these files be changed? The changes are in the item of that id."""

    thread_id: str
    turn_id: str = ""
    item_id: str = ""
    reason: str | None = None
    grant_root: str | None = None


class PermissionsApproval(Received):
    """May the agent have more permissions?"""

    thread_id: str
    turn_id: str = ""
    item_id: str = ""
    permissions: RawJson = None
    reason: str | None = None
    cwd: str | None = None


class Elicitation(Received):
    """An MCP server wants something from the person."""

    server_name: str
    thread_id: str = ""
    turn_id: str | None = None
    mode: Annotated[str | None, OrElse(None)] = None
    message: Annotated[str | None, OrElse(None)] = None
    url: Annotated[str | None, OrElse(None)] = None
    requested_schema: RawJson = None


class UserChoice(Received):
    """One answer that a question offers."""

    label: str
    description: str | None = None


class UserQuestion(Received):
    """One question of the model."""

    id: str
    question: str
    header: str | None = None
    is_other: bool = False
    is_secret: bool = False
    options: tuple[UserChoice, ...] | None = None


class UserInputRequest(Received):
    """The model has questions for the person."""

    thread_id: str
    turn_id: str = ""
    item_id: str = ""
    questions: Annotated[tuple[UserQuestion, ...], OrElse(())] = ()


class ToolCall(Received):
    """The model calls a tool of the gateway."""

    thread_id: str
    turn_id: str
    call_id: str
    tool: str
    namespace: str | None = None
    arguments: RawJson = None


class Decision(Sent):
    """Answer to a command or file change. "cancel" would end the whole turn; "decline" lets it go on."""

    decision: Literal["accept", "acceptForSession", "decline", "cancel"]


class Rejection(Sent):
    """What the model is told of a denial."""

    rejection: str


class Denied(Sent):
    """A denial in the older protocol."""

    denied: Rejection


class LegacyDecision(Sent):
    """Answer to the approvals of the older protocol; "abort" would end the turn, a denial lets it go on."""

    decision: Literal["approved", "approved_for_session", "abort"] | Denied


class GrantedPermissions(Variant):
    """Answer to a permission request; an empty profile grants nothing."""

    permissions: RawObject
    scope: Literal["turn", "session"] = "turn"


class ElicitationAnswer(Sent):
    """Answer to an MCP server's elicitation."""

    action: Literal["accept", "decline", "cancel"]
    content: RawObject | None = None


class UserAnswers(Sent):
    """Answers by question id; empty means that nobody answered."""

    answers: dict[str, RawObject]


class ToolText(Variant):
    """Text that a tool returns."""

    type: Literal["inputText"] = "inputText"
    text: str


class ToolPictureUrl(Variant):
    """A picture that a tool returns, as a data URL: an address elsewhere is refused."""

    type: Literal["inputImage"] = "inputImage"
    image_url: str


class ToolResult(Sent):
    """What a tool call came to."""

    success: bool
    content_items: list[ToolText | ToolPictureUrl]


class CurrentTime(Sent):
    """The time, in whole Unix seconds."""

    current_time_at: int


ServerRequestParams: TypeAlias = (
    CommandApproval | FileChangeApproval | PermissionsApproval | Elicitation | UserInputRequest | ToolCall
)

COMMAND_APPROVAL = "item/commandExecution/requestApproval"
FILE_CHANGE_APPROVAL = "item/fileChange/requestApproval"
PERMISSIONS_APPROVAL = "item/permissions/requestApproval"
ELICITATION = "mcpServer/elicitation/request"
USER_INPUT = "item/tool/requestUserInput"
TOOL_CALL = "item/tool/call"
CURRENT_TIME = "currentTime/read"
LEGACY_COMMAND = "execCommandApproval"
LEGACY_PATCH = "applyPatchApproval"

REQUESTS: dict[str, type[ServerRequestParams]] = {
    COMMAND_APPROVAL: CommandApproval,
    FILE_CHANGE_APPROVAL: FileChangeApproval,
    PERMISSIONS_APPROVAL: PermissionsApproval,
    ELICITATION: Elicitation,
    USER_INPUT: UserInputRequest,
    TOOL_CALL: ToolCall,
}
"""What we read of each request that concerns a thread."""

ANSWERS: dict[str, type[Sent]] = {
    COMMAND_APPROVAL: Decision,
    FILE_CHANGE_APPROVAL: Decision,
    PERMISSIONS_APPROVAL: GrantedPermissions,
    ELICITATION: ElicitationAnswer,
    USER_INPUT: UserAnswers,
    TOOL_CALL: ToolResult,
    CURRENT_TIME: CurrentTime,
    LEGACY_COMMAND: LegacyDecision,
    LEGACY_PATCH: LegacyDecision,
}
"""The model of our answer to each request."""


TOKENS = "account/chatgptAuthTokens/refresh"
ATTESTATION = "attestation/generate"


@cache  # not a constant: making models builds their validators, and an import should not
def refusals() -> dict[str, Sent]:
    """The answer that grants nothing, for each request that can be answered without doing anything."""
    denied = LegacyDecision(decision=Denied(denied=Rejection(rejection="Nobody could be asked.")))
    return {
        COMMAND_APPROVAL: Decision(decision="decline"),
        FILE_CHANGE_APPROVAL: Decision(decision="decline"),
        PERMISSIONS_APPROVAL: GrantedPermissions(permissions={}, scope="turn"),
        ELICITATION: ElicitationAnswer(action="decline", content=None),
        USER_INPUT: UserAnswers(answers={}),
        LEGACY_COMMAND: denied,
        LEGACY_PATCH: denied,
    }
