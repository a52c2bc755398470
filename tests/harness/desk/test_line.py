"""What becomes of a conversation's messages: each is handed over once or let go of, and none overtakes another."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.desk.line import MOST_QUIET, MOST_TOLD, Batch, Begin, Interrupt, Join, LetGo, Line, Order, Waiting
from harness.settings.queue import DropPolicy, QueueMode, QueueRules

STEER = QueueRules()
FOLLOWUP = QueueRules(mode=QueueMode.FOLLOWUP)
COLLECT = QueueRules(mode=QueueMode.COLLECT)
INTERRUPT = QueueRules(mode=QueueMode.INTERRUPT)
Told: TypeAlias = list[tuple[str, object]]


def told(orders: list[Order[str]]) -> Told:
    """The orders in short."""
    found: Told = []
    for order in orders:
        match order:
            case Begin(batch):
                found.append(("begin", "".join(batch.messages)))
            case Join(batch):
                found.append(("join", "".join(batch.messages)))
            case Interrupt():
                found.append(("interrupt", ""))
            case LetGo(message, why):
                found.append((f"let go: {why.value}", message))
    return found


def busy(rules: QueueRules = STEER) -> Line[str]:
    """A line whose turn runs, for the message a."""
    line: Line[str] = Line()
    assert told(line.arrive("a", rules, 0.0)) == [("begin", "a")]
    return line


def join_of(orders: list[Order[str]]) -> Batch[str]:
    (order,) = orders
    assert isinstance(order, Join)
    return order.batch


def test_a_message_that_finds_nobody_at_work_begins_at_once() -> None:
    for rules in (STEER, FOLLOWUP, COLLECT, INTERRUPT):
        line = busy(rules)
        assert (line.idle, line.due(rules)) == (False, None)
        assert line.over(rules, 9.0) == []
        assert line.idle


def test_messages_that_come_soon_after_each_other_join_the_turn_together() -> None:
    line = busy()
    assert line.arrive("b", STEER, 1.0) == []
    assert line.due(STEER) == 1.5
    assert line.arrive("c", STEER, 1.4) == []
    assert line.due(STEER) == 1.9
    assert line.look(STEER, 1.8) == []
    batch = join_of(line.look(STEER, 1.9))
    assert batch.messages == ("b", "c")
    assert line.joined(batch, STEER, 2.0, taken=True) == []
    assert (line.waiting, line.due(STEER)) == ((), None)


def test_a_message_waits_for_others_a_few_times_as_long_at_most() -> None:
    line = busy()
    for quarters in range(8):
        assert line.arrive("x", STEER, 1.0 + quarters / 4) == []
    assert line.due(STEER) == 1.0 + MOST_QUIET * STEER.quiet == 3.0
    assert told(line.look(STEER, 3.0)) == [("join", "xxxxxxxx")]


def test_without_a_quiet_time_each_message_joins_at_once() -> None:
    rules = QueueRules(quiet=0.0)
    line = busy(rules)
    assert told(line.arrive("b", rules, 1.0)) == [("join", "b")]
    assert told(line.arrive("c", rules, 1.0)) == [("join", "c")]


def test_what_the_turn_refuses_begins_the_next_one_before_what_came_later() -> None:
    """B7."""
    line = busy()
    line.arrive("b", STEER, 1.0)
    batch = join_of(line.look(STEER, 1.5))
    line.arrive("c", STEER, 1.6)
    assert line.joined(batch, STEER, 1.7, taken=False) == []
    assert line.waiting == ("b", "c")
    assert line.due(STEER) is None  # the turn takes nothing any more
    assert line.arrive("d", STEER, 9.0) == []
    assert told(line.over(STEER, 9.5)) == [("begin", "bcd")]


def test_the_next_turn_waits_until_it_is_known_what_the_last_one_took() -> None:
    line = busy()
    line.arrive("b", STEER, 1.0)
    batch = join_of(line.look(STEER, 1.5))
    line.arrive("c", STEER, 1.6)
    assert line.over(STEER, 2.0) == []
    assert line.due(STEER) is None
    assert told(line.joined(batch, STEER, 3.0, taken=True)) == [("begin", "c")]


def test_follow_ups_have_a_turn_each() -> None:
    line = busy(FOLLOWUP)
    for text in "bc":
        assert line.arrive(text, FOLLOWUP, 1.0) == []
    assert line.due(FOLLOWUP) is None
    assert told(line.over(FOLLOWUP, 1.1)) == [("begin", "b")]
    assert told(line.over(FOLLOWUP, 1.2)) == [("begin", "c")]


def test_what_is_collected_has_one_turn_when_nothing_else_comes() -> None:
    line = busy(COLLECT)
    line.arrive("b", COLLECT, 1.0)
    assert line.over(COLLECT, 1.1) == []
    assert line.due(COLLECT) == 1.5
    assert line.arrive("c", COLLECT, 1.4) == []
    assert told(line.look(COLLECT, 1.9)) == [("begin", "bc")]


def test_an_interrupting_message_ends_the_turn_once_and_has_the_next_one() -> None:
    line = busy(INTERRUPT)
    assert told(line.arrive("b", INTERRUPT, 1.0)) == [("interrupt", "")]
    assert line.arrive("c", INTERRUPT, 1.1) == []
    assert told(line.over(INTERRUPT, 1.2)) == [("begin", "bc")]


def test_what_a_turn_that_made_way_did_not_have_begins_the_next_one_with_what_came_later() -> None:
    line = Line[str]()
    (begin,) = line.arrive("a", INTERRUPT, 0.0)
    assert isinstance(begin, Begin)
    line.arrive("b", INTERRUPT, 1.0)
    assert told(line.over(INTERRUPT, 1.1, back=begin.batch)) == [("begin", "ab")]


@pytest.mark.parametrize("anew", [False, True], ids=["stop", "anew"])
def test_what_a_turn_that_made_way_did_not_have_is_let_go_of_after_a_stop_or_a_new_beginning(anew: bool) -> None:
    line = Line[str]()
    (begin,) = line.arrive("a", INTERRUPT, 0.0)
    assert isinstance(begin, Begin)
    line.arrive("b", INTERRUPT, 1.0)
    orders = line.arrive("n", INTERRUPT, 1.0, resets=True) if anew else line.stop()
    gone = "let go: anew" if anew else "let go: stopped"
    assert told(orders) == [(gone, "b")]
    expected = [(gone, "a"), ("begin", "n")] if anew else [(gone, "a")]
    assert told(line.over(INTERRUPT, 1.1, back=begin.batch)) == expected


def test_another_mode_holds_from_the_next_decision_on() -> None:
    line = busy(FOLLOWUP)
    line.arrive("b", FOLLOWUP, 1.0)
    assert told(line.arrive("c", STEER, 1.4)) == []
    assert told(line.look(STEER, 1.9)) == [("join", "bc")]


@pytest.mark.parametrize(
    ("drop", "gone", "kept", "of_which_is_told"),
    [
        (DropPolicy.OLD, "bc", "de", ""),
        (DropPolicy.NEW, "de", "bc", ""),
        (DropPolicy.SUMMARIZE, "bc", "de", "bc"),
    ],
)
def test_of_too_many_that_wait_some_are_let_go_of(
    drop: DropPolicy, gone: str, kept: str, of_which_is_told: str
) -> None:
    rules = QueueRules(mode=QueueMode.COLLECT, cap=2, drop=drop)
    line = busy(rules)
    orders = [order for text in "bcde" for order in line.arrive(text, rules, 1.0)]
    assert told(orders) == [("let go: full", text) for text in gone]
    (begun,) = line.over(rules, 9.0)
    assert isinstance(begun, Begin)
    assert "".join(begun.batch.messages) == kept
    assert "".join(each.message for each in begun.batch.left_out) == of_which_is_told
    assert begun.batch.left_out_count == len(of_which_is_told)


def test_of_very_many_that_are_let_go_of_the_last_ones_are_told_and_the_number_of_all() -> None:
    rules = QueueRules(mode=QueueMode.COLLECT, cap=1)
    line = busy(rules)
    for _ in range(1000):
        line.arrive("x", rules, 1.0)
    (begun,) = line.over(rules, 9.0)
    assert isinstance(begun, Begin)
    assert (len(begun.batch.left_out), begun.batch.left_out_count) == (MOST_TOLD, 999)


def test_what_is_told_of_those_goes_with_whatever_is_handed_over_next() -> None:
    rules = QueueRules(cap=1)
    line = busy(rules)
    line.arrive("b", rules, 1.0)
    line.arrive("c", rules, 1.0)
    batch = join_of(line.look(rules, 2.0))
    assert [each.message for each in batch.left_out] == ["b"]
    line.joined(batch, rules, 2.0, taken=False)
    (begun,) = line.over(rules, 3.0)
    assert begun == Begin(Batch((Waiting("c", 3, 1.0),), (Waiting("b", 2, 1.0),), 1))


def test_a_stop_lets_go_of_what_waits_and_ends_the_turn_once() -> None:
    line = busy(FOLLOWUP)
    line.arrive("b", FOLLOWUP, 1.0)
    assert told(line.stop()) == [("let go: stopped", "b"), ("interrupt", "")]
    assert line.stop() == []
    assert line.over(FOLLOWUP, 2.0) == []
    assert line.idle


def test_what_was_being_said_into_a_stopped_turn_is_let_go_of_unless_the_turn_has_it() -> None:
    for taken, expected in ((True, []), (False, [("let go: stopped", "b")])):
        line = busy()
        line.arrive("b", STEER, 1.0)
        batch = join_of(line.look(STEER, 1.5))
        assert told(line.stop()) == [("interrupt", "")]
        line.over(STEER, 2.0)
        assert told(line.joined(batch, STEER, 2.1, taken=taken)) == expected
        assert line.idle


def test_what_comes_after_a_stop_has_the_next_turn() -> None:
    line = busy()
    line.stop()
    assert line.arrive("b", STEER, 1.0) == []
    assert line.due(STEER) is None
    assert told(line.over(STEER, 1.2)) == []
    assert told(line.look(STEER, 1.5)) == [("begin", "b")]


def test_a_message_that_begins_anew_ends_the_turn_and_lets_go_of_what_waits_before_it() -> None:
    line = busy(FOLLOWUP)
    line.arrive("b", FOLLOWUP, 1.0)
    orders = line.arrive("N", FOLLOWUP, 2.0, resets=True)
    assert told(orders) == [("let go: anew", "b"), ("interrupt", "")]
    assert line.arrive("c", FOLLOWUP, 2.1) == []
    assert told(line.over(FOLLOWUP, 2.2)) == [("begin", "N")]
    assert told(line.over(FOLLOWUP, 2.3)) == [("begin", "c")]


def test_what_a_turn_refused_before_the_conversation_began_anew_is_let_go_of() -> None:
    line = busy()
    line.arrive("b", STEER, 1.0)
    batch = join_of(line.look(STEER, 1.5))
    assert told(line.arrive("N", STEER, 1.6, resets=True)) == [("interrupt", "")]
    line.over(STEER, 1.7)
    assert told(line.joined(batch, STEER, 1.8, taken=False)) == [("let go: anew", "b"), ("begin", "N")]


# any interleaving


@dataclass
class World:
    """Everybody around a line: what was handed over, and what it knows."""

    rules: QueueRules
    line: Line[int] = field(default_factory=Line[int])
    now: float = 0.0
    came: int = 0
    begun: Batch[int] | None = None
    """What the turn that runs was begun with, as long as nobody knows that the conversation has it."""
    running: list[int] | None = None
    """What the turn that runs has."""
    open: list[Batch[int]] = field(default_factory=list[Batch[int]])
    """What was said into it."""
    answered: list[int] = field(default_factory=list[int])
    gone: list[int] = field(default_factory=list[int])
    interrupted: bool = False
    refuses: bool = False

    def do(self, orders: list[Order[int]]) -> None:
        for order in orders:
            match order:
                case Begin(batch):
                    assert self.running is None
                    assert not self.open
                    assert batch.messages
                    self.begun = batch
                    self.running, self.interrupted, self.refuses = list(batch.messages), False, False
                case Join(batch):
                    assert self.running is not None
                    assert not self.interrupted
                    assert batch.messages
                    self.open.append(batch)
                case Interrupt():
                    assert self.running is not None
                    assert not self.interrupted
                    self.interrupted = True
                case LetGo(message, _):
                    self.gone.append(message)

    def come(self, *, resets: bool = False) -> None:
        self.came += 1
        self.do(self.line.arrive(self.came, self.rules, self.now, resets=resets))

    def settle(self, *, taken: bool) -> None:
        """The oldest of what was said into the turn is known; a turn that refused once takes nothing any more."""
        if self.open:
            batch = self.open.pop(0)
            self.refuses = self.refuses or not taken
            if not self.refuses and self.running is not None:
                self.running += batch.messages
                self.do(self.line.joined(batch, self.rules, self.now, taken=True))
            else:
                self.do(self.line.joined(batch, self.rules, self.now, taken=False))

    def end(self, *, unborn: bool = False) -> None:
        """The turn ends; what was said into it and is not known to be in it is refused.

        One that made way before anything joined it may have had nothing of what it was begun with.
        """
        if self.running is not None:
            while self.open and not self.refuses:
                self.settle(taken=False)
            begun = self.begun
            back = begun if begun and self.interrupted and unborn and self.running == list(begun.messages) else None
            self.answered += [] if back else self.running
            self.running = self.begun = None
            self.do(self.line.over(self.rules, self.now, back=back))
            while self.open:
                self.settle(taken=False)

    def look(self) -> None:
        due = self.line.due(self.rules)
        if due is not None and due <= self.now:
            self.do(self.line.look(self.rules, self.now))


RULES = st.builds(
    QueueRules,
    mode=st.sampled_from(QueueMode),
    quiet=st.sampled_from([0.0, 0.5]),
    cap=st.integers(1, 4),
    drop=st.sampled_from(DropPolicy),
)
HAPPENINGS = st.sampled_from(
    ["come", "come", "come", "wait", "wait", "take", "refuse", "end", "unborn", "stop", "anew", "mode"]
)


@given(RULES, st.lists(HAPPENINGS, max_size=40), RULES)
def test_whatever_happens_each_message_is_answered_once_in_its_order_or_let_go_of_once(
    rules: QueueRules, happenings: list[str], other: QueueRules
) -> None:
    world = World(rules)
    for happening in happenings:
        match happening:
            case "come":
                world.come()
            case "anew":
                world.come(resets=True)
            case "wait":
                world.now += 0.3
                world.look()
            case "take" | "refuse":
                world.settle(taken=happening == "take")
            case "end" | "unborn":
                world.end(unborn=happening == "unborn")
            case "stop":
                world.do(world.line.stop())
            case _:
                world.rules, other = other, world.rules
    for _ in range(3 * world.came + 3):
        world.end()
        world.now += 10.0
        world.look()
    assert world.line.idle
    assert sorted([*world.answered, *world.gone]) == list(range(1, world.came + 1))
    assert world.answered == sorted(world.answered)


@given(RULES, st.lists(st.sampled_from(["come", "wait", "take", "refuse", "end"]), max_size=40))
def test_nothing_is_let_go_of_as_long_as_there_is_room(rules: QueueRules, happenings: list[str]) -> None:
    world = World(replace(rules, cap=100))
    for happening in happenings:
        match happening:
            case "come":
                world.come()
            case "wait":
                world.now += 0.3
                world.look()
            case "end":
                world.end()
            case _:
                world.settle(taken=happening == "take")
    assert world.gone == []
