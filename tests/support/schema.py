"""Does a wire model name only what the schema that the binary generates has?"""

import json
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel

from codex_bridge.rpc import Json, JsonObject
from codex_bridge.wire.base import Known
from codex_bridge.wire.items import ITEMS, Item, ItemValue


class Schema:
    """The schema files of one binary."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._merged: JsonObject = {}
        for path in sorted(folder.rglob("*.json")):
            definitions = _load(path).get("definitions")
            if isinstance(definitions, dict):
                self._merged.update(definitions)

    def file(self, name: str) -> JsonObject:
        """A schema by file name, such as "ServerRequest", or by the name of its definition."""
        for path in (
            self._folder / f"{name}.json",
            self._folder / "v2" / f"{name}.json",
            self._folder / "v1" / f"{name}.json",
        ):
            if path.is_file():
                return _load(path)
        found = self._merged.get(name)
        assert isinstance(found, dict), f"the schema has no {name}"
        return found

    def methods(self, kind: str) -> dict[str, JsonObject]:
        """Params schema by method, for ClientRequest, ServerNotification or ServerRequest."""
        variants = self.file(kind)["oneOf"]
        assert isinstance(variants, list)
        found: dict[str, JsonObject] = {}
        for variant in variants:
            properties = _dict(_dict(variant)["properties"])
            (method,) = cast("list[str]", _dict(properties["method"])["enum"])
            found[method] = _dict(properties.get("params", {}))
        return found

    def members(self, schema: Json) -> set[str]:
        """The names of an object's members, those of every variant taken together."""
        return {name for shape in self.shapes(schema) for name in _dict(shape.get("properties", {}))}

    def variants(self, place: Json) -> dict[str, JsonObject]:
        """The variants of a union of items, by the word that their `type` must have."""
        found: dict[str, JsonObject] = {}
        for shape in self.shapes(place):
            kind = _dict(_dict(shape.get("properties", {})).get("type", {})).get("enum")
            if isinstance(kind, list):
                found[str(kind[0])] = shape
        return found

    def words(self, schema: Json) -> set[str]:
        """The words that a value may be."""
        return _strings(list(self.shapes(schema)))

    def member(self, schema: Json, name: str) -> JsonObject:
        """What a member of an object may be, in any variant."""
        found = [_dict(shape.get("properties", {})).get(name) for shape in self.shapes(schema)]
        return {"anyOf": [each for each in found if each is not None]}

    def shapes(self, schema: Json) -> Iterator[JsonObject]:
        """The object, string and array schemas that a schema stands for, references and unions followed."""
        if not isinstance(schema, dict):
            return
        if "$ref" in schema:
            yield from self.shapes(self._merged[str(schema["$ref"]).rpartition("/")[2]])
            return
        for member in ("oneOf", "anyOf", "allOf"):
            variants = schema.get(member)
            if isinstance(variants, list):
                for variant in variants:
                    yield from self.shapes(variant)
        if set(schema) & {"properties", "enum", "type", "items", "additionalProperties"}:
            yield schema


def missing(schema: Schema, model: type[BaseModel], place: Json, path: str = "") -> list[str]:
    """Every field and enum value of `model` that the schema at `place` does not have, by dotted path."""
    path = path or model.__name__
    shapes = list(schema.shapes(place))
    found: list[str] = []
    for name, field in model.model_fields.items():
        wire = field.alias or name
        places = [properties[wire] for shape in shapes if wire in (properties := _dict(shape.get("properties", {})))]
        here = f"{path}.{wire}"
        if not places:
            found.append(here)
            continue
        annotation: Any = field.annotation
        for each in (annotation, *field.metadata):
            found += _missing_in(schema, each, places, here)
    return found


def _missing_in(schema: Schema, annotation: Any, places: list[Json], path: str) -> list[str]:
    shapes = [shape for place in places for shape in schema.shapes(place)]
    if annotation is ItemValue or annotation == Item:
        return missing_items(schema, {"anyOf": places}, path)
    if isinstance(annotation, Known):
        return [f"{path} = {value!r}" for value in sorted(annotation.values - _strings(shapes))]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return missing(schema, annotation, {"anyOf": places}, path)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        wanted = {value for value in args if isinstance(value, str)}
        return [f"{path} = {value!r}" for value in sorted(wanted - _strings(shapes))]
    if origin in (Union, types.UnionType, Annotated):
        return [each for arg in args for each in _missing_in(schema, arg, places, path)]
    if origin in (list, tuple):
        items = [shape["items"] for shape in shapes if "items" in shape]
        return [each for arg in args if arg is not ... for each in _missing_in(schema, arg, items, f"{path}[]")]
    if origin in (dict, Mapping):
        values = [shape["additionalProperties"] for shape in shapes if "additionalProperties" in shape]
        return _missing_in(schema, args[1], values, f"{path}{{}}")
    return []


def missing_items(schema: Schema, place: Json, path: str) -> list[str]:
    """Every item type, field and enum value of ours that the item union at `place` does not have."""
    variants = schema.variants(place)
    found: list[str] = []
    for name, model in ITEMS.items():
        if name in variants:
            found += missing(schema, model, variants[name], f"{path}<{name}>")
        else:
            found.append(f"{path}<{name}>")
    return found


def _strings(shapes: list[JsonObject]) -> set[str]:
    return {str(value) for shape in shapes for value in cast("list[Json]", shape.get("enum", []))}


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _load(path: Path) -> JsonObject:
    return cast("JsonObject", json.loads(path.read_text("utf-8")))
