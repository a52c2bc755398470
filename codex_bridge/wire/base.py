"""How payloads are modelled: strict in what we send, tolerant in what we read.

A sent model refuses a field it does not have, because the app-server ignores unknown parameters without a
word (protocol reference, section 1.1) and a typo would never be noticed. A received model passes over what it
does not know and requires next to nothing, because an old client meets new servers.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from codex_bridge.rpc import JsonObject
from harness.lean_models import LeanModel
from harness.lean_values import dataclass

RawJson: TypeAlias = Any
"""JSON that we pass on or look into by hand. (The recursive `Json` cannot be a pydantic field.)"""
RawObject: TypeAlias = dict[str, Any]
"""A JSON object that we pass on as it is."""

Params = TypeVar("Params", bound="Sent")
Result = TypeVar("Result", bound="Received")


class Sent(LeanModel):
    """Parameters or an answer of ours. One left at its default of None is not sent; None when given is sent as null.

    Raises:
        TypeError: A class has a field with a default other than None and is no `Variant`.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        strict=True,
        frozen=True,
    )

    _constants: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        cls._constants = frozenset(
            name for name, info in cls.model_fields.items() if not info.is_required() and info.default is not None
        )
        if cls._constants and not issubclass(cls, Variant):
            raise TypeError(f"{cls.__name__} would not send {', '.join(cls._constants)}; derive it from Variant")

    def to_wire(self) -> JsonObject:
        """The JSON object to send."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class Variant(Sent):
    """Something of ours with a field that always holds the same, such as its `type`, and that is always sent."""

    def model_post_init(self, _: object, /) -> None:
        """Count a field with a default other than None as given."""
        self.__pydantic_fields_set__.update(self._constants)


class Received(LeanModel):
    """Something the app-server said."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_alias=True, extra="ignore", frozen=True)


@dataclass(frozen=True, slots=True)
class OrElse:
    """Marks a detail that counts as `fallback` when it is not what we expect, so that the rest is read all the same.

    For what decides the fate of a turn: a detail that a newer server words otherwise must not hide the end of one.
    """

    fallback: object

    def core_schema(self, inner: Callable[[], CoreSchema]) -> CoreSchema:
        """Have the core do it: a validator of ours would be called for each of these details on every turn."""
        return core_schema.with_default_schema(inner(), default=self.fallback, on_error="default")


@dataclass(frozen=True, slots=True)
class Known:
    """Marks a string of the server as an open enumeration and names the values that we act on."""

    values: frozenset[str]


def known(*values: str) -> Known:
    """Name the values of an open enumeration that some code of ours compares with."""
    return Known(frozenset(values))


@dataclass(frozen=True, slots=True)
class Method(Generic[Params, Result]):
    """A method of the app-server: its name, what it takes and what it returns."""

    name: str
    params: type[Params]
    result: type[Result]
