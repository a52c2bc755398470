"""Dataclasses whose methods are made when they are first needed.

The standard decorator compiles up to six functions for each class as soon as it is defined: some 0.5 ms, most of it
for classes that a process never has a value of, or never compares or shows one of. `dataclass` makes the class at once,
with its fields, and `__init__`, `__repr__`, `__eq__` and `__hash__` at the first call of each. What comes out is a
dataclass like any other, also for `replace`, `fields`, `match` and `copy`. The standard decorator makes the methods but
`__init__`: of a frozen class it would compile two more functions each time, and the first turn needs a hundred classes.

For every module that a turn loads. To a type checker it is the standard decorator.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

Made = TypeVar("Made")
_STATE: Final = ("__getstate__", "__setstate__")


def made_at_first_use(
    *, frozen: bool = False, slots: bool = False, **shape: bool
) -> Callable[[type[Made]], type[Made]]:
    """A decorator as `dataclasses.dataclass` would return it. `InitVar` and inheritance are not for it.

    Args:
        frozen: Refuse to assign to fields, and hash by them.
        slots: Give instances no `__dict__`.
        shape: What else says how fields are taken, `kw_only` for instance.
    """

    def decorated(cls: type[Made]) -> type[Made]:
        own = vars(cls).keys()
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, **shape)(cls)
        names = ["__init__", "__repr__", "__eq__", *(["__hash__"] if frozen else [])]
        for name in names:
            if name not in own:
                setattr(made, name, _stand_in(made, name, frozen))
        if not frozen:
            made.__hash__ = None  # type: ignore[assignment]
            return made
        made.__setattr__ = _refuse_to_set  # type: ignore[method-assign]
        made.__delattr__ = _refuse_to_delete  # type: ignore[method-assign]
        if slots:
            setattr(made, _STATE[0], _state)
            setattr(made, _STATE[1], _set_state)
        return made

    return decorated


def _stand_in(cls: type, name: str, frozen: bool) -> Callable[..., Any]:
    """The method `name` until its first call."""

    def first(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the method takes and returns
        method = _initializer(cls, frozen) if name == "__init__" else _standard(cls, name)
        setattr(cls, name, method)
        return method(*arguments, **named)

    return first


def _initializer(cls: type, frozen: bool) -> Callable[..., Any]:
    """`__init__` as the standard decorator makes it."""
    rows = dataclasses.fields(cls)
    this = "self" if all(row.name != "self" for row in rows) else "_self"
    known: dict[str, Any] = {"_set": object.__setattr__, "_made": _MADE}
    given, by_name, body = [this], list[str](), list[str]()
    for row in rows:
        value = row.name
        if row.default is not dataclasses.MISSING:
            known[f"_default_{row.name}"] = row.default
        elif row.default_factory is not dataclasses.MISSING:
            known[f"_default_{row.name}"] = row.default_factory
            call = f"_default_{row.name}()"
            value = f"{call} if {row.name} is _made else {row.name}" if row.init else call
        elif not row.init:
            continue
        if row.init:
            (by_name if row.kw_only else given).append(f"{row.name}{_default_of(row)}")
        elif row.default is not dataclasses.MISSING:
            value = f"_default_{row.name}"
        body.append(f"_set({this}, {row.name!r}, {value})" if frozen else f"{this}.{row.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(f"{this}.__post_init__()")
    taken = ", ".join([*given, *(["*", *by_name] if by_name else [])])
    lines = [f"def make({', '.join(known)}):", f" def __init__({taken}):", *(f"  {line}" for line in body or ["pass"])]
    space: dict[str, Any] = {}
    exec("\n".join([*lines, " return __init__"]), {}, space)  # noqa: S102 - as the standard decorator does
    made: Callable[..., Any] = space["make"](**known)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _default_of(row: "dataclasses.Field[Any]") -> str:
    if row.default is not dataclasses.MISSING:
        return f"=_default_{row.name}"
    return "=_made" if row.default_factory is not dataclasses.MISSING else ""


_MADE: Final = object()
"""Stands for a value that is made anew for each instance."""


def _standard(cls: type, name: str) -> Callable[..., Any]:
    """The method as the standard decorator makes it: on a class with the same fields, of which it is taken."""
    rows = dataclasses.fields(cls)
    body: dict[str, Any] = {row.name: row for row in rows}
    body |= {"__annotations__": {row.name: row.type for row in rows}, "__module__": cls.__module__}
    # Without a text it would be made of the signature, which takes longer than all the rest.
    body |= {"__qualname__": cls.__qualname__, "__doc__": cls.__doc__ or cls.__name__}
    decorator = dataclasses.dataclass(
        init=False, repr=name == "__repr__", eq=name == "__eq__", unsafe_hash=name == "__hash__", match_args=False
    )
    made: Callable[..., Any] = getattr(decorator(type(cls.__name__, (), body)), name)
    return made


def _refuse_to_set(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(value: Any) -> list[object]:  # noqa: ANN401 - any dataclass
    """What a copy is made from."""
    return [getattr(value, row.name) for row in dataclasses.fields(value)]


def _set_state(value: Any, state: list[object]) -> None:  # noqa: ANN401 - any dataclass
    for row, each in zip(dataclasses.fields(value), state, strict=True):
        object.__setattr__(value, row.name, each)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = made_at_first_use
