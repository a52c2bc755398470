"""What the notifications of one turn come to: what a reader is told of them, and what is left of the turn at its end.

Pure. The ledger knows which notifications are the turn's and when it is over; this knows what they say.
"""

from collections.abc import Iterable
from typing import TypeAlias

from codex_bridge.counting import Counting
from codex_bridge.joining import Joining
from codex_bridge.messages import Message, answer_of, retract
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
    ThreadTokenUsage,
    TokenUsageUpdated,
    TurnFailing,
)
from codex_bridge.work import CALLS, Work
from harness.turns import (
    Commentary,
    Evidence,
    Joined,
    Notice,
    PlanChanged,
    PlanStep,
    Reasoning,
    Silence,
    TextDelta,
    TurnEvent,
)

OfTurn: TypeAlias = ItemStarted | ItemCompleted | TurnFailing | TokenUsageUpdated | PlanUpdated | ModelRerouted
"""The notifications that tell what happens in a turn; a piece of a text takes the cheaper path."""


class Account:
    """What one turn said, did, used and was told.

    Args:
        counted: The last count of the thread before the turn, where one is known.
    """

    def __init__(self, counted: ThreadTokenUsage | None = None) -> None:
        self.joining = Joining()
        """What joins the turn."""
        self.work = Work()
        """What it does."""
        self.counting = Counting(counted)
        """What it uses."""
        self.earlier: list[str] = []
        """Answers to what was said before words came in."""
        self.answered = False
        """Whether a whole message is the answer: the model has said so, or its request was over with it."""
        self.compacted = False
        """Whether a summary took the place of what the conversation held."""
        self.compacting = False
        """Whether one is being made."""
        self.retried = False
        """Whether Codex tried by itself to ask the model once more."""
        self._messages: dict[str, Message] = {}
        self._said_last = False
        """Whether a whole message is the last thing that happened."""
        self._seen: set[tuple[type[ItemStarted | ItemCompleted], type[ItemValue], str]] = set()
        """What was told of which item, so that a notification which comes twice counts once."""
        self._begun: dict[str, ItemValue] = {}
        """The last call that began under each id."""
        self._messages_in = 0
        self._thought = self._planned = False

    @property
    def answer(self) -> str:
        """The last thing that was said and is no commentary; may be empty."""
        return answer_of(self._messages.values())

    @property
    def evidence(self) -> Evidence:
        """What was done."""
        return self.work.evidence(self._messages_in)

    def piece(self, delta: Delta) -> Iterable[TurnEvent]:
        """The next piece of a text."""
        match delta.stream:
            case Stream.MESSAGE:
                # A piece that comes twice is taken twice: nothing in it tells it from a text that repeats itself. The
                # whole message, which follows, puts the answer right.
                message = self._messages.get(delta.item_id)
                if message is None:
                    message = self._messages[delta.item_id] = Message()
                elif message.whole is not None:
                    return ()
                message.streamed += delta.text.encode("utf-8", "surrogatepass")
                if message.commentary:
                    return (Commentary(delta.item_id, delta.text),)
                return (TextDelta(delta.item_id, delta.text),)
            case Stream.COMMAND_OUTPUT:
                return self.work.print(delta.item_id, delta.text)
            case Stream.REASONING_SUMMARY | Stream.REASONING:
                self._thought = True
                return (Reasoning(delta.item_id, delta.text),)
            case Stream.PLAN:
                self._planned = True
                return (Commentary(delta.item_id, delta.text),)

    def take(self, wire: OfTurn) -> Iterable[TurnEvent]:
        """Take in a notification of the turn."""
        if isinstance(wire, ItemStarted | ItemCompleted) and not self._is_news(wire, wire.item):
            return ()
        key = self.joining.see(wire)
        return self._told(wire) if key is None else (*self._joined(key), *self._told(wire))

    def _joined(self, key: str) -> list[TurnEvent]:
        """Words came in: Codex breaks off what the model was saying, keeps what was whole, and asks it again."""
        events = retract(self._messages)
        answered = self.close_answer() if self.answered else ""
        return [*events, Joined(key, answered)]

    def close_answer(self) -> str:
        """What was said until now is an answer of its own; gives it."""
        answer = answer_of(self._messages.values())
        self._messages.clear()
        self.earlier += [answer] if answer else []
        return answer

    def _told(self, wire: OfTurn) -> Iterable[TurnEvent]:
        match wire:
            case ItemStarted(item=item):
                return self._item_started(item)
            case ItemCompleted(item=item):
                return self._item_completed(item)
            case TurnFailing(will_retry=True):
                self.retried = True
                self._said_last = self.answered = False
                return retract(self._messages)
            case TurnFailing():
                return ()  # turn/completed brings the same error
            case TokenUsageUpdated(token_usage=counted):
                self.answered = self.answered or self._said_last
                told = self.counting.count(counted)
                return () if told is None else (told,)
            case PlanUpdated(plan=steps, explanation=explanation):
                self._planned = True
                return (PlanChanged(tuple(PlanStep(each.step, each.status) for each in steps), explanation or ""),)
            case ModelRerouted(from_model=asked, to_model=answering):
                return (Notice(f"{answering} answers in place of {asked}."),)

    def _is_news(self, wire: ItemStarted | ItemCompleted, item: ItemValue) -> bool:
        """Whether this was not told before, and its end neither; an item without an id always is news.

        An item of work has the id that the model gave its call. One that begins and is not the same, after one of this
        id began and ended, is another call: nothing obliges a model to another id.
        """
        if not item.id:
            return True
        told, over = (type(wire), type(item), item.id), (ItemCompleted, type(item), item.id)
        is_news = told not in self._seen and over not in self._seen
        if isinstance(wire, ItemStarted) and isinstance(item, CALLS):
            if not is_news and over in self._seen and self._begun.get(item.id, item) != item:
                self._seen.discard(over)
                self.work.set_apart(item)
                is_news = True
            if is_news:
                self._begun[item.id] = item
        self._seen.add(told)
        return is_news

    def _item_started(self, item: ItemValue) -> Iterable[TurnEvent]:
        self._said_last = self.answered = False
        match item:
            case AgentMessageItem(id=item_id):
                return self._messages.setdefault(item_id, Message()).begin(item)
            case ReasoningItem():
                self._thought = True
                return ()
            case PlanItem():
                self._planned = True
                return ()
            case CompactionItem():
                self.compacting = True
                return self.work.begin(item)
            case _:
                return self.work.begin(item)

    def _item_completed(self, item: ItemValue) -> Iterable[TurnEvent]:
        self._said_last = self.answered = False
        match item:
            case AgentMessageItem(id=item_id, text=text, phase=phase):
                self._said_last = phase != "commentary" and bool(text.strip())
                self.answered = self._said_last and phase == "final_answer"
                self.work.units += len(text)
                return self._messages.setdefault(item_id, Message()).complete(item)
            case UserMessageItem():
                self._messages_in += 1
                return ()
            case CompactionItem():
                self.compacted, self.compacting = True, False
                unknown = self.counting.compacted()
                return (*self.work.end(item), *(() if unknown is None else (unknown,)))
            case ReasoningItem() | PlanItem():
                return self._item_started(item)
            case _:
                return self.work.end(item)

    def last(self, item: ItemValue) -> Iterable[TurnEvent]:
        """An item that comes with the end, most often the last message once more."""
        # A message of the person has another id there than before.
        if isinstance(item, UserMessageItem) or (ItemCompleted, type(item), item.id) in self._seen:
            return ()
        over = ItemCompleted.model_construct(thread_id="", turn_id="", item=item)
        return self.take(over)

    @property
    def said_anything(self) -> bool:
        """Whether a reader was told anything that the agent said, commentary too."""
        return any(message.text.strip() for message in self._messages.values())

    @property
    def silence(self) -> Silence:
        """What an answerless turn did."""
        if self.work.any:
            return Silence.TOOLS
        if self._planned:
            return Silence.PLAN
        if any(message.commentary and message.text for message in self._messages.values()):
            return Silence.COMMENTARY
        return Silence.REASONING if self._thought else Silence.NOTHING
