"""Which turns run at once, and who is next: people before others, nobody held back for ever."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.turn_limit import TurnLimit
from harness.turn_order import IN_A_ROW, Place, TurnOrder


class Line:
    """Turns by their names; a capital letter is one that nobody awaits."""

    def __init__(self, most: int) -> None:
        self.order = TurnOrder(most)
        self._places: dict[str, Place] = {}
        self.began: list[str] = []
        """In the order in which they got their place."""

    def come(self, names: str) -> "Line":
        for name in names:
            place = self._places[name] = self.order.come(attended=name.islower())
            if place.held:
                self.began.append(name)
            else:
                place.on_turn = lambda name=name: self.began.append(name)  # type: ignore[misc]
        return self

    def leave(self, names: str) -> "Line":
        for name in names:
            self.order.leave(self._places[name])
        return self

    def attend(self, name: str) -> "Line":
        self.order.attend(self._places[name])
        return self

    @property
    def running(self) -> str:
        return "".join(name for name, place in self._places.items() if place.held)


def test_a_free_place_is_taken_at_once_and_the_others_wait_in_the_order_in_which_they_came() -> None:
    line = Line(2).come("abcde")
    assert (line.running, line.order.running, line.order.waiting) == ("ab", 2, 3)
    assert line.leave("b").running == "ac"
    assert line.leave("ac").running == "de"
    assert line.began == [*"abcde"]


def test_people_go_before_those_that_nobody_awaits() -> None:
    line = Line(1).come("a").come("BCde")
    line.leave("a").leave("d").leave("e").leave("B")
    assert line.began == [*"adeBC"]


def test_after_so_many_people_in_a_row_somebody_else_is_next() -> None:
    line = Line(1).come("z").come("B").come("acdefgh")
    for _ in range(6):
        line.leave(line.running)
    assert IN_A_ROW == 3
    assert line.began == [*"zacdBef"]


def test_people_who_ran_before_anybody_else_waited_do_not_count() -> None:
    line = Line(1)
    for name in "abcdef":
        line.come(name)
        if name != "f":
            line.leave(name)
    line.come("B").come("ghij")
    for _ in range(4):
        line.leave(line.running)
    assert line.began == [*"abcdefghiB"]


def test_those_that_nobody_awaits_leave_a_place_for_a_person() -> None:
    line = Line(3).come("ABCD")
    assert line.running == "AB"
    assert line.come("x").running == "ABx"
    assert line.leave("x").running == "AB"
    assert line.leave("A").running == "BC"


def test_where_there_is_one_place_anybody_may_have_it() -> None:
    assert Line(1).come("A").running == "A"
    assert Line(0).come("A").running == "A"


def test_a_turn_that_a_person_waits_behind_goes_with_the_people() -> None:
    line = Line(1).come("z").come("ABc").attend("B").leave("z")
    assert line.running == "c"
    assert line.leave("c").running == "B"
    assert line.attend("B").attend("B").leave("B").running == "A"


def test_a_place_in_the_reserve_is_open_to_a_turn_that_a_person_waits_behind() -> None:
    assert Line(2).come("AB").attend("B").running == "AB"


def test_who_leaves_the_line_is_not_called_and_leaving_twice_is_harmless() -> None:
    line = Line(1).come("abc").leave("bb").leave("aa")
    assert (line.running, line.began, line.order.waiting) == ("c", ["a", "c"], 0)
    assert line.leave("cc").order.running == 0


@given(st.integers(1, 4), st.lists(st.tuples(st.sampled_from(["come", "leave", "attend"]), st.integers(0, 30))))
def test_no_place_is_lost_and_none_stays_empty_while_somebody_waits(most: int, steps: list[tuple[str, int]]) -> None:
    order, places = TurnOrder(most), list[Place]()
    gone = set[Place]()
    for step, number in steps:
        if step == "come":
            places.append(order.come(attended=number % 2 == 0))
        elif places and step == "leave":
            order.leave(places[number % len(places)])
            gone.add(places[number % len(places)])
        elif places and places[number % len(places)] not in gone:
            order.attend(places[number % len(places)])
        held = [place for place in places if place.held]
        waits = [place for place in places if not place.held and place not in gone]
        assert (order.running, order.waiting) == (len(held), len(waits))
        assert len(held) <= most
        unattended = sum(not place.attended for place in held)
        assert most == 1 or unattended < most
        if len(held) < most:
            assert not any(place.attended for place in waits)
            assert not waits or (most > 1 and unattended == most - 1)


async def run(limit: TurnLimit, place: Place) -> None:
    """A turn that waits for its place and keeps it."""
    try:
        await limit.wait(place)
        await anyio.sleep_forever()
    finally:
        limit.leave(place)


async def test_waiting_takes_a_place_and_giving_up_leaves_the_line() -> None:
    limit = TurnLimit(1)
    first, second, third = (limit.come(attended=True) for _ in range(3))
    async with anyio.create_task_group() as group:
        group.start_soon(run, limit, second)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert limit.waiting == 1
    async with anyio.create_task_group() as group:
        group.start_soon(run, limit, third)
        await anyio.wait_all_tasks_blocked()
        limit.leave(first)
        await anyio.wait_all_tasks_blocked()
        assert (third.held, limit.running, limit.waiting) == (True, 1, 0)
        group.cancel_scope.cancel()
    assert limit.running == 0


async def test_who_gives_up_just_when_the_place_is_free_hands_it_on() -> None:
    limit = TurnLimit(1)
    first, second, third = (limit.come(attended=True) for _ in range(3))
    async with anyio.create_task_group() as group:
        group.start_soon(run, limit, second)
        await anyio.wait_all_tasks_blocked()
        limit.leave(first)
        group.cancel_scope.cancel()
    assert (second.held, third.held, limit.running) == (False, True, 1)


async def test_who_waits_for_a_place_that_came_meanwhile_does_not_wait() -> None:
    limit = TurnLimit(1)
    first, second = (limit.come(attended=True) for _ in range(2))
    limit.leave(first)
    with anyio.fail_after(1):
        await limit.wait(second)
    assert second.held


def test_a_limit_is_at_least_one() -> None:
    with pytest.raises(AttributeError):
        Place(True).nothing = 1  # type: ignore[attr-defined]
    assert TurnLimit(-3).most == 1


def test_a_turn_that_waits_for_a_person_holds_nobody_up_and_then_goes_on_at_once() -> None:
    limit = TurnLimit(1)
    first, second, third = (limit.come(attended=True) for _ in range(3))
    with limit.lent(first):
        with limit.lent(first):  # it waits for two answers
            assert (second.held, third.held, limit.running) == (True, False, 1)
        assert limit.running == 1
    assert limit.running == 2
    limit.leave(second)
    assert (third.held, limit.running) == (False, 1)
    limit.leave(first)
    assert (third.held, limit.running) == (True, 1)


def test_a_turn_that_ends_while_it_waits_for_a_person_leaves_no_place_behind() -> None:
    limit = TurnLimit(2)
    first = limit.come(attended=False)
    with limit.lent(first), limit.lent(first):
        limit.leave(first)
        assert limit.running == 0
    assert limit.running == 0
    with limit.lent(first):  # it has no place any more
        assert limit.running == 0
    assert [limit.come(attended=False).held for _ in range(2)] == [True, False]
