"""What we ask the app-server for a turn: parameters, and what comes back.

Spelling follows the schema that the binary generates; a test compares every name here with it.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from codex_bridge.wire.base import Method, OrElse, RawJson, RawObject, Received, Sent, Variant, known
from codex_bridge.wire.items import Item

ApprovalPolicy: TypeAlias = Literal["untrusted", "on-request", "never"]
SandboxMode: TypeAlias = Literal["read-only", "workspace-write", "danger-full-access"]
SandboxKind: TypeAlias = Literal["readOnly", "workspaceWrite", "dangerFullAccess"]
"""The same three as `SandboxMode`, as turn/start spells them."""
ContextKind: TypeAlias = Literal["application", "untrusted"]
Personality: TypeAlias = Literal["none", "friendly", "pragmatic"]
ApprovalsReviewer: TypeAlias = Literal["user", "auto_review", "guardian_subagent"]
"""Who is asked: the person, or a model of Codex's own; the last is an older name of the second."""


class Empty(Received):
    """A result that says nothing but that it was done."""


# initialize


class ClientInfo(Sent):
    """Who we are. The name becomes the HTTP `originator`, so it must be a legal header value."""

    name: str
    version: str
    title: str | None = None


class Capabilities(Sent):
    """What we can take part in, fixed for the life of the connection."""

    experimental_api: bool
    opt_out_notification_methods: list[str] | None = None


class InitializeParams(Sent):
    """First request of a connection."""

    client_info: ClientInfo
    capabilities: Capabilities


class InitializeResult(Received):
    """Who the server is; its version stands only inside `user_agent`."""

    user_agent: str
    codex_home: str = ""
    platform_family: str = ""
    platform_os: str = ""


# threads


class FunctionTool(Variant):
    """A tool of ours that the model may call."""

    type: Literal["function"] = "function"
    name: str
    description: str
    input_schema: RawJson
    defer_loading: bool | None = None
    """Not shown until the model looks for it; in a namespace only."""


class ToolNamespace(Variant):
    """Tools of ours under one name."""

    type: Literal["namespace"] = "namespace"
    name: str
    description: str
    tools: list[FunctionTool]


DynamicTool: TypeAlias = FunctionTool | ToolNamespace


class ThreadOverrides(Sent):
    """What thread/start and thread/resume have in common."""

    model: str | None = None
    model_provider: str | None = None
    cwd: str | None = None
    approval_policy: ApprovalPolicy | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    service_tier: str | None = None
    sandbox: SandboxMode | None = None
    config: RawObject | None = None
    developer_instructions: str | None = None
    personality: Personality | None = None


class ThreadStartParams(ThreadOverrides):
    """Start a new thread. It can be resumed only after its first turn."""

    ephemeral: bool | None = None
    service_name: str | None = None
    dynamic_tools: list[DynamicTool] | None = None


class ThreadResumeParams(ThreadOverrides, Variant):
    """Load a thread, and subscribe to it. `developer_instructions` must be sent each time or they are lost."""

    thread_id: str
    exclude_turns: Literal[True] = True


class ThreadStatus(Received):
    """Whether a thread is loaded and at work."""

    type: Annotated[str, known("notLoaded", "idle", "active", "systemError")]
    active_flags: tuple[str, ...] = ()


class TurnError(Received):
    """Why a turn failed."""

    message: Annotated[str, OrElse("")] = ""
    codex_error_info: RawJson = None
    additional_details: Annotated[str | None, OrElse(None)] = None


class Turn(Received):
    """One turn. Only its id can be relied on; `items` holds at most the final message."""

    id: str
    root_turn_id: Annotated[str, OrElse("")] = ""
    """The turn that this one goes back to: its own id, or for a subagent's turn the one that it works for."""
    status: Annotated[str, known("completed", "interrupted", "failed", "inProgress"), OrElse("")] = ""
    items: Annotated[tuple[Item, ...], OrElse(())] = ()
    error: Annotated[TurnError | None, OrElse(None)] = None
    duration_ms: Annotated[int | None, OrElse(None)] = None


class Thread(Received):
    """A thread as the server describes it."""

    id: str
    cli_version: str = ""
    cwd: str = ""
    path: Annotated[str, OrElse("")] = ""
    """The file that it is written to now; empty for one that is not kept."""
    status: ThreadStatus | None = None
    turns: tuple[Turn, ...] = ()


class ThreadRevertParams(Sent):
    """Take a thread back to before one of its turns: history, texts of the mode and what it remembers of them."""

    thread_id: str
    before_turn_id: str


class ThreadReverted(Received):
    """Answer to thread/revert."""

    thread: Thread


class ThreadOpened(Received):
    """Answer to thread/start and thread/resume."""

    thread: Thread
    model: str
    model_provider: str = ""
    cwd: str = ""
    reasoning_effort: str | None = None
    instruction_sources: tuple[str, ...] = ()


# turns


class TextInput(Variant):
    """Words of the person."""

    type: Literal["text"] = "text"
    text: str


class ImageInput(Variant):
    """A picture; the server takes only `data:` addresses."""

    type: Literal["image"] = "image"
    url: str


UserInput: TypeAlias = TextInput | ImageInput


class CollaborationSettings(Sent):
    """Settings of a mode. `model` takes effect even when empty, so it is always filled in.

    `developer_instructions` as None makes the server send its own text of the mode; an empty string makes it
    send an empty frame.
    """

    model: str
    reasoning_effort: Annotated[str | None, Field(alias="reasoning_effort")] = None
    developer_instructions: Annotated[str | None, Field(alias="developer_instructions")] = None


class CollaborationMode(Sent):
    """The mode that a turn runs in, with the text that holds for it."""

    mode: Literal["default", "plan"]
    settings: CollaborationSettings


class ContextEntry(Sent):
    """A fragment put before the person's words, cut by the server to 4,000 bytes."""

    kind: ContextKind
    value: str


class SandboxPolicy(Sent):
    """What the commands of a turn may do. What is not given is off: the network, further writable folders."""

    type: SandboxKind


class TurnStartParams(Sent):
    """Start a turn. On a thread that is busy this silently steers the running one instead."""

    thread_id: str
    input: list[UserInput]
    client_user_message_id: str | None = None
    additional_context: dict[str, ContextEntry] | None = None
    collaboration_mode: CollaborationMode | None = None
    personality: Personality | None = None
    cwd: str | None = None
    approval_policy: ApprovalPolicy | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    service_tier: str | None = None
    sandbox_policy: SandboxPolicy | None = None
    model: str | None = None
    effort: str | None = None


class TurnStarted(Received):
    """Answer to turn/start."""

    turn: Turn


class TurnSteerParams(Sent):
    """Add words to the running turn, if it is still the one expected."""

    thread_id: str
    input: list[UserInput]
    expected_turn_id: str
    client_user_message_id: str | None = None
    additional_context: dict[str, ContextEntry] | None = None


class TurnSteered(Received):
    """Answer to turn/steer."""

    turn_id: str


class TurnInterruptParams(Sent):
    """Stop a turn. An empty `turn_id` also stops one that is only just starting."""

    thread_id: str
    turn_id: str


# account


class AccountReadParams(Sent):
    """Ask who is signed in."""

    refresh_token: bool | None = None


class Account(Received):
    """A signed-in account."""

    type: Annotated[str, known("apiKey", "chatgpt")]
    email: str | None = None
    plan_type: str | None = None


class AccountRead(Received):
    """Answer to account/read."""

    account: Account | None = None
    requires_openai_auth: bool = False


INITIALIZE = Method("initialize", InitializeParams, InitializeResult)
THREAD_START = Method("thread/start", ThreadStartParams, ThreadOpened)
THREAD_RESUME = Method("thread/resume", ThreadResumeParams, ThreadOpened)
THREAD_REVERT = Method("thread/revert", ThreadRevertParams, ThreadReverted)
TURN_START = Method("turn/start", TurnStartParams, TurnStarted)
TURN_STEER = Method("turn/steer", TurnSteerParams, TurnSteered)
TURN_INTERRUPT = Method("turn/interrupt", TurnInterruptParams, Empty)
ACCOUNT_READ = Method("account/read", AccountReadParams, AccountRead)

METHODS: tuple[Method[Any, Any], ...] = (
    INITIALIZE,
    THREAD_START,
    THREAD_RESUME,
    THREAD_REVERT,
    TURN_START,
    TURN_STEER,
    TURN_INTERRUPT,
    ACCOUNT_READ,
)
"""Every method that a turn may call; the others are in `codex_bridge.wire.besides`."""
