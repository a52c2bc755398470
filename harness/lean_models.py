"""Pydantic models for payloads, which are all that most processes of a gateway validate.

Pydantic makes a validator out of a model in two steps: a schema of the fields, and out of that the validator itself. In
between it asks the installed packages for plugins, and the library that answers brings those for mail and archives
along: 1.9 MB and 20 ms in a process that needs none of them, on its first message. `LeanModel` hands the schema to the
core itself. It knows the kinds of fields that payloads have, see `_schema_of`; another one is a TypeError at first use.
"""

from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Protocol, Self, Union, get_args, get_origin, runtime_checkable

from annotated_types import BaseMetadata
from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo
from pydantic_core import CoreConfig, CoreSchema, SchemaSerializer, SchemaValidator, core_schema


@runtime_checkable
class Marked(Protocol):
    """Something in an `Annotated` that changes how the core reads the value."""

    def core_schema(self, inner: Callable[[], CoreSchema]) -> CoreSchema:
        """The schema in place of that of the annotated kind, which `inner` makes."""
        ...


class LeanModel(BaseModel):
    """A model whose validator is made at first use, without looking for plugins."""

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def read_from(cls, value: object) -> Self:
        """`model_validate` without a choice of how, which takes longer than a small model itself.

        Raises:
            ValidationError: The value is no such thing.
        """
        found: Self = cls.__pydantic_validator__.validate_python(value)
        return found

    @classmethod
    def model_rebuild(
        cls,
        *,
        force: bool = False,
        raise_errors: bool = True,
        _parent_namespace_depth: int = 2,
        _types_namespace: Mapping[str, Any] | None = None,
    ) -> bool | None:
        """Make the validator; pydantic calls this when the model is first used.

        Raises:
            TypeError: A field is of a kind that `_schema_of` does not know.
        """
        if cls.__pydantic_complete__ and not force:
            return None
        schema, config = _model_schema(cls), _config_of(cls)
        cls.__pydantic_core_schema__ = schema
        cls.__pydantic_validator__ = SchemaValidator(schema, config)
        cls.__pydantic_serializer__ = SchemaSerializer(schema, config)
        cls.__pydantic_complete__ = True
        return True


_PLAIN: Final[Mapping[object, Callable[[], CoreSchema]]] = {
    str: core_schema.str_schema,
    int: core_schema.int_schema,
    bool: core_schema.bool_schema,
    float: core_schema.float_schema,
    NoneType: core_schema.none_schema,
    Any: core_schema.any_schema,
}


def _model_schema(model: type[LeanModel]) -> CoreSchema:
    fields = {name: _field_schema(name, info, model) for name, info in model.model_fields.items()}
    config = _config_of(model)
    return core_schema.model_schema(
        model,
        core_schema.model_fields_schema(
            fields, model_name=model.__name__, extra_behavior=config.get("extra_fields_behavior")
        ),
        post_init=model.__pydantic_post_init__,
        config=config,
    )


def _config_of(model: type[LeanModel]) -> CoreConfig:
    given = model.model_config
    return CoreConfig(
        title=model.__name__,
        strict=given.get("strict", False),
        extra_fields_behavior=given.get("extra") or "ignore",
        validate_by_alias=given.get("validate_by_alias", True),
        validate_by_name=given.get("validate_by_name", False),
    )


def _field_schema(name: str, info: FieldInfo, model: type[LeanModel]) -> core_schema.ModelField:
    schema = _marked(info.annotation, info.metadata)
    if info.default_factory is not None:
        raise TypeError(f"{model.__name__}.{name} has a default_factory; a LeanModel has plain defaults.")
    if not info.is_required():
        schema = core_schema.with_default_schema(schema, default=info.get_default(call_default_factory=False))
    generate = model.model_config.get("alias_generator")
    alias = info.alias or (generate(name) if callable(generate) else None)
    return core_schema.model_field(schema, validation_alias=alias, serialization_alias=alias)


def _marked(kind: object, marks: list[Any]) -> CoreSchema:
    for mark in reversed(marks):
        if isinstance(mark, Marked):
            return mark.core_schema(lambda: _schema_of(kind))
        if isinstance(mark, BaseMetadata):
            raise TypeError(f"A LeanModel does not check {mark}; say it with a `Marked` of your own.")
    return _schema_of(kind)


def _schema_of(kind: object) -> CoreSchema:
    """The schema of a kind of value: a plain one, a model, a literal, a union, a list, a row, or an object."""
    if kind in _PLAIN:
        return _PLAIN[kind]()
    if isinstance(kind, type) and issubclass(kind, LeanModel):
        return _model_schema(kind)
    origin, given = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _marked(given[0], list(given[1:]))
    if origin is Literal:
        return core_schema.literal_schema(list(given))
    if origin is Union or origin is UnionType:
        choices = [_schema_of(each) for each in given if each is not NoneType]
        one = choices[0] if len(choices) == 1 else core_schema.union_schema(list(choices))
        return core_schema.nullable_schema(one) if NoneType in given else one
    if origin is list:
        return core_schema.list_schema(_schema_of(given[0]))
    if origin is tuple and given[1:] == (...,):
        return core_schema.tuple_schema([_schema_of(given[0])], variadic_item_index=0)
    if origin is dict:
        return core_schema.dict_schema(*map(_schema_of, given))
    raise TypeError(f"A LeanModel has no fields of the kind {kind}.")
