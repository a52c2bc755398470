"""Which deadline holds for a turn at this moment, what renews it, and what it means when it is over.

Pure: what Codex says of one turn goes in, with the time, and the moment at which something has to be done comes out.
Only what Codex says of this very turn counts. A turn is in one of these states, told apart by what came last:

    state        | holds while                             | limit                      | counted from
    -------------+-----------------------------------------+----------------------------+-----------------------------
    OPENING      | Codex has not confirmed the turn        | none but the whole turn's  | -
    SILENT       | nothing of what follows holds           | SILENCE, 60 s              | the last word of the turn
    ACTING       | something runs or ran, or Codex waits   | AFTER_TOOL, 300 s          | the last word of the turn
                 | for an answer of ours                   |                            |
    ANSWERED     | an answer is whole, or the summary of a | ANSWER, 10 s               | the last word of the turn
                 | turn that makes one, and nothing is open|                            |
    RECONNECTING | Codex has said nothing since but that   | RECONNECTING, 180 s        | the first time it said so:
                 | it tries again to reach the provider    |                            | that is no word of the turn
    any          | the turn is not over                    | WHOLE, 48 h                | the begin of the turn

    limit over   | asked first                             | the thread is active       | it is not, or nobody answers
    -------------+-----------------------------------------+----------------------------+-----------------------------
    SILENCE      | thread/read, by `probe`                 | counted anew               | failed
    AFTER_TOOL   | thread/read                             | counted anew               | failed, perhaps incomplete
    ANSWER       | thread/read                             | counted anew               | answered with what was said
    RECONNECTING | nobody: it is active as long as it tries| failed as an outage        | -
    WHOLE        | nobody                                  | failed                     | -

A tool, an approval and a request of ours have deadlines of their own beside these, and stop none of them. A failed end
names the limit by the key of the configuration that sets it.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from codex_bridge.wire.items import (
    AgentMessageItem,
    CompactionItem,
    ItemValue,
    PlanItem,
    ReasoningItem,
    UserMessageItem,
)
from codex_bridge.wire.notifications import (
    Delta,
    ItemCompleted,
    ItemStarted,
    ModelRerouted,
    PlanUpdated,
    Stream,
    TerminalUsed,
    TokenUsageUpdated,
    TurnBegan,
    TurnEnded,
    TurnFailing,
    Unread,
    Wire,
)
from harness.lean_values import dataclass
from harness.turns import Failure

TURN_SECONDS: Final = 48 * 3600.0
"""Of a whole turn unless the configuration says otherwise (spec 5)."""
TURN_KEY: Final = "agents.defaults.timeoutSeconds"
"""Of the configuration, for that."""


class Limit(Enum):
    """A deadline of a turn, by what it is told as."""

    WHOLE = "the whole turn"
    SILENCE = "silence"
    AFTER_TOOL = "silence after a tool"
    ANSWER = "the end after an answer"
    RECONNECTING = "reaching the model provider"


class State(Enum):
    """What a turn is waited for in, see above."""

    OPENING = "opening"
    SILENT = "silent"
    ACTING = "acting"
    ANSWERED = "answered"
    RECONNECTING = "reconnecting"


_LIMIT_IN: Final[Mapping[State, Limit]] = MappingProxyType(
    {
        State.SILENT: Limit.SILENCE,
        State.ACTING: Limit.AFTER_TOOL,
        State.ANSWERED: Limit.ANSWER,
        State.RECONNECTING: Limit.RECONNECTING,
    }
)
PROBED: Final = frozenset({Limit.SILENCE, Limit.AFTER_TOOL, Limit.ANSWER})
"""Limits after which Codex is asked whether the turn goes on."""
KEYS: Final[Mapping[Limit, str]] = MappingProxyType(
    {
        Limit.WHOLE: TURN_KEY,
        Limit.SILENCE: "appServer.turnCompletionIdleTimeoutMs",
        Limit.AFTER_TOOL: "appServer.postToolRawAssistantCompletionIdleTimeoutMs",
        Limit.ANSWER: "appServer.deadlines.answerMs",
        Limit.RECONNECTING: "appServer.deadlines.reconnectingMs",
    }
)
"""Of the configuration; those of appServer below `codex_bridge.config.PATH`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of each limit but the whole turn's, which turns may have their own of."""

    silence: float = 60.0
    after_tool: float = 300.0
    answer: float = 10.0
    reconnecting: float = 180.0
    probe: float = 5.0
    """To wait for the answer to thread/read; without one the thread counts as idle."""

    def seconds(self, limit: Limit) -> float:
        """Those of a limit that is not the whole turn's."""
        match limit:
            case Limit.SILENCE:
                return self.silence
            case Limit.AFTER_TOOL:
                return self.after_tool
            case Limit.ANSWER:
                return self.answer
            case _:
                return self.reconnecting

    @property
    def shortest(self) -> float:
        """The least of them: a turn that is looked at so often is late for none."""
        return min(self.silence, self.after_tool, self.answer, self.reconnecting)


class Watch:
    """The deadlines of one turn.

    Args:
        limits: Those that depend on its state.
        seconds: How long it may take in all.
        key: What sets that, as the configuration calls it.
        now: The time, by a clock that never goes back; so is every other `now`.
        compacts: Whether the turn only summarises its conversation.
    """

    __slots__ = (
        "_acted",
        "_answered",
        "_asked",
        "_compacts",
        "_early",
        "_failing_since",
        "_last",
        "_limits",
        "_open",
        "_try",
        "_turn",
        "busy",
        "key",
        "seconds",
        "whole",
    )

    def __init__(self, limits: Limits, seconds: float, key: str, now: float, *, compacts: bool = False) -> None:
        self._limits = limits
        self._compacts = compacts
        self.seconds = seconds
        """Of the whole turn."""
        self.key = key
        """What sets these."""
        self.busy = False
        """Whether somebody sees to a limit of it that is over."""
        self.whole = now + seconds
        """When that is over."""
        self._try = 0
        self.reopen()

    def reopen(self) -> None:
        """The turn is asked for, perhaps not for the first time: nothing of it is known to run."""
        self._turn = ""
        self._early: list[Wire] = []
        self._last = 0.0
        self._open: set[str] = set()
        self._acted = self._answered = False
        self._asked = 0
        self._try += 1
        self._failing_since: float | None = None

    def begin(self, turn_id: str, now: float) -> None:
        """Codex has the turn under this id, which is not empty."""
        if not self._turn:
            self._turn, self._last = turn_id, now
            early, self._early = self._early, []
            for wire in early:
                self.see(wire, turn_id, now)

    def see(self, wire: Wire, turn_id: str, now: float) -> None:
        """Take in a notification of the turn's thread; `turn_id` is empty as long as Codex has not confirmed it."""
        if turn_id != self._turn:
            self.begin(turn_id, now)
        if not turn_id:
            if isinstance(wire, Delta):
                # What it says is the ledger's business, and may be much before the turn is confirmed.
                wire = Delta(wire.thread_id, wire.turn_id, "", wire.stream, "")
                if self._early and self._early[-1] == wire:
                    return
            self._early.append(wire)
        elif isinstance(wire, Delta):
            if wire.turn_id == turn_id:
                self._last, self._failing_since = now, None
                if wire.stream is Stream.MESSAGE:
                    self._answered = False
        elif _turn_of(wire) == turn_id:
            if isinstance(wire, TurnFailing) and wire.will_retry:
                self._failing_since = now if self._failing_since is None else self._failing_since
            else:
                self._last, self._failing_since = now, None
                if isinstance(wire, ItemStarted | ItemCompleted):
                    self._item(wire.item, over=isinstance(wire, ItemCompleted))

    def ask(self, now: float) -> int:
        """Codex asks for something of us in the turn, and waits for it; gives in which try of the turn it does."""
        self._asked += 1
        self.renew(now)
        return self._try

    def answer(self, now: float, asked_in: int) -> None:
        """What Codex asked for in that try is answered; nobody waits for it any more if the turn was begun anew."""
        if asked_in == self._try:
            self._asked -= 1
            self.renew(now)

    def renew(self, now: float) -> None:
        """The turn is known to go on."""
        self._last = now

    @property
    def state(self) -> State:
        """What the turn is waited for in."""
        if not self._turn:
            return State.OPENING
        if self._failing_since is not None:
            return State.RECONNECTING
        if self._open or self._asked:
            return State.ACTING
        if self._answered:
            return State.ANSWERED
        return State.ACTING if self._acted else State.SILENT

    @property
    def has_answer(self) -> bool:
        """Whether the last thing that the turn did was to say an answer, whatever else is still open."""
        return self._answered

    @property
    def acted(self) -> bool:
        """Whether anything ran."""
        return self._acted

    def due(self) -> tuple[float, Limit]:
        """The next moment at which something has to be done if nothing comes, and the limit that is over then."""
        limit = _LIMIT_IN.get(self.state)
        if limit is None:
            return self.whole, Limit.WHOLE
        since = self._last if self._failing_since is None else self._failing_since
        at = since + self._limits.seconds(limit)
        return (at, limit) if at < self.whole else (self.whole, Limit.WHOLE)

    def _item(self, item: ItemValue, *, over: bool) -> None:
        match item:
            case AgentMessageItem(text=text, phase=phase):
                self._answered = over and phase != "commentary" and bool(text.strip())
            case UserMessageItem():
                self._answered = False  # a word that joined the turn is to be answered first
            case ReasoningItem() | PlanItem():
                pass
            case CompactionItem() if self._compacts:
                self._answered = over  # and until then it is asked for soon: the conversation waits for it
            case _:
                self._answered = False
                # Not a pass over the history alone, which is the gateway's business and nobody else's.
                self._acted = self._acted or not isinstance(item, CompactionItem)
                (self._open.discard if over else self._open.add)(item.id)


def over(limit: Limit, watch: Watch, limits: Limits, *, compacts: bool = False) -> tuple[str, Failure]:
    """What is said of a turn that ends unanswered as `limit` is over, and what kind of failure that is.

    `compacts` says that the turn only summarises its conversation.
    """
    if limit is Limit.WHOLE:
        told = "It was not done within" if compacts else "The turn was stopped after"
        return f"{told} {watch.seconds:g} s ({watch.key}).", Failure.DEADLINE
    seconds, key = limits.seconds(limit), KEYS[limit]
    if limit is Limit.RECONNECTING:
        return f"The model provider could not be reached for {seconds:g} s, so the turn ended ({key}).", Failure.OUTAGE
    told = f"Codex was silent for {seconds:g} s, so the turn was ended ({key})"
    undone = "; what it did may be incomplete, and nothing of it is run again" if watch.acted else ""
    return f"{told}{undone}.", Failure.DEADLINE


def named(limit: Limit, watch: Watch, limits: Limits) -> str:
    """A limit in words, and how long it is."""
    seconds = watch.seconds if limit is Limit.WHOLE else limits.seconds(limit)
    return f"{limit.value}, {seconds:g} s"


def taken_as_answer(limit: Limit, limits: Limits) -> str:
    """What the operator is told of a turn of which the answer came and the end did not."""
    seconds = limits.seconds(limit)
    return f"Codex did not say within {seconds:g} s that the turn was over; its answer counts ({KEYS[limit]})."


def _turn_of(wire: Wire) -> str:
    match wire:
        case TurnBegan(turn=turn) | TurnEnded(turn=turn):
            return turn.id
        case (
            ItemStarted(turn_id=turn_id)
            | ItemCompleted(turn_id=turn_id)
            | TerminalUsed(turn_id=turn_id)
            | TurnFailing(turn_id=turn_id)
            | TokenUsageUpdated(turn_id=turn_id)
            | PlanUpdated(turn_id=turn_id)
            | ModelRerouted(turn_id=turn_id)
        ):
            return turn_id
        case Unread(params=params):  # of a kind that nobody here knows, and a word of the turn all the same
            named = params.get("turnId")
            return named if isinstance(named, str) else ""
        case _:
            return ""
