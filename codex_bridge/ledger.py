"""Whose notification is this, and what does it mean for the turn?

Pure: typed notifications in, events for the gateway out. One ledger follows one turn on one thread, from the request
that starts it to its end, and hears every notification of the thread:

    state      | what comes                      | next
    -----------+---------------------------------+------------------------------------------------------------------
    OPENING    | a notification                  | OPENING; kept, as the turn's id is not known yet, see `early`
    OPENING    | the answer: this turn runs      | RUNNING; what was kept for it is taken in now, the rest is dropped
    OPENING    | the answer: this turn is over   | the same, and then as if turn/completed had said so
    OPENING    | no answer, but turn/started     | RUNNING; one turn runs on a thread at a time, so it is this one
    RUNNING    | turn/started of this turn       | RUNNING; from now on it can be interrupted by its id
    RUNNING    | a piece of a text               | RUNNING; streamed, unless the text is whole already
    RUNNING    | item/started                    | RUNNING; told as begun, once
    RUNNING    | item/completed                  | RUNNING; told as over, once, and as begun before if that was missed
    RUNNING    | error, to be tried again        | RUNNING; messages that were streamed in part are taken back
    RUNNING    | error, not to be tried again    | RUNNING; turn/completed brings the same one
    RUNNING    | a count of tokens               | RUNNING; added if it is a new request, see `counting`
    RUNNING    | words that were sent into it    | RUNNING; told as joined, and messages streamed in part are taken back
    RUNNING    | turn/completed of this turn     | ENDED; what is open is told as over, then `Finished`
    RUNNING    | the same, words came in unread  | OPENING once more, see `goes_on`
    RUNNING    | anything of another turn        | RUNNING; nothing, save that its count is where this turn's begins
    any        | what was written down of it     | ENDED, likewise, if that tells of its end; see `recall`
    any        | the connection ends             | ENDED, likewise, as lost, unless the answer was whole by then
    any        | we end it                       | ENDED, likewise
    ENDED      | anything                        | ENDED; nothing
"""

from collections.abc import Iterable
from enum import Enum

from codex_bridge.account import Account
from codex_bridge.early import Early
from codex_bridge.failures import SHUTTING_DOWN
from codex_bridge.joining import Joining
from codex_bridge.telling import Tell
from codex_bridge.wire.notifications import (
    Delta,
    ItemCompleted,
    ItemStarted,
    ModelRerouted,
    PlanUpdated,
    TerminalUsed,
    ThreadTokenUsage,
    TokenUsageUpdated,
    TurnBegan,
    TurnEnded,
    TurnFailing,
    Warned,
    Wire,
)
from codex_bridge.wire.requests import Turn, TurnError
from harness.tools import ToolResult
from harness.turns import (
    EndedBy,
    Failure,
    FileChange,
    Finished,
    Notice,
    Outcome,
    TurnEvent,
    TurnResult,
    Usage,
)


class State(Enum):
    """Where a turn is."""

    OPENING = "opening"
    RUNNING = "running"
    ENDED = "ended"


class TurnLedger:
    """The account of one turn on one thread.

    Args:
        thread_id: The thread.
        tell: Says what the error means that a turn fails with.
        unasked: Who ended a turn that Codex calls interrupted and that nobody here wanted gone. A conversation's was
            stopped by somebody at Codex itself.
        counted: The last count of the thread before the turn, where one is known.
    """

    def __init__(
        self,
        thread_id: str,
        tell: Tell,
        unasked: EndedBy = EndedBy.PERSON,
        counted: ThreadTokenUsage | None = None,
    ) -> None:
        self.thread_id = thread_id
        self._tell = tell
        self._unasked = unasked
        self.turn_id = ""
        self._first_id = ""
        self._before = ""
        """The turn that this one goes on from."""
        self.began = False
        """Whether turn/started was seen; before it, an interrupt that names the turn is refused."""
        self._state = State.OPENING
        self._early = Early()
        self._adopts = False
        self._gone = False
        """Whether its server is."""
        self._account = Account(counted)
        self.goes_on = False
        """Words joined the turn that nobody has read when Codex ended it: it needs one more turn of the thread, which
        answers them and begins without words of its own. For the gateway it is the same one. Whoever begins that one
        takes this back."""
        self.counted_before = counted
        """The last count of the thread before the turn, where one is known."""
        self._usage_of_subagents = Usage()
        self.ends_by: EndedBy | None = None
        """Why the turn is being interrupted, if it is."""
        self.interrupted = False
        """Whether Codex says that it was."""
        self._given_up = ""
        self._why = Failure.OTHER
        self._counts_as_answer = False
        self._remark = ""
        self.summarises = False
        """Whether the turn does nothing but put a summary in place of what the thread holds."""
        self.summary_failed = False
        """Whether the turn failed because Codex could not summarise the thread, which it does on its own account too:
        the item begins then, and never completes (measured)."""
        self.error: TurnError | None = None
        """What Codex said of its failure, if it failed it and said something."""

    @property
    def state(self) -> State:
        """Where the turn is."""
        return self._state

    @property
    def units(self) -> int:
        """About how many UTF-16 units of answers, calls and outputs it added to the conversation."""
        return self._account.work.units

    def changes_of(self, item_id: str) -> tuple[FileChange, ...]:
        """The changes of files that wait to be made, by their item."""
        return self._account.work.changes_of(item_id)

    @property
    def joining(self) -> Joining:
        """What joins the turn."""
        return self._account.joining

    @property
    def retried(self) -> bool:
        """Whether Codex tried by itself to ask the model once more."""
        return self._account.retried

    @property
    def counted(self) -> ThreadTokenUsage | None:
        """The last count of the thread; None when none is known."""
        return self._account.counting.last

    def accept(self, turn: Turn) -> list[TurnEvent]:
        """The server answered turn/start with this turn, which may even be over by then."""
        events = self._opened(turn)
        if events is None:
            return []
        if turn.status in ("completed", "interrupted", "failed") and self.state is State.RUNNING:
            events += self._ended(turn)
        return events

    def _opened(self, turn: Turn) -> list[TurnEvent] | None:
        """It is this turn. Gives what came early of it; None if it was known before."""
        if self._state is not State.OPENING:
            return None
        self._state, self.turn_id = State.RUNNING, turn.id
        self._first_id = self._first_id or turn.id
        return [event for wire in self._early.take() for event in self.see(wire)]

    def adopt(self) -> list[TurnEvent]:
        """The answer to turn/start is lost: the turn that began on the thread, or begins there next, is this one."""
        self._adopts = True
        began = list(self._early.began.values())
        return self.accept(began[-1]) if began and began[-1].id != self._before else []

    def see(self, wire: Wire) -> Iterable[TurnEvent]:
        """Take in a notification of this thread, in the order of arrival."""
        if self._state is State.RUNNING:
            if isinstance(wire, Delta):
                return self._account.piece(wire) if wire.turn_id == self.turn_id else ()
            return self._notified(wire)
        if self._state is State.OPENING:
            self._early.keep(wire)
            if self._adopts and isinstance(wire, TurnBegan):
                return self.accept(wire.turn)
        return ()

    @property
    def sure_of_its_end(self) -> bool:
        """Whether no more has to be known when the connection ends: the answer is whole, or the end was wanted."""
        return self._account.answered or self.ends_by is not None

    def recall(self, turn: Turn) -> list[TurnEvent]:
        """Take in what Codex has written down of the turn, as its server is gone; ends it if it had come to its end."""
        events = self._opened(turn) or []
        self._gone = True
        if self._state is State.ENDED:
            return events
        if turn.status in ("completed", "failed"):
            return [*events, *self._ended(turn)]
        return [*events, *(each for item in turn.items for each in self._account.last(item))]

    def lose(self, sentence: str, detail: str = "", failure: Failure = Failure.SERVER) -> list[TurnEvent]:
        """The connection is gone, and with it whatever the turn was doing."""
        self._gone = True
        if self.ends_by is not None:
            return self._stopped()  # also where a server that did not answer any more was closed for it
        if self._account.answered:
            return self._end(Outcome.ANSWERED)
        return self._end(Outcome.LOST, sentence, detail, failure, by=EndedBy.LOSS)

    def fail(
        self, sentence: str, detail: str = "", failure: Failure = Failure.OTHER, *, by: EndedBy = EndedBy.ITSELF
    ) -> list[TurnEvent]:
        """The turn cannot go on, by our own decision."""
        return self._end(Outcome.FAILED, sentence, detail, failure, by=by)

    def hand_in(self, result: ToolResult) -> None:
        """A tool of ours was run for this turn, and this came of it."""
        self._account.work.hand_in(result)

    def count_subagent(self, usage: Usage) -> None:
        """A subagent of this turn is done and used so much."""
        self._usage_of_subagents += usage

    def will_end(
        self, by: EndedBy, sentence: str = "", failure: Failure = Failure.OTHER, *, answered: bool = False
    ) -> None:
        """The turn is being interrupted, and this is why; the first reason counts.

        One that the gateway's own end cuts short has failed: nobody wanted that, and what was asked for is open.

        Args:
            by: Who wants that.
            sentence: What is said of it, when its end is to be a failure.
            failure: The class of that.
            answered: What was said by now is the answer.
        """
        if by is EndedBy.SHUTDOWN and not sentence:
            sentence, failure = SHUTTING_DOWN, Failure.SHUTDOWN
        if self.ends_by is None:
            self.ends_by, self._given_up, self._why, self._counts_as_answer = by, sentence, failure, answered

    def may_be(self, turn_id: str) -> bool:
        """Whether it is the turn of that id, as far as is known: before the answer, one that began on its thread."""
        return turn_id == self.turn_id if self._state is not State.OPENING else turn_id in self._early.began

    def has_seen(self, turn_id: str) -> bool:
        """Whether a turn of that id began on the thread while this one was followed."""
        return turn_id in self._early.began

    def leave(self, by: EndedBy) -> list[TurnEvent]:
        """Whoever waits for the turn is told its end now, though it is not over: it is yet to be stopped."""
        if by is EndedBy.SHUTDOWN:
            return [Finished(self._result(Outcome.FAILED, SHUTTING_DOWN, failure=Failure.SHUTDOWN, by=by))]
        return [Finished(self._result(Outcome.INTERRUPTED, by=by))]

    def rest(self, remark: str) -> list[TurnEvent]:
        """There was nothing to do; `remark` says why."""
        self._remark = remark
        return self._end(Outcome.EMPTY)

    def stop(self) -> list[TurnEvent]:
        """The turn ends without the server's word: it never knew of it, or does not answer."""
        return self._stopped()

    def _notified(self, wire: Wire) -> Iterable[TurnEvent]:
        match wire:
            case (
                ItemStarted() | ItemCompleted() | TokenUsageUpdated() | TurnFailing() | PlanUpdated() | ModelRerouted()
            ) if wire.turn_id == self.turn_id:
                return self._account.take(wire)
            case TokenUsageUpdated(token_usage=counted):
                self._account.counting.elsewhere(counted)
            case Warned(message=text):
                return (Notice(text),)
            case TurnBegan(turn=turn):
                self._early.began[turn.id] = turn
                self.began = self.began or turn.id == self.turn_id
            case TurnEnded(turn=turn) if turn.id == self.turn_id:
                return self._ended(turn)
            case TerminalUsed() if wire.turn_id == self.turn_id:
                self._account.work.type()
            case _:
                pass
        return ()

    def _ended(self, turn: Turn) -> list[TurnEvent]:
        events = [event for item in turn.items for event in self._account.last(item)]
        return [*events, *self._over(turn)]

    def _over(self, turn: Turn) -> list[TurnEvent]:
        match turn.status:
            case "interrupted":
                self.interrupted = True
                return self._stopped()
            case "failed":
                self.error, self.summary_failed = turn.error, self._account.compacting
                told = self._tell(turn.error)
                details = (turn.error.message, turn.error.additional_details) if turn.error else ()
                detail = "\n".join(each for each in details if each)
                return self._end(Outcome.FAILED, told.sentence, detail, told.failure, retry_at=told.retry_at)
            case _ if self.joining.unread and self.ends_by is None and not self._gone:
                self._account.close_answer()  # nobody has read them, so what was said before was said to its end
                self._before = self.turn_id
                self._state, self.turn_id, self.began, self.goes_on = State.OPENING, "", False, True
                return []
            case _:  # "completed", or a word that a newer server has for an end
                self._account.compacted |= self.summarises
                return self._end(Outcome.ANSWERED if self._account.answer else Outcome.EMPTY)

    def _stopped(self) -> list[TurnEvent]:
        by = self.ends_by or self._unasked
        if self._counts_as_answer:
            return self._end(Outcome.ANSWERED, by=by)
        if self._given_up:
            return self._end(Outcome.FAILED, self._given_up, failure=self._why, by=by)
        return self._end(Outcome.INTERRUPTED, by=by)

    @property
    def said_anything(self) -> bool:
        """Whether a reader was told anything that the agent said, commentary too."""
        return self._account.said_anything

    def _end(
        self,
        outcome: Outcome,
        error: str = "",
        detail: str = "",
        failure: Failure | None = None,
        *,
        by: EndedBy = EndedBy.ITSELF,
        retry_at: float | None = None,
    ) -> list[TurnEvent]:
        if self._state is State.ENDED:
            return []
        self._state = State.ENDED
        # A command outlives its turn, also one that is interrupted (measured), but not the server.
        left = self._account.work.close(goes_on=not self._gone and failure is not Failure.SHUTDOWN)
        return [*left, Finished(self._result(outcome, error, detail, failure, by=by, retry_at=retry_at))]

    def _result(
        self,
        outcome: Outcome,
        error: str = "",
        detail: str = "",
        failure: Failure | None = None,
        *,
        by: EndedBy = EndedBy.ITSELF,
        retry_at: float | None = None,
    ) -> TurnResult:
        return TurnResult(
            outcome=outcome,
            text=self._account.answer,
            earlier=tuple(self._account.earlier),
            error=error,
            detail=detail,
            conversation=self.thread_id,
            turn=self._first_id,
            usage=self._account.counting.usage,
            usage_of_subagents=self._usage_of_subagents,
            evidence=self._account.evidence,
            compacted=self._account.compacted,
            failure=failure,
            retry_at=retry_at,
            ended_by=by,
            remark=self._remark,
            silence=self._account.silence if outcome is Outcome.EMPTY else None,
            context_used=self._account.counting.used,
            context_window=self._account.counting.window,
            media=self._account.work.media,
        )
