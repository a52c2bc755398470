"""Dataclasses whose methods are made late are like those whose methods are made at once."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, cast

import pytest

from harness.lean_values import made_at_first_use


class Sample:
    """Every kind of field that we have."""

    name: str
    size: int = field(init=False)
    rows: tuple[int, ...] = ()
    secret: str = field(default="none", repr=False)
    seen: list[str] = field(default_factory=list[str], compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", len(self.name))

    def longer(self) -> str:
        return f"{self.name}!"


class Named:
    """Fields that are given by name alone."""

    first: str
    second: str = "b"


class Worded:
    """A class that shows itself in its own way."""

    text: str

    def __repr__(self) -> str:
        return f"<{self.text}>"


class Odd:
    """Fields of the rarer kinds."""

    self: str
    given: int = 3
    fixed: int = field(init=False, default=7)
    made: list[str] = field(init=False, default_factory=lambda: ["m"])
    last: str = field(kw_only=True)
    later: dict[str, int] = field(kw_only=True, default_factory=dict[str, int])


class Empty:
    """No field at all."""


Shape = dict[str, bool]
FROZEN: Shape = {"frozen": True, "slots": True}
Maker = Callable[..., Any]
Decorator = Callable[..., Callable[[type], Any]]
STANDARD, OURS = cast("Decorator", dataclass), cast("Decorator", made_at_first_use)


def both(body: type, **shape: bool) -> tuple[Maker, Maker]:
    """The class as the standard decorator makes it and as ours does, each of a fresh copy of the body."""
    space = {name: value for name, value in vars(body).items() if name not in {"__dict__", "__weakref__"}}
    standard, ours = (type(body.__name__, (), copy.copy(space)) for _ in range(2))
    return STANDARD(**shape)(standard), OURS(**shape)(ours)


def what_it_is(make: Maker) -> dict[str, object]:
    """What can be seen of a class and of values of it."""
    one, same, other = make("ab", (1, 2)), make("ab", (1, 2), seen=["x"]), make(name="c", secret="s")
    return {
        "shown": [repr(one), repr(same), repr(other)],
        "fields": [(each.name, each.init, each.repr, each.compare) for each in fields(one)],
        "equal": [one == same, one != same, one == other, one == ("ab", 2, (1, 2))],
        "content": [one.name, one.size, one.rows, one.secret, one.seen, one.longer()],
        "own lists": one.seen is not make("ab").seen,
        "replaced": repr(replace(one, name="longer")),
        "matched": one.__match_args__,
        "slots": hasattr(one, "__dict__"),
        "copied": [copy.copy(one) == one, copy.deepcopy(one) == one, copy.deepcopy(one).seen],
    }


@pytest.mark.parametrize("shape", [FROZEN, {"frozen": True}, {"slots": True}, {}], ids=str)
def test_a_value_is_what_the_standard_decorator_would_make(shape: Shape) -> None:
    standard, ours = both(Sample, **shape)
    assert what_it_is(ours) == what_it_is(standard)
    assert what_it_is(ours) == what_it_is(standard), "now that the methods are made"


@pytest.mark.parametrize("shape", [FROZEN, {"frozen": True}, {"slots": True}, {}], ids=str)
def test_fields_of_every_kind_are_taken_alike(shape: Shape) -> None:
    standard, ours = both(Odd, **shape)
    values = [make("s", 4, last="l", later={"a": 1}) for make in (standard, ours)]
    assert [repr(each) for each in values] == [
        "Odd(self='s', given=4, fixed=7, made=['m'], last='l', later={'a': 1})"
    ] * 2
    assert [repr(make(self="s", last="l").later) for make in (standard, ours)] == ["{}", "{}"]
    assert [repr(make()) for make in both(Empty, **shape)] == ["Empty()", "Empty()"]


def test_frozen_values_hash_alike_and_refuse_to_be_changed_in_the_same_words() -> None:
    standard, ours = both(Sample, **FROZEN)

    def told(make: Maker) -> list[object]:
        value = make("ab")
        refused: list[object] = [hash(value) == hash(make("ab", seen=["x"])), hash(value) == hash(make("c"))]
        with pytest.raises(FrozenInstanceError) as set_:
            value.name = "c"
        with pytest.raises(FrozenInstanceError) as deleted:
            del value.name
        return [*refused, hash(value), str(set_.value), str(deleted.value), value.name]

    assert told(ours) == told(standard)


def test_a_value_that_can_change_changes_and_has_no_hash() -> None:
    for make in both(Sample, slots=True):
        value = make("ab")
        value.rows = (3,)
        assert (value, value.rows) == (make("ab", (3,)), (3,))
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)


def test_a_call_that_does_not_fit_is_refused_in_the_same_words() -> None:
    standard, ours = both(Named, **FROZEN, kw_only=True)
    assert repr(ours(first="a")) == repr(standard(first="a")) == "Named(first='a', second='b')"
    for wrong in ({}, {"first": "a", "third": "c"}):
        with pytest.raises(TypeError) as of_standard:
            standard(**wrong)
        with pytest.raises(TypeError) as of_ours:
            ours(**wrong)
        assert str(of_ours.value) == str(of_standard.value)


def test_what_a_class_says_itself_is_kept() -> None:
    assert [repr(make("x")) for make in both(Worded, **FROZEN)] == ["<x>", "<x>"]


@made_at_first_use(frozen=True, slots=True)
class Kept:
    """A value that travels."""

    text: str

    def __init__(self, text: str) -> None:  # as the decorator would; the checker does not know it by this name
        object.__setattr__(self, "text", text)


def test_a_value_travels_between_processes() -> None:
    assert pickle.loads(pickle.dumps(Kept("x"))) == Kept("x")
