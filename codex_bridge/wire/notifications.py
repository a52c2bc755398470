"""What the app-server tells us without being asked.

`read` never raises: what we do not know, or do not understand, becomes an `Unread` value.

A long answer is thousands of `…/delta` notifications, so those take a cheaper path than a pydantic model: a
row of `DELTAS` says what the method streams, and `read` copies four strings into a `Delta` (about 1 us each
instead of 4). Every other notification has a model in `NOTIFICATIONS`.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, TypeAlias

from pydantic import ValidationError

from codex_bridge.rpc import Json, Notified
from codex_bridge.wire.base import Received, known
from codex_bridge.wire.items import Item
from codex_bridge.wire.requests import Thread, ThreadStatus, Turn, TurnError
from harness.lean_values import dataclass


class Stream(Enum):
    """What a delta adds to."""

    MESSAGE = "message"
    REASONING_SUMMARY = "reasoning summary"
    REASONING = "reasoning"
    PLAN = "plan"
    COMMAND_OUTPUT = "command output"


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of a text that grows."""

    thread_id: str
    turn_id: str
    item_id: str
    stream: Stream
    text: str


DELTAS: dict[str, Stream] = {
    "item/agentMessage/delta": Stream.MESSAGE,
    "item/reasoning/summaryTextDelta": Stream.REASONING_SUMMARY,
    "item/reasoning/textDelta": Stream.REASONING,
    "item/plan/delta": Stream.PLAN,
    "item/commandExecution/outputDelta": Stream.COMMAND_OUTPUT,
}
DELTA_FIELDS = ("threadId", "turnId", "itemId", "delta")
"""The members that every method of `DELTAS` has and `read` copies."""


class ThreadStarted(Received):
    """A thread exists. Sent for our own threads and others', and never for a subagent's."""

    thread: Thread


class ThreadStatusChanged(Received):
    """A thread became idle, active or broken."""

    thread_id: str
    status: ThreadStatus


class ThreadClosed(Received):
    """A thread was unloaded."""

    thread_id: str


class TurnBegan(Received):
    """A turn runs, and can be interrupted by its id from now on."""

    thread_id: str
    turn: Turn


class TurnEnded(Received):
    """A turn is over; the only thing that ends one."""

    thread_id: str
    turn: Turn


class ItemStarted(Received):
    """An item begins. It may never complete."""

    thread_id: str
    turn_id: str
    item: Item


class ItemCompleted(Received):
    """An item is whole."""

    thread_id: str
    turn_id: str
    item: Item


class TerminalUsed(Received):
    """Something was typed into a command that runs, or its output was asked for once more."""

    thread_id: str
    turn_id: str
    item_id: str


class TurnFailing(Received):
    """The model could not be asked; with `will_retry`, Codex tries again by itself."""

    thread_id: str
    turn_id: str
    error: TurnError
    will_retry: bool = False


class TokenCount(Received):
    """Tokens of one or several model requests."""

    total_tokens: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class ThreadTokenUsage(Received):
    """What a thread has used: by its last request, and in all."""

    last: TokenCount
    total: TokenCount
    model_context_window: int | None = None


class TokenUsageUpdated(Received):
    """A model request was counted."""

    thread_id: str
    turn_id: str
    token_usage: ThreadTokenUsage


class PlanStep(Received):
    """One step of the agent's plan."""

    step: str
    status: Annotated[str, known("pending", "inProgress", "completed")]


class PlanUpdated(Received):
    """The agent changed its plan."""

    thread_id: str
    turn_id: str
    plan: tuple[PlanStep, ...] = ()
    explanation: str | None = None


class Warned(Received):
    """Something is not as it should be; the thread id is missing when it concerns the server."""

    message: str
    thread_id: str | None = None


class ConfigWarned(Received):
    """The server does not like its configuration."""

    summary: str
    details: str | None = None


class ModelRerouted(Received):
    """Another model than the one asked for answers."""

    thread_id: str
    turn_id: str
    from_model: str
    to_model: str


class RequestResolved(Received):
    """A request of the server was answered, by us or by somebody else."""

    thread_id: str
    request_id: int | str


class LoginCompleted(Received):
    """A sign-in ended."""

    success: bool
    login_id: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A notification that this version does not understand, or has no use for."""

    method: str
    params: Mapping[str, Json]


Modelled: TypeAlias = (
    ThreadStarted
    | ThreadStatusChanged
    | ThreadClosed
    | TurnBegan
    | TurnEnded
    | ItemStarted
    | ItemCompleted
    | TerminalUsed
    | TurnFailing
    | TokenUsageUpdated
    | PlanUpdated
    | Warned
    | ConfigWarned
    | ModelRerouted
    | RequestResolved
    | LoginCompleted
)
"""The notifications that have a model; a delta takes the cheaper path."""

Wire: TypeAlias = Delta | Modelled | Unread

NOTIFICATIONS: dict[str, type[Modelled]] = {
    "thread/started": ThreadStarted,
    "thread/status/changed": ThreadStatusChanged,
    "thread/closed": ThreadClosed,
    "turn/started": TurnBegan,
    "turn/completed": TurnEnded,
    "item/started": ItemStarted,
    "item/completed": ItemCompleted,
    "item/commandExecution/terminalInteraction": TerminalUsed,
    "error": TurnFailing,
    "thread/tokenUsage/updated": TokenUsageUpdated,
    "turn/plan/updated": PlanUpdated,
    "warning": Warned,
    "configWarning": ConfigWarned,
    "model/rerouted": ModelRerouted,
    "serverRequest/resolved": RequestResolved,
    "account/login/completed": LoginCompleted,
}
"""The notifications that we read, by method, except for `DELTAS`."""


def read(notification: Notified) -> Wire:
    """Turn a notification into a typed payload. Never raises."""
    method, params = notification.method, notification.params
    stream = DELTAS.get(method)
    if stream is not None:
        return _read_delta(method, stream, params)
    model = NOTIFICATIONS.get(method)
    if model is None:
        return Unread(method, params)
    try:
        return model.read_from(params)
    except ValidationError:
        return Unread(method, params)


def _read_delta(method: str, stream: Stream, params: Mapping[str, Json]) -> Delta | Unread:
    thread_id, turn_id = params.get("threadId"), params.get("turnId")
    item_id, text = params.get("itemId"), params.get("delta")
    if isinstance(text, str) and isinstance(item_id, str) and isinstance(turn_id, str) and isinstance(thread_id, str):
        return Delta(thread_id, turn_id, item_id, stream, text)
    return Unread(method, params)
