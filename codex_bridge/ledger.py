"""Whose notification is this, and what does it mean for the turn?

Pure: typed notifications in, events for the gateway out. One ledger follows one turn, from the request that
starts it to its end:

    state      | what comes                    | next
    -----------+-------------------------------+----------------------------------------------------
    OPENING    | a notification                | OPENING; kept, as the turn's id is not known yet
    OPENING    | the answer to turn/start      | RUNNING; what was kept for this turn is taken in now
    OPENING    | no answer, but turn/started   | RUNNING; one turn runs on a thread at a time, so it is this one
    RUNNING    | a notification of this turn   | RUNNING; becomes events
    RUNNING    | turn/completed of this turn   | ENDED, with `Finished`
    any        | what was written down of it   | ENDED if that tells of its end; see `recall`
    any        | the connection ends           | ENDED, with `Finished` as lost, unless the answer was whole by then
    ENDED      | anything                      | ENDED; nothing
"""

from collections.abc import Iterable
from dataclasses import field
from enum import Enum
from typing import Final

from codex_bridge.failures import Trouble, sentence, turn_failure, turn_trouble
from codex_bridge.rpc import encode
from codex_bridge.wire.items import (
    AgentMessageItem,
    CommandItem,
    CompactionItem,
    DynamicToolItem,
    FileChangeItem,
    ItemValue,
    McpToolItem,
    UnknownItem,
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
    TokenCount,
    TokenUsageUpdated,
    TurnBegan,
    TurnEnded,
    TurnFailing,
    Warned,
    Wire,
)
from codex_bridge.wire.requests import Turn
from harness.lean_values import dataclass
from harness.turns import (
    Command,
    CommandAction,
    CommandFinished,
    CommandOutput,
    CommandStarted,
    Commentary,
    Compacted,
    EndedBy,
    Evidence,
    Failure,
    FileChange,
    FilesChanged,
    Finished,
    Notice,
    Outcome,
    PlanChanged,
    PlanStep,
    Reasoning,
    TextDelta,
    TextRetracted,
    ToolFinished,
    ToolStarted,
    TurnEvent,
    TurnResult,
    Usage,
    UsageCounted,
)

ACTIONS: Final = {
    "read": CommandAction.READ,
    "listFiles": CommandAction.LIST,
    "search": CommandAction.SEARCH,
}
"""What a command does, by the type of its action."""
CHILDREN: Final = frozenset({"collabAgentToolCall", "subAgentActivity"})
"""Items that tell of subagents (protocol reference, 3.6)."""
MOST_OUTPUT: Final = 40_000
"""Characters of a command's output that the model is shown at most: 10,000 tokens unless it asks for more."""
TERMINAL: Final = "terminal"
"""What was done when something was typed into a command that runs."""
NAMELESS: Final = "unknown"
"""What was done when an item does not say its type."""


class State(Enum):
    """Where a turn is."""

    OPENING = "opening"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(slots=True)
class _Message:
    """An assistant message as far as it is known."""

    streamed: bytearray = field(default_factory=bytearray)
    """What came in pieces, as UTF-8: a list of them, or a StringIO, would hold ten times as much."""
    commentary: bool = False
    whole: str | None = None

    @property
    def text(self) -> str:
        return self.streamed.decode("utf-8", "surrogatepass") if self.whole is None else self.whole


class TurnLedger:
    """The account of one turn on one thread.

    Args:
        thread_id: The thread.
        login: The command that signs in again, for a turn that fails for want of it.
        unasked: Who ended a turn that Codex calls interrupted and that nobody here wanted gone. A conversation's was
            stopped by somebody at Codex itself.
    """

    def __init__(self, thread_id: str, login: str, unasked: EndedBy = EndedBy.PERSON) -> None:
        self.thread_id = thread_id
        self._login = login
        self._unasked = unasked
        self.turn_id = ""
        self.began = False
        """Whether turn/started was seen; before it, an interrupt that names the turn is refused."""
        self._state = State.OPENING
        self._early: list[Wire] = []
        self._adopts = False
        self._messages: dict[str, _Message] = {}
        self._said_last = False
        """Whether a whole message is the last thing that happened."""
        self._answered = False
        """Whether it is the answer: the model has said so, or its request was over with it."""
        self._seen: set[tuple[type[ItemStarted | ItemCompleted], type[ItemValue], str]] = set()
        """What was told of which item, so that a notification which comes twice counts once."""
        self._counted = TokenCount()
        """What the thread had used in all when it was last counted."""
        self._usage = Usage()
        self._usage_of_subagents = Usage()
        self.ends_by: EndedBy | None = None
        """Why the turn is being interrupted, if it is."""
        self._given_up = ""
        self._why = Failure.OTHER
        self._counts_as_answer = False
        self._messages_in = 0
        self.units = 0
        """About how many UTF-16 units of answers, calls and outputs it added to the conversation."""
        self._commands: dict[str, Command] = {}
        self._changes: dict[str, tuple[str, ...]] = {}
        self._tools: dict[str, str] = {}
        self._children: set[str] = set()
        self._others: dict[str, None] = {}
        self._compacted = False
        self._compacting = False
        self._remark = ""
        self.summarises = False
        """Whether the turn does nothing but put a summary in place of what the thread holds."""
        self.summary_failed = False
        """Whether the turn failed because Codex could not summarise the thread, which it does on its own account too:
        the item begins then, and never completes (measured)."""
        self.trouble: Trouble | None = None
        """What the failure of the turn means for its conversation; None for a turn that Codex did not fail."""

    @property
    def state(self) -> State:
        """Where the turn is."""
        return self._state

    def accept(self, turn: Turn) -> list[TurnEvent]:
        """The server answered turn/start with this turn."""
        if self._state is not State.OPENING:
            return []
        self._state, self.turn_id = State.RUNNING, turn.id
        early, self._early = self._early, []
        return [event for wire in early for event in self.see(wire)]

    def adopt(self) -> list[TurnEvent]:
        """The answer to turn/start is lost: the turn that began on the thread, or begins there next, is this one."""
        self._adopts = True
        began = [wire.turn for wire in self._early if isinstance(wire, TurnBegan)]
        return self.accept(began[-1]) if began else []

    def see(self, wire: Wire) -> Iterable[TurnEvent]:
        """Take in a notification of this thread, in the order of arrival."""
        if self._state is State.RUNNING:
            if isinstance(wire, Delta):
                return self._delta(wire) if wire.turn_id == self.turn_id else ()
            return self._notified(wire)
        if self._state is State.OPENING:
            self._early.append(wire)
            if self._adopts and isinstance(wire, TurnBegan):
                return self.accept(wire.turn)
        return ()

    @property
    def sure_of_its_end(self) -> bool:
        """Whether no more has to be known when the connection ends: the answer is whole, or the end was wanted."""
        return self._answered or self.ends_by is not None

    def recall(self, turn: Turn) -> list[TurnEvent]:
        """Take in what Codex has written down of the turn, as its server is gone; ends it if it had come to its end."""
        events = self.accept(turn)
        if self._state is State.ENDED:
            return events
        if turn.status in ("completed", "failed"):
            return [*events, *self._ended(turn)]
        return [*events, *(each for item in turn.items for each in self._item_completed(item))]

    def lose(self, sentence: str, detail: str = "", failure: Failure = Failure.SERVER) -> list[TurnEvent]:
        """The connection is gone, and with it whatever the turn was doing."""
        if self.ends_by is not None:
            return self._stopped()  # also where a server that did not answer any more was closed for it
        if self._answered:
            return self._end(Outcome.ANSWERED)
        return self._end(Outcome.LOST, sentence, detail, failure, by=EndedBy.LOSS)

    def fail(
        self, sentence: str, detail: str = "", failure: Failure = Failure.OTHER, *, by: EndedBy = EndedBy.ITSELF
    ) -> list[TurnEvent]:
        """The turn cannot go on, by our own decision."""
        return self._end(Outcome.FAILED, sentence, detail, failure, by=by)

    def count_subagent(self, usage: Usage) -> None:
        """A subagent of this turn is done and used so much."""
        self._usage_of_subagents += usage

    def will_end(
        self, by: EndedBy, sentence: str = "", failure: Failure = Failure.OTHER, *, answered: bool = False
    ) -> None:
        """The turn is being interrupted, and this is why; the first reason counts.

        Args:
            by: Who wants that.
            sentence: What is said of it, when its end is to be a failure.
            failure: The class of that.
            answered: What was said by now is the answer.
        """
        if self.ends_by is None:
            self.ends_by, self._given_up, self._why, self._counts_as_answer = by, sentence, failure, answered

    def rest(self, remark: str) -> list[TurnEvent]:
        """There was nothing to do; `remark` says why."""
        self._remark = remark
        return self._end(Outcome.EMPTY)

    def stop(self) -> list[TurnEvent]:
        """The turn ends without the server's word: it never knew of it, or does not answer."""
        return self._stopped()

    def _delta(self, delta: Delta) -> Iterable[TurnEvent]:
        match delta.stream:
            case Stream.MESSAGE:
                # A piece that comes twice is taken twice: nothing in it tells it from a text that repeats itself. The
                # whole message, which follows, puts the answer right.
                message = self._messages.get(delta.item_id)
                if message is None:
                    message = self._messages[delta.item_id] = _Message()
                message.streamed += delta.text.encode("utf-8", "surrogatepass")
                if message.commentary:
                    return (Commentary(delta.item_id, delta.text),)
                return (TextDelta(delta.item_id, delta.text),)
            case Stream.COMMAND_OUTPUT:
                return (CommandOutput(delta.item_id, delta.text),)
            case Stream.REASONING_SUMMARY | Stream.REASONING:
                return (Reasoning(delta.item_id, delta.text),)
            case Stream.PLAN:
                return (Commentary(delta.item_id, delta.text),)

    def _notified(self, wire: Wire) -> Iterable[TurnEvent]:
        match wire:
            case Warned(message=text):
                return (Notice(text),)
            case TurnBegan(turn=turn) if turn.id == self.turn_id:
                self.began = True
                return ()
            case TurnEnded(turn=turn) if turn.id == self.turn_id:
                return self._ended(turn)
            case TerminalUsed() if wire.turn_id == self.turn_id:
                self._others[TERMINAL] = None
                return ()
            case (
                ItemStarted() | ItemCompleted() | TurnFailing() | TokenUsageUpdated() | PlanUpdated() | ModelRerouted()
            ) if wire.turn_id == self.turn_id:
                return self._of_this_turn(wire)
            case _:
                return ()

    def _of_this_turn(
        self, wire: ItemStarted | ItemCompleted | TurnFailing | TokenUsageUpdated | PlanUpdated | ModelRerouted
    ) -> Iterable[TurnEvent]:
        match wire:
            case ItemStarted(item=item):
                return self._item_started(item) if self._is_news(wire, item) else ()
            case ItemCompleted(item=item):
                return self._item_completed(item) if self._is_news(wire, item) else ()
            case TurnFailing(will_retry=True):
                return self._retract()
            case TurnFailing():
                return ()  # turn/completed brings the same error
            case TokenUsageUpdated(token_usage=counted):
                self._answered = self._answered or self._said_last
                # `last` is one model request, and a turn may make several. Each adds to the total, if one is told.
                last, before, self._counted = counted.last, self._counted, counted.total
                if counted.total.total_tokens and counted.total == before:
                    return ()
                self._usage += Usage(
                    last.input_tokens, last.cached_input_tokens, last.output_tokens, last.reasoning_output_tokens
                )
                return (UsageCounted(self._usage, counted.model_context_window),)
            case PlanUpdated(plan=steps, explanation=explanation):
                return (PlanChanged(tuple(PlanStep(each.step, each.status) for each in steps), explanation or ""),)
            case ModelRerouted(from_model=asked, to_model=answering):
                return (Notice(f"{answering} answers in place of {asked}."),)

    def _is_news(self, wire: ItemStarted | ItemCompleted, item: ItemValue) -> bool:
        """Whether this was not told before; an item without an id always is."""
        told = (type(wire), type(item), item.id)
        is_news = not item.id or told not in self._seen
        self._seen.add(told)
        return is_news

    def _item_started(self, item: ItemValue) -> Iterable[TurnEvent]:
        self._said_last = self._answered = False
        self._note(item, over=False)
        match item:
            case AgentMessageItem(id=item_id, phase=phase):
                self._messages.setdefault(item_id, _Message()).commentary = phase == "commentary"
                return ()
            case CommandItem(id=item_id, command=command, cwd=cwd):
                return (CommandStarted(item_id, command, cwd),)
            case McpToolItem() | DynamicToolItem():
                return (ToolStarted(item.id, _tool_name(item)),)
            case CompactionItem():
                self._compacting = True
                return ()
            case _:
                return ()

    def _item_completed(self, item: ItemValue) -> Iterable[TurnEvent]:
        self._said_last = self._answered = False
        self._note(item, over=True)
        self.units += self._size(item)
        match item:
            case AgentMessageItem(id=item_id, text=text, phase=phase):
                self._said_last = phase != "commentary" and bool(text.strip())
                self._answered = self._said_last and phase == "final_answer"
                message = self._messages.setdefault(item_id, _Message())
                message.whole, message.commentary = text, phase == "commentary"
                message.streamed.clear()  # the same once more
                return ()
            case CommandItem(id=item_id, command=command, status=status, exit_code=code):
                return (CommandFinished(item_id, command, status, code),)
            case FileChangeItem(id=item_id, status=status, changes=changes):
                listed = tuple(FileChange(each.path, each.kind.type, each.diff) for each in changes)
                return (FilesChanged(item_id, status, listed),)
            case McpToolItem() | DynamicToolItem():
                return (ToolFinished(item.id, _tool_name(item), item.status == "completed"),)
            case CompactionItem(id=item_id):
                self._compacted, self._compacting = True, False
                return (Compacted(item_id),)
            case UserMessageItem():
                self._messages_in += 1
                return ()
            case _:
                return ()

    def _note(self, item: ItemValue, *, over: bool) -> None:
        """Keep what an item does. One that only began may have done it all the same."""
        match item:
            case CommandItem(id=item_id, command=command):
                did = tuple(ACTIONS.get(each.type, CommandAction.OTHER) for each in item.command_actions)
                self._commands[item_id] = Command(command, did, over)
            case FileChangeItem(id=item_id, status=status, changes=changes):
                self._changes[item_id] = () if status == "declined" else tuple(each.path for each in changes)
            case McpToolItem() | DynamicToolItem():
                self._tools[item.id] = _tool_name(item)
            case UnknownItem(id=item_id, type=kind):
                if kind in CHILDREN:
                    self._children.add(item_id or f"without id {len(self._children)}")
                else:
                    self._others[kind or NAMELESS] = None
            case _:
                pass

    @staticmethod
    def _size(item: ItemValue) -> int:
        match item:
            case AgentMessageItem(text=text):
                return len(text)
            case CommandItem(command=command, aggregated_output=output):
                return len(command) + min(len(output or ""), MOST_OUTPUT)
            case DynamicToolItem(arguments=arguments, content_items=read):
                return len(encode([arguments, read]))
            case McpToolItem(arguments=arguments, result=read):
                return len(encode([arguments, read]))
            case _:
                return 0

    def _did(self) -> Evidence:
        return Evidence(
            commands=tuple(self._commands.values()),
            changes=tuple(path for paths in self._changes.values() for path in paths),
            tools=tuple(self._tools.values()),
            others=tuple(self._others),
            children=len(self._children),
            messages=self._messages_in,
        )

    def _retract(self) -> list[TurnEvent]:
        """Forget messages that were streamed in part: the retried stream brings new ones under new ids."""
        self._said_last = self._answered = False
        broken = [item for item, message in self._messages.items() if message.whole is None]
        for item in broken:
            del self._messages[item]
        return [TextRetracted(item) for item in broken]

    def _ended(self, turn: Turn) -> list[TurnEvent]:
        for item in turn.items:
            if isinstance(item, AgentMessageItem):
                self._item_completed(item)
        match turn.status:
            case "interrupted":
                return self._stopped()
            case "failed":
                self.trouble, self.summary_failed = turn_trouble(turn.error), self._compacting
                detail = turn.error.message if turn.error else ""
                return self._end(Outcome.FAILED, sentence(turn.error, self._login), detail, turn_failure(turn.error))
            case _:  # "completed", or a word that a newer server has for an end
                self._compacted |= self.summarises
                return self._end(Outcome.ANSWERED if self._answer() else Outcome.EMPTY)

    def _stopped(self) -> list[TurnEvent]:
        by = self.ends_by or self._unasked
        if self._counts_as_answer:
            return self._end(Outcome.ANSWERED, by=by)
        if self._given_up:
            return self._end(Outcome.FAILED, self._given_up, failure=self._why, by=by)
        return self._end(Outcome.INTERRUPTED, by=by)

    def _answer(self) -> str:
        """The last assistant text that is no commentary and not blank."""
        for message in reversed(self._messages.values()):
            if not message.commentary and (text := message.text).strip():
                return text
        return ""

    def _end(
        self,
        outcome: Outcome,
        error: str = "",
        detail: str = "",
        failure: Failure | None = None,
        *,
        by: EndedBy = EndedBy.ITSELF,
    ) -> list[TurnEvent]:
        if self._state is State.ENDED:
            return []
        self._state = State.ENDED
        result = TurnResult(
            outcome=outcome,
            text=self._answer(),
            error=error,
            detail=detail,
            conversation=self.thread_id,
            turn=self.turn_id,
            usage=self._usage,
            usage_of_subagents=self._usage_of_subagents,
            evidence=self._did(),
            compacted=self._compacted,
            failure=failure,
            ended_by=by,
            remark=self._remark,
        )
        return [Finished(result)]


def _tool_name(item: McpToolItem | DynamicToolItem) -> str:
    owner = item.server if isinstance(item, McpToolItem) else item.namespace
    return f"{owner}.{item.tool}" if owner else item.tool
