"""The messages of one conversation: which wait, and for what; which join the turn that runs; which are let go of.

Pure: what happens comes in with the time, what is to be done goes out. By the mode of the chat, and by what its turn is
doing when messages wait:

    mode      | no turn runs                   | the turn takes words in         | it takes none
    ----------+--------------------------------+---------------------------------+-----------------
    STEER     | begin one with all that wait   | all that wait join it           | they wait
    FOLLOWUP  | begin one with the first       | they wait                       | they wait
    COLLECT   | begin one with all that wait   | they wait                       | they wait
    INTERRUPT | begin one with all that wait   | interrupt it; they wait         | they wait

What is handed over together waits until nothing else came for `QueueRules.quiet`, `MOST_QUIET` times that at most; a
message that finds nobody at work begins at once, and so does what ended the turn or has one of its own. A bare /new or
/reset lets go of what waits before it, interrupts the turn, and has a turn of its own. A stop lets go of all that
waits, and interrupts the turn.

A message that waits may be changed, and keeps its place.

Every message is handed over just once, or let go of with a reason, and none overtakes another: what a turn refused goes
back to the place that it had, and so does what a turn was to begin with that was interrupted before it had it.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from typing import Final, Generic, TypeAlias, TypeVar

from harness.lean_values import dataclass
from harness.settings.queue import DropPolicy, QueueMode, QueueRules

MOST_QUIET: Final = 4
"""How many times `QueueRules.quiet` a message waits at most for others that may follow it."""
MOST_TOLD: Final = 20
"""Messages that were let go of, and of which is told by more than their number."""

Message = TypeVar("Message")


class Why(Enum):
    """Why a message is let go of."""

    FULL = "full"
    """Too many waited."""
    STOPPED = "stopped"
    """Somebody stopped the conversation."""
    ANEW = "anew"
    """The conversation was begun anew before its turn came."""


@dataclass(frozen=True, slots=True)
class Waiting(Generic[Message]):
    """A message in the line."""

    message: Message
    number: int
    """In the order in which they came."""
    at: float
    """When it came."""
    resets: bool = False
    """It is a bare /new or /reset."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[Message]):
    """Messages that are handed over together, in the order in which they came."""

    waited: tuple[Waiting[Message], ...]
    left_out: tuple[Waiting[Message], ...] = ()
    """The last messages before them that were let go of, and of which is to be told."""
    left_out_count: int = 0
    """How many there were in all."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages."""
        return tuple(each.message for each in self.waited)


@dataclass(frozen=True, slots=True)
class Begin(Generic[Message]):
    """Begin a turn that answers them."""

    batch: Batch[Message]


@dataclass(frozen=True, slots=True)
class Join(Generic[Message]):
    """Say them into the turn that runs, and tell whether it has them."""

    batch: Batch[Message]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """End the turn that runs."""

    stopped: bool = True
    """Somebody asked for its end; False: it makes way for what waits."""


@dataclass(frozen=True, slots=True)
class LetGo(Generic[Message]):
    """Nothing is done about a message any more."""

    message: Message
    why: Why


Order: TypeAlias = Begin[Message] | Join[Message] | Interrupt | LetGo[Message]


class Line(Generic[Message]):
    """The line of one conversation."""

    def __init__(self) -> None:
        self._waiting: deque[Waiting[Message]] = deque()
        self._left_out: list[Waiting[Message]] = []
        self._left_out_count = 0
        self._joining: list[Batch[Message]] = []
        """What was said into the turn, as long as it is not known whether it has it."""
        self._count = 0
        self._runs = False
        self._takes = True
        """Whether the turn takes words in; false once it refused some, or is to end."""
        self._ends = False
        """Whether the turn is to end."""
        self._stopped = False
        """Whether what the turn does not have is let go of."""

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return not (self._waiting or self._joining or self._runs)

    @property
    def waiting(self) -> tuple[Message, ...]:
        """What waits, in the order in which it came."""
        return tuple(each.message for each in self._waiting)

    def due(self, rules: QueueRules) -> float | None:
        """When to `look` again, so that nothing waits for longer than it has to; None when something else tells."""
        if not self._waiting or self._is_blocked(rules):
            return None
        return self._quiet_at(rules)

    def arrive(self, message: Message, rules: QueueRules, now: float, *, resets: bool = False) -> list[Order[Message]]:
        """A message came in."""
        found_nobody = self.idle
        self._count += 1
        each = Waiting(message, self._count, now, resets)
        if resets:
            gone = [LetGo(other.message, Why.ANEW) for other in self._waiting]
            self._waiting = deque([each])
            self._forget_left_out()
            return [*gone, *self._end_turn(), *self._next(rules, now, at_once=found_nobody)]
        self._waiting.append(each)
        return [*self._make_room(rules), *self._next(rules, now, at_once=found_nobody)]

    def change(self, same: Callable[[Message], bool], changed: Callable[[Message], Message]) -> Message | None:
        """Put another message in the place of one that waits, if there is one; gives that which waited.

        Args:
            same: Whether it is the one.
            changed: Makes the other one of it.
        """
        for place, each in enumerate(self._waiting):
            if same(each.message):
                self._waiting[place] = replace(each, message=changed(each.message))
                return each.message
        return None

    def look(self, rules: QueueRules, now: float) -> list[Order[Message]]:
        """Time has passed."""
        return self._next(rules, now)

    def joined(self, batch: Batch[Message], rules: QueueRules, now: float, *, taken: bool) -> list[Order[Message]]:
        """What became of messages that were said into the turn. Told at the latest when the turn is over."""
        self._joining.remove(batch)
        if taken:
            return self._next(rules, now)
        self._takes = False
        return [*self._put_back(batch), *self._next(rules, now)]

    def over(self, rules: QueueRules, now: float, *, back: Batch[Message] | None = None) -> list[Order[Message]]:
        """The turn is over, or could not begin.

        Args:
            rules: What holds now.
            now: The time.
            back: What it was begun with, where it made way before it had that.
        """
        self._runs = self._ends = False
        gone = list(self._put_back(back)) if back is not None else []
        return [*gone, *self._next(rules, now)]

    def stop(self) -> list[Order[Message]]:
        """Somebody stops the conversation."""
        gone = [LetGo(each.message, Why.STOPPED) for each in self._waiting]
        self._waiting.clear()
        self._forget_left_out()
        self._stopped = self._runs or bool(self._joining)
        return [*gone, *self._end_turn()]

    def _next(self, rules: QueueRules, now: float, *, at_once: bool = False) -> list[Order[Message]]:
        """What is to be done about what waits."""
        if not self._waiting:
            return []
        if self._runs and rules.mode is QueueMode.INTERRUPT:
            return self._end_turn(stopped=False)
        if self._is_blocked(rules) or (not at_once and self._quiet_at(rules) > now):
            return []
        if self._runs:
            batch = self._taken(len(self._waiting))
            self._joining.append(batch)
            return [Join(batch)]
        alone = rules.mode is QueueMode.FOLLOWUP or self._begins_anew
        self._runs, self._takes, self._stopped = True, True, False
        return [Begin(self._taken(1 if alone else len(self._waiting)))]

    @property
    def _begins_anew(self) -> bool:
        """Whether the next turn begins the conversation anew; nothing waits before such a message."""
        return bool(self._waiting) and self._waiting[0].resets

    def _is_blocked(self, rules: QueueRules) -> bool:
        """Whether something else than time has to pass first."""
        if self._runs:
            return rules.mode is not QueueMode.STEER or not self._takes or self._begins_anew
        return bool(self._joining)  # they would be overtaken

    def _quiet_at(self, rules: QueueRules) -> float:
        """When nothing else is waited for."""
        first, last = self._waiting[0].at, self._waiting[-1].at
        if self._begins_anew or (not self._runs and rules.mode in (QueueMode.FOLLOWUP, QueueMode.INTERRUPT)):
            return first
        return min(last + rules.quiet, first + MOST_QUIET * rules.quiet)

    def _put_back(self, batch: Batch[Message]) -> Iterable[Order[Message]]:
        """What a turn does not have after all waits again at its place, unless it was let go of meanwhile."""
        if self._stopped or self._begins_anew:
            why = Why.STOPPED if self._stopped else Why.ANEW
            return [LetGo(each.message, why) for each in batch.waited]
        self._waiting = deque(sorted([*batch.waited, *self._waiting], key=_number))
        self._left_out = sorted([*batch.left_out, *self._left_out], key=_number)[-MOST_TOLD:]
        self._left_out_count += batch.left_out_count
        return []

    def _taken(self, count: int) -> Batch[Message]:
        waited = tuple(self._waiting.popleft() for _ in range(count))
        batch = Batch(waited, tuple(self._left_out), self._left_out_count)
        self._forget_left_out()
        return batch

    def _forget_left_out(self) -> None:
        self._left_out.clear()
        self._left_out_count = 0

    def _end_turn(self, *, stopped: bool = True) -> list[Order[Message]]:
        if not self._runs or self._ends:
            return []
        self._takes, self._ends = False, True
        return [Interrupt(stopped)]

    def _make_room(self, rules: QueueRules) -> Iterable[Order[Message]]:
        while len(self._waiting) > rules.cap:
            at = len(self._waiting) - 1 if rules.drop is DropPolicy.NEW else int(self._begins_anew)
            gone = self._waiting[at]
            del self._waiting[at]
            if rules.drop is DropPolicy.SUMMARIZE:
                self._left_out = [*self._left_out, gone][-MOST_TOLD:]
                self._left_out_count += 1
            yield LetGo(gone.message, Why.FULL)


def _number(each: Waiting[Message]) -> int:
    return each.number
