"""What the stand-in model does, as values: say, call a tool, stall, fail, break off.

A `Script` sees each recorded request and returns what to do with it; `in_turn` is the common one, a list of
actions used up one by one.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import anyio

from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.rpc import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Say:
    """One assistant message, streamed in `pieces` deltas of about equal length, `pause` seconds apart."""

    text: str
    pieces: int = 1
    phase: str | None = None
    pause: float = 0.0
    late: bool = False
    """Whether the phase is told with the end of the message alone."""

    def cut(self) -> list[str]:
        """The deltas; together they are the text."""
        count = max(1, min(self.pieces, len(self.text)))
        edges = [len(self.text) * index // count for index in range(count + 1)]
        return [self.text[start:end] for start, end in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class BeginSaying:
    """An assistant message that is streamed in part and never finished; something else has to follow."""

    text: str
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Think:
    """A reasoning item with a summary."""

    summary: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """A function call of the model."""

    name: str
    arguments: Json
    namespace: str | None = None
    call_id: str = "call_1"

    @property
    def encoded(self) -> str:
        """The arguments as the model would write them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Item:
    """An output item of another kind, such as a search for tools or a piece of code, as it stands on the wire."""

    fields: JsonObject
    """Without its id."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Stall in the middle of the stream until the event is set, or until the client goes away."""

    until: anyio.Event


@dataclass(frozen=True, slots=True)
class Pause:
    """Stall for some seconds, as a slow model does."""

    seconds: float


@dataclass(frozen=True, slots=True)
class BreakOff:
    """Close the connection without an end to the stream."""


@dataclass(frozen=True, slots=True)
class FailResponse:
    """End the stream with `response.failed`."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Incomplete:
    """End the stream with `response.incomplete`: the model may say no more, by its limit or by a rule."""

    reason: str = "max_output_tokens"


Step: TypeAlias = Say | BeginSaying | Think | CallTool | Item | Wait | Pause | BreakOff | FailResponse | Incomplete


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts that the stand-in reports."""

    input: int = 100
    cached: int = 0
    output: int = 10
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A stream of steps, ended by `response.completed` unless a step ended it."""

    steps: tuple[Step, ...]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class HttpError:
    """An answer with an error status instead of a stream."""

    status: int
    body: JsonObject
    headers: tuple[tuple[str, str], ...] = ()


Action: TypeAlias = Reply | HttpError
Script: TypeAlias = Callable[[RecordedRequest], Action]


def say(text: str, *, pieces: int = 1, phase: str | None = None, pause: float = 0.0) -> Reply:
    """A reply of one message."""
    return Reply((Say(text, pieces, phase, pause),))


def in_turn(actions: Iterable[Action]) -> Script:
    """Use up `actions` one request after the other; a request beyond them gets a 400 that says so."""
    rest = iter(actions)

    def script(request: RecordedRequest) -> Action:
        action = next(rest, None)
        if action is None:
            message = f"the loopback script has nothing for request {request.number}"
            return HttpError(400, {"error": {"message": message, "type": "invalid_request_error"}})
        return action

    return script


def always(action: Action) -> Script:
    """Do the same for every request."""
    return lambda _: action
