"""Facts whose values are not of the declared kind are put right, so that nothing configured can break a prompt.

Pure. The types are checked where facts are made; what a configuration, a plugin or a gateway in another language puts
into them is not. A value that stands for the right one (a list for a tuple, "Full" for "full", a number for a text) is
converted, any other one becomes the field's default, and a part that cannot be without it is left out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Facts = TypeVar("Facts")
_Check: TypeAlias = Callable[[object], object]
_Plain: TypeAlias = frozenset[type]
_AS_TEXT: Final = (int, float, PurePath)
"""What becomes a text by itself; a list or an object would only show how it is made."""


LARGEST: Final = 2**63 - 1
"""The largest whole number that a fact can be; no process, depth or size is beyond it."""


class _UnsoundError(Exception):
    """Nothing of the declared kind can be made of a value."""


def sound(facts: Facts) -> Facts:
    """Return facts in which every value is of its declared kind: the same object where that held already.

    Raises nothing, unless a field that has no default is beyond repair in `facts` itself; texts never are.
    """
    changed: dict[str, object] = {}
    kind = cast("type", type(facts))
    for name, plain, check in _checks(kind):
        value: object = getattr(facts, name)
        if type(value) in plain:
            continue
        kept = check(value)
        if kept is not value:
            changed[name] = kept
    return cast("Facts", replace(cast("Any", facts), **changed)) if changed else facts


@cache
def _checks(kind: type) -> tuple[tuple[str, _Plain, _Check], ...]:
    """For each field its name, the types of values that need no look, and the look at any other.

    Made once for each kind of facts, of which there are as many as classes: it remembers no prompt.
    """
    found = [each for each in fields(cast("Any", kind)) if each.init]
    # Few modules write their types as texts, and to look at those takes as long as all the rest.
    hints: Mapping[str, Any] = get_type_hints(kind) if any(isinstance(each.type, str) for each in found) else {}
    types = [hints.get(each.name, each.type) for each in found]
    return tuple(
        (each.name, _plain_of(kind), _or_default(_check_of(kind), each))
        for each, kind in zip(found, types, strict=True)
    )


def _or_default(check: _Check, of: "Field[Any]") -> _Check:
    if of.default is MISSING and of.default_factory is MISSING:
        return check

    def checked(value: object) -> object:
        try:
            return check(value)
        except _UnsoundError:
            return of.default if of.default_factory is MISSING else of.default_factory()

    return checked


@cache
def _plain_of(kind: object) -> _Plain:
    if isinstance(kind, type) and (kind in (str, bool, NoneType) or issubclass(kind, Enum)):
        return frozenset({kind})
    if get_origin(kind) in (Union, UnionType):
        return frozenset[type]().union(*map(_plain_of, get_args(kind)))
    return frozenset()


@cache
def _check_of(kind: object) -> _Check:
    origin = get_origin(kind)
    if kind is str:
        return _text
    if kind is bool or kind is int:
        return _number(kind)
    if origin is Literal:
        return _one_of({each: each for each in get_args(kind)})
    if origin in (Union, UnionType):
        return _optional([_check_of(each) for each in get_args(kind) if each is not NoneType])
    if origin is tuple:
        return _tuple(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _one_of({**{each.value: each for each in kind}, **{each: each for each in kind}})
    if isinstance(kind, type) and is_dataclass(kind):
        return _facts(kind)
    raise TypeError(f"sound() does not know values of the kind {kind}.")


def _text(value: object) -> str:
    if isinstance(value, str):
        return str.__str__(value)  # also of a kind of its own, which may refuse to be compared
    if isinstance(value, bool) or not isinstance(value, _AS_TEXT):
        return ""
    try:
        return str(value)
    except ValueError:  # a number of more digits than Python writes
        return ""


def _number(kind: type) -> _Check:
    def checked(value: object) -> object:
        if isinstance(value, int) and abs(value) > LARGEST:
            raise _UnsoundError
        if type(value) is kind:
            return value
        if isinstance(value, int | float) and value == value and abs(value) != float("inf"):
            return kind(value)
        raise _UnsoundError

    return checked


def _one_of(choices: Mapping[Any, Any]) -> _Check:
    def checked(value: object) -> object:
        try:
            if value in choices:
                return choices[value]
        except Exception:  # what has no hash, or fails when it is asked for it, is none of them
            raise _UnsoundError from None
        plain = value.strip().lower() if isinstance(value, str) else None
        if plain in choices:
            return choices[plain]
        raise _UnsoundError

    return checked


def _optional(checks: list[_Check]) -> _Check:
    """One of several kinds, or none."""

    def checked(value: object) -> object:
        if value is None:
            return None
        for check in checks:
            try:
                return check(value)
            except _UnsoundError:
                continue
        return None

    return checked


def _tuple(kinds: tuple[object, ...]) -> _Check:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return _many(_check_of(kinds[0]), _plain_of(kinds[0]), pairs=get_origin(kinds[0]) is tuple)
    checks = [_check_of(kind) for kind in kinds]

    def checked(value: object) -> object:
        given = _row(value)
        if len(given) != len(checks):
            raise _UnsoundError
        return _unless_same(value, tuple(check(each) for check, each in zip(checks, given, strict=True)))

    return checked


def _many(check: _Check, plain: _Plain, *, pairs: bool) -> _Check:
    def checked(value: object) -> object:
        given = _elements(value, pairs=pairs)
        if given is value and isinstance(given, tuple) and all(type(each) in plain for each in given):
            return given
        return _unless_same(value, tuple(_kept(check, given)))

    return checked


def _elements(value: object, *, pairs: bool) -> Sequence[object]:
    """What a value that should be a row of values holds; a text alone is the only one of its row."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        given = cast("Mapping[object, object]", value)
        return tuple(given.items()) if pairs else tuple(given)
    if isinstance(value, set | frozenset):
        return sorted(cast("set[object]", value), key=_sortable)
    return _row(value)


def _sortable(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # anybody's object: whatever it raises costs its place and no prompt
        return ""


def _row(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _unless_same(value: object, kept: tuple[object, ...]) -> object:
    """The value itself where nothing had to be put right."""
    if not isinstance(value, tuple):
        return kept
    given = cast("tuple[object, ...]", value)
    return given if len(kept) == len(given) and all(map(_same, kept, given)) else kept


def _kept(check: _Check, values: Iterable[object]) -> Iterable[object]:
    for value in values:
        try:
            yield check(value)
        except _UnsoundError:
            continue


def _same(one: object, other: object) -> bool:
    return one is other


def _facts(kind: type) -> _Check:
    def checked(value: object) -> object:
        if not isinstance(value, kind):
            raise _UnsoundError
        return sound(value)

    return checked
