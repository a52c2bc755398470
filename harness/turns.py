"""What a gateway asks of any agent backend, and what it hears back.

A `Harness` runs turns. A turn streams `TurnEvent`s, a closed union, and always ends in one `Finished`.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from harness.asks import ApprovalAsked, Asker, AskSettled, QuestionAsked
from harness.layers import Composition, Layer
from harness.lean_values import dataclass
from harness.tools import Sent, Tool

if TYPE_CHECKING:
    from harness.settings.excerpts import ExcerptLimits
    from harness.tool_hooks import ToolHook


class Trigger(Enum):
    """Why a turn runs."""

    CHAT = "chat"
    HEARTBEAT = "heartbeat"
    CRON = "cron"


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Everything that one turn needs."""

    agent: str
    session_key: str
    """The conversation; turns of one conversation run one after the other."""
    trigger: Trigger
    composition: Composition
    workspace: Path
    message_key: str
    """Id of what caused the turn, the same when it is delivered twice."""
    model: str | None = None
    """The model to use, or None for the backend's own choice."""
    effort: str | None = None
    """Reasoning effort, or None for the model's own."""
    tools: tuple[Tool, ...] = ()
    """The agent's tools, the same ones on every turn; each says by itself whether it answers on this one."""
    excerpts: "ExcerptLimits | None" = None
    """How much of a tool's result the model reads, by its context, see `harness.tools.cut_result`; None for as much as
    the backend passes on."""
    may_vanish: "Callable[[TurnResult, int, int], bool] | None" = None
    """Says of a turn that ended whether it may be taken out of the conversation again, given how many UTF-16 units that
    would free and how many would have to be said anew; None: it stays."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables for the commands of the model, besides what the backend gives them. May hold secrets."""
    on_end: "Callable[[TurnResult], None] | None" = field(default=None, compare=False)
    """To be called with the result, once, before the next turn of the conversation can begin."""
    fresh: bool = False
    """Begin a new conversation; what the chat's earlier one held is not seen any more."""
    light: bool = False
    """The composition holds next to nothing of the workspace, and the backend adds nothing of it by itself."""
    isolated: bool = False
    """In a conversation that begins and ends with this turn; the chat's own is left as it is."""
    seconds: float | None = None
    """How long the turn may take; None for the backend's own limit."""
    zone: str = "UTC"
    """IANA name of the time zone that a person is told times in."""
    limit_key: str = ""
    """What sets `seconds`, by its key in the configuration, for whoever has to be told that they were not enough."""
    asker: "Asker | None" = field(default=None, compare=False, repr=False)
    """The way to who may answer what the turn asks; None: nobody can be reached, and each ask is declined at once."""
    hooks: "tuple[ToolHook, ...]" = field(default=(), compare=False, repr=False)
    """What stands before and after each call of a tool. A turn with a required one that the backend cannot serve is
    not run."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of an answer."""

    item: str
    text: str


@dataclass(frozen=True, slots=True)
class TextRetracted:
    """What was streamed of this message is void: the stream broke and is tried again, or it was no answer after all.

    Whatever of it counts is told anew.
    """

    item: str


@dataclass(frozen=True, slots=True)
class Commentary:
    """The next piece of what the agent says about its work. Not part of the answer."""

    item: str
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The next piece of what the agent thinks, as far as it is shown."""

    item: str
    text: str


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan: "pending", "inProgress" or "completed"."""

    text: str
    status: str


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The agent's plan, whole."""

    steps: tuple[PlanStep, ...]
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class CommandStarted:
    """A command runs."""

    item: str
    command: str
    cwd: str


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The next piece of a command's output; may cut a line.

    A backend may tell a part of the output while the command runs, and all of it at its end.
    """

    item: str
    text: str
    whole: bool = False
    """Whether this is all of the output, in place of what was told of it before."""
    omitted: int = 0
    """How many bytes are missing from the middle, where `text` says so, because nobody read them in time."""


@dataclass(frozen=True, slots=True)
class CommandFinished:
    """A command is over: "completed", "failed" or "declined".

    Or the turn is over before it: "running" for one that goes on behind the turn, and "unknown" for one of which nobody
    can tell any more.
    """

    item: str
    command: str
    status: str
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happened to one file: "add", "delete" or "update", with a unified diff."""

    path: str
    kind: str
    diff: str
    moved_to: str = ""
    """Where the file stands afterwards; empty for where it stood."""


@dataclass(frozen=True, slots=True)
class FilesChanging:
    """Files are about to be changed, unless somebody declines it."""

    item: str
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """Files were changed, or were not because it was declined: "completed", "failed" or "declined".

    "unknown" when the turn ended before that was told.
    """

    item: str
    status: str
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is called."""

    item: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call is over."""

    item: str
    name: str
    succeeded: bool | None
    """None when the turn ended before that was told."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a turn."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class UsageCounted:
    """What the turn has used so far, and how full the conversation is."""

    usage: Usage
    context_window: int | None
    """Tokens that the model takes in at most; None when nobody says."""
    context_used: int | None = None
    """Tokens that the conversation holds by now: the model's last request and its answer, not what all of them together
    used. None while that is not known, as after a compaction that nobody has counted."""


@dataclass(frozen=True, slots=True)
class CompactionStarted:
    """The conversation is being summarised to make room."""

    item: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """The conversation was summarised to make room."""

    item: str
    succeeded: bool = True
    """False when that came to no end within the turn: nothing was summarised as far as is known."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Further words of a person came into the turn; what is said from now on answers them as well."""

    key: str
    """The message that they came with, see `RunningTurn.steer`."""
    answered: str = ""
    """The answer to what was said before, where it was whole by then: it stands, and another one follows."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the operator; nothing that ends the turn."""

    text: str


class Outcome(Enum):
    """How a turn ended."""

    ANSWERED = "answered"
    EMPTY = "empty"
    """It ran to its end and said nothing."""
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    """The model or the backend reported an error."""
    LOST = "lost"
    """The backend went away in the middle; whether something ran is in the events."""


class Failure(Enum):
    """Why a turn did not end well, for whoever decides what to do about it; the sentence is `TurnResult.error`."""

    USAGE_LIMIT = "usage limit"
    """The account has used up what it may; see `TurnResult.retry_at`."""
    RATE_LIMIT = "rate limit"
    """Asked too often; a little later it works."""
    OVERLOADED = "overloaded"
    """The provider has no capacity at the moment."""
    OUTAGE = "outage"
    """The provider could not be reached, or the connection to it broke off."""
    PROVIDER = "provider"
    """The provider had an error of its own."""
    LOGIN = "login"
    """The login is missing, has expired, or is not accepted."""
    MODEL = "model"
    """The provider does not have the model, or not for this account."""
    REQUEST = "request"
    """The provider or the backend did not accept the request."""
    CONTEXT = "context"
    """The conversation does not fit into the model's window."""
    IMAGE = "image"
    """The provider cannot read a picture that the conversation holds."""
    LENGTH = "length"
    """The answer is longer than the model says at once."""
    POLICY = "policy"
    """A rule of the provider, or of the account's owner, forbids it."""
    SANDBOX = "sandbox"
    """The sandbox for commands could not be set up."""
    DISK = "disk"
    """Something could not be written to, or read from, the disk."""
    DEADLINE = "deadline"
    """It took longer than it may."""
    SHUTDOWN = "shutdown"
    """The gateway is shutting down."""
    SERVER = "server"
    """The backend could not be started, went away, or does not answer."""
    OTHER = "other"
    """Nobody knows."""


class EndedBy(Enum):
    """Who or what ended a turn."""

    ITSELF = "itself"
    """It ran to its end, also to a bad one, or a tool of its own or the agent that it worked for ended it."""
    PERSON = "person"
    """Somebody stopped it."""
    DEADLINE = "deadline"
    """A limit of ours was reached; `TurnResult.error` names it where the turn failed."""
    GIVEN_WAY = "given way"
    """It made way for a person's message: nobody wanted it gone for its own sake."""
    SHUTDOWN = "shutdown"
    """The gateway is going down."""
    LOSS = "loss"
    """The backend went away."""


class Silence(Enum):
    """What an answerless turn did instead."""

    NOTHING = "nothing"
    REASONING = "reasoning"
    """It thought, and said none of it."""
    PLAN = "plan"
    """It made a plan."""
    TOOLS = "tools"
    """It worked, with commands or tools."""
    COMMENTARY = "commentary"
    """It spoke of its work, and not to whoever asked."""


class CommandAction(Enum):
    """What a command did, as the backend understood it."""

    READ = "read"
    LIST = "list"
    SEARCH = "search"
    OTHER = "other"
    """Anything else, and whatever was not understood."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a turn ran."""

    text: str
    """As a shell takes it, the shell itself before it or not."""
    actions: tuple[CommandAction, ...] = ()
    """What it does, as the backend understood it."""
    over: bool = True
    """Whether it had ended when the turn did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a turn did besides talking, also what it only began."""

    commands: tuple[Command, ...] = ()
    changes: tuple[str, ...] = ()
    """Paths of files that were changed by other means than commands."""
    tools: tuple[str, ...] = ()
    """Names of the tools that were called."""
    others: tuple[str, ...] = ()
    """What else it did, by the backend's names for it: typed into a command of before, or what nobody here knows."""
    children: int = 0
    """How often other agents were started or spoken to."""
    sent: tuple[Sent, ...] = ()
    """What tools of the turn put into chats themselves, in that order."""
    messages: int = 0
    """Messages that came in."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What is left of a turn when it is over."""

    outcome: Outcome
    text: str
    """The answer; what exists of it when the turn did not end well. May be empty."""
    error: str = ""
    """One sentence about what went wrong, for a person; empty when nothing did."""
    detail: str = ""
    """More about it for the log, never for a chat."""
    conversation: str = ""
    """The backend's id of the conversation."""
    turn: str = ""
    """The backend's id of the turn."""
    usage: Usage = Usage()
    """Its own, without that of its subagents."""
    usage_of_subagents: Usage = Usage()
    """Of those that were done before the turn was."""
    evidence: Evidence = Evidence()
    compacted: bool = False
    """A summary took the place of what the conversation held before."""
    failure: Failure | None = None
    """Why it failed or was lost; None when it did neither."""
    retry_at: float | None = None
    """When the limit that ended it is lifted, in Unix seconds; None when there is none, or nobody said when."""
    ended_by: EndedBy = EndedBy.ITSELF
    """Who or what ended it."""
    silence: Silence | None = None
    """What a turn that ended empty did; None for every other one."""
    context_used: int | None = None
    """Tokens that the conversation holds, see `UsageCounted`; None when that is not known."""
    context_window: int | None = None
    """Tokens that the model takes in at most; None when nobody says."""

    @property
    def partial(self) -> bool:
        """Whether `text` may be only a part of an answer: it was said by a turn that did not come to its end."""
        return bool(self.text) and self.outcome is not Outcome.ANSWERED

    remark: str = ""
    """One sentence for a person about an end that is no failure, and still not what was asked for."""
    earlier: tuple[str, ...] = ()
    """Answers that were whole before further words came in, oldest first; `text` answers what came last."""
    media: tuple[str, ...] = ()
    """Paths of files that tools made for the answer, in that order and each once."""


@dataclass(frozen=True, slots=True)
class SubagentStarted:
    """Another agent works for the turn from now on. What it says is not the turn's, and is not streamed."""

    agent: str
    """The backend's id of it."""


@dataclass(frozen=True, slots=True)
class SubagentFinished:
    """Another agent is done, and what came of it: its own answer, usage and evidence."""

    agent: str
    result: TurnResult


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn is over. Always the last event, and always there."""

    result: TurnResult


TurnEvent: TypeAlias = (
    TextDelta
    | TextRetracted
    | Commentary
    | Reasoning
    | PlanChanged
    | CommandStarted
    | CommandOutput
    | CommandFinished
    | FilesChanging
    | FilesChanged
    | ToolStarted
    | ToolFinished
    | ApprovalAsked
    | QuestionAsked
    | AskSettled
    | UsageCounted
    | CompactionStarted
    | Compacted
    | Joined
    | SubagentStarted
    | SubagentFinished
    | Notice
    | Finished
)


class Steered(Enum):
    """What became of words that were to join a running turn."""

    TAKEN = "taken"
    """They are in the conversation, and the turn answers them."""
    OVER = "over"
    """The turn ended without them, or is about to. They are nowhere; a new turn has to carry them."""
    UNFIT = "unfit"
    """Turns of its kind take nothing in, or it does not at the moment. They are nowhere; the next turn carries them."""
    UNKNOWN = "unknown"
    """The backend went away, and whether they were read cannot be found out. They share the fate of the turn."""

    @property
    def refused(self) -> bool:
        """Whether a new turn has to carry them; otherwise they must not be sent again."""
        return self in (Steered.OVER, Steered.UNFIT)


class RunningTurn(Protocol):
    """A turn on its way."""

    def events(self) -> AsyncIterator[TurnEvent]:
        """Stream what happens, up to and with `Finished`. May be iterated once.

        A reader that lags gets neighbouring pieces of one text joined, and only the last of several counts of usage. It
        loses nothing but the middle of a command's output that is longer than `harness.outputs.MOST_OUTPUT`, and
        `CommandOutput.omitted` says how much. Whatever was told as begun is told as over, at the latest right before
        `Finished`.
        """
        ...

    async def result(self) -> TurnResult:
        """Wait for the end, whether or not anybody reads the events."""
        ...

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        """Ask for the end; the turn then finishes as interrupted. Twice is harmless, and the first reason counts.

        Also the end of what works for it; of a turn that is over, what still does so.
        """
        ...

    async def steer(self, words: tuple[Layer, ...], key: str) -> Steered:
        """Add words to the turn, and wait until it is known what became of them, at the latest with the turn's end.

        Calls are heard in the order in which they are made; once one is refused the turn takes no other.

        Args:
            words: What a person said, and who that is where several write, as `harness.agent.Agent.joining` gives it.
            key: Id of the message, the same when it comes twice; of several, that of the first.
        """
        ...


TurnT = TypeVar("TurnT", bound=RunningTurn, covariant=True)


class Harness(Protocol[TurnT]):
    """An agent backend."""

    def start(self, request: TurnRequest) -> TurnT:
        """Begin a turn. Returns at once; whatever goes wrong is told by the turn's result."""
        ...


@runtime_checkable
class Stops(Protocol):
    """A backend that can end whatever runs in a conversation, also what it began by itself."""

    async def stop(self, session_key: str) -> int:
        """End the turns of a conversation, those that wait and heartbeats too, and what works for it besides.

        Waits for their ends. Gives how many there were.
        """
        ...
