"""The schema of a tool's arguments in the form that Codex passes on unchanged.

Pure. Codex keeps some keywords of a schema and drops or rewrites the others without a word, refuses a thread whose
tools hold a schema that it cannot read, and takes every description out of a long schema (measured on both versions).
So what it would drop stands in the descriptions, as far as that fits, and arguments are checked against the original
before a tool is called, see `harness.arguments`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, cast

import orjson

from harness.json_value import Json, children

Schema: TypeAlias = dict[str, Json]

MOST_LEVELS: Final = 64
"""How deep a schema may be nested; our choice. From about 120 on, the app-server never answers thread/start."""
MOST_BYTES: Final = 4_900
"""How long a schema may be with its descriptions: at 5,078 bytes Codex took all of them out, at 4,988 none."""
LONGEST_REMARK: Final = 120
"""Characters of one dropped keyword that are told in a description; our choice."""
_SHORTER: Final = (400, 200, 100, 40)
"""How long each description may be, tried in this order until the schema fits."""

TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_TOLD: Final = (
    "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "maxItems", "uniqueItems", "contains", "minProperties", "maxProperties", "patternProperties",
    "propertyNames", "dependentRequired", "not", "if", "then", "else", "default", "examples",
)  # fmt: skip
"""Keywords that Codex drops and that are told in words."""
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_SHELVES: Final = ("$defs", "definitions")
_OBJECTS: Final = ("properties", "required", "additionalProperties", "patternProperties")
"""Keywords by which a schema without a type speaks of objects."""
_KEPT: Final = ("required", "additionalProperties", "description", *_SHELVES)
"""What the root has besides its type and properties."""


class UnfitSchemaError(ValueError):
    """The schema cannot be registered; the text says why, as the end of a sentence about it."""


def projected(schema: object) -> Schema:
    """Return what is registered for a tool's schema: for a model it says the same, and Codex leaves it as it is.

    Args:
        schema: The original; true stands for arguments of any kind.

    Raises:
        UnfitSchemaError: It is no schema of an object, or holds something that Codex does not take.
    """
    try:
        # A mapping of somebody's own is none that orjson knows.
        plain = dict(cast("Mapping[str, Json]", schema)) if isinstance(schema, Mapping) else schema
        root: Json = orjson.loads(orjson.dumps(plain))
    except TypeError as error:
        raise UnfitSchemaError(f"its schema is not JSON ({error})") from None
    if root is True:
        root = {}
    if not isinstance(root, dict):
        raise UnfitSchemaError("its schema is no object")
    if _levels(root) > MOST_LEVELS:
        raise UnfitSchemaError(f"its schema is nested more than {MOST_LEVELS} levels deep")
    made = _Projection(root, None).made()
    for longest in _SHORTER:
        if len(orjson.dumps(made)) <= MOST_BYTES:
            break
        made = _Projection(root, longest).made()
    return made


def undescribed(schema: Schema) -> Schema:
    """Return a projected schema without its descriptions, for whatever has to know what it allows alone."""
    return _mapped({name: value for name, value in schema.items() if name != "description"}, undescribed)


class _Projection:
    def __init__(self, root: Schema, longest: int | None) -> None:
        self._root = root
        self._longest = longest
        """Characters of a description, and no remarks then; None: whole, with remarks."""

    def made(self) -> Schema:
        root = _as_object(self._schema(self._flat(self._root), ""))
        for ref in _references(root):
            if _target(root, ref) is None:
                raise UnfitSchemaError(f"its schema refers to {ref!r}, which Codex cannot follow")
        return root

    def _flat(self, schema: Schema, met: tuple[str, ...] = ()) -> Schema:
        """The root without reference and branches, which providers refuse there: whatever a branch takes is taken."""
        flat = dict(schema)
        ref = flat.pop("$ref", None)
        parts: list[tuple[str, list[Json]]] = [] if ref is None else [("allOf", [{"$ref": ref}])]
        parts += [(key, cast("list[Json]", flat.pop(key))) for key in _BRANCHES if isinstance(flat.get(key), list)]
        for key, branches in parts:
            found = [self._branch(each, key, met) for each in branches if each is not False and each is not True]
            needed = [set(_names(each)) for each in found]
            for each in found:
                _take_in(flat, each)
            if needed:
                common = set[str]().union(*needed) if key == "allOf" else needed[0].intersection(*needed[1:])
                flat["required"] = cast("Json", sorted(common.union(_names(flat))))
        return flat

    def _branch(self, branch: Json, key: str, met: tuple[str, ...]) -> Schema:
        if not isinstance(branch, dict):
            raise UnfitSchemaError(f"its schema has no schema in {key}")
        ref = branch.get("$ref")
        if ref is None:
            return self._flat(branch, met)
        found = self._followed(ref, key)
        if not isinstance(ref, str) or not isinstance(found, dict) or ref in met:
            raise UnfitSchemaError(f"its schema is no object, as {ref!r} is none")
        return self._flat({**found, **{name: value for name, value in branch.items() if name != "$ref"}}, (*met, ref))

    def _followed(self, ref: Json, where: str) -> Json:
        found = _target(self._root, ref) if isinstance(ref, str) else None
        if found is None:
            raise UnfitSchemaError(f"its schema refers to {ref!r}{_at(where)}, which it does not hold")
        return found

    def _schema(self, schema: Json, where: str) -> Schema:
        if isinstance(schema, bool):
            return {}
        if not isinstance(schema, dict):
            raise UnfitSchemaError(f"its schema has {_shown(schema)}{_at(where)} in place of a schema")
        made: Schema = {}
        if "$ref" in schema:
            self._followed(schema["$ref"], where)
            made["$ref"] = schema["$ref"]
        self._values(schema, made, where)
        self._object(schema, made, where)
        self._array(schema, made, where)
        for key in _BRANCHES:
            if key in schema:
                branches = schema[key]
                if not isinstance(branches, list) or not branches:
                    raise UnfitSchemaError(f"its schema has no list of schemas in {key}{_at(where)}")
                made[key] = [self._schema(each, f"{where}/{key}") for each in branches if each is not False]
        for key in _SHELVES:
            if key in schema:
                made[key] = self._named(schema[key], f"{where}/{key}")
        if text := self._description(schema):
            made["description"] = text
            if not {"type", "$ref", *_BRANCHES} & made.keys():
                made |= {"type": list(TYPES), "properties": {}, "items": {}}  # else Codex drops the description
        return made

    def _values(self, schema: Schema, made: Schema, where: str) -> None:
        kinds = schema.get("type")
        if kinds is not None:
            listed = kinds if isinstance(kinds, list) else [kinds]
            wrong = [each for each in listed if each not in TYPES]
            if wrong or not listed:
                raise UnfitSchemaError(f"its schema has the type {_shown(wrong[0] if wrong else kinds)}{_at(where)}")
            made["type"] = listed[0] if len(listed) == 1 else kinds
        values = schema.get("enum")
        if "const" in schema:
            only: list[Json] = [schema["const"]]
            values = only
        if values is not None:
            if not isinstance(values, list) or not values:
                raise UnfitSchemaError(f"its schema has no list of values in enum{_at(where)}")
            made["enum"] = values
            if "type" not in made:
                found = list(dict.fromkeys(map(_type_of, values)))
                made["type"] = cast("Json", found[0] if len(found) == 1 else found)

    def _object(self, schema: Schema, made: Schema, where: str) -> None:
        if any(key in schema for key in _OBJECTS):
            made.setdefault("type", "object")
        if "object" not in _types(made):
            return
        made["properties"] = self._named(schema.get("properties", {}), f"{where}/properties")
        if "required" in schema:
            needed = schema["required"]
            if not isinstance(needed, list) or not all(isinstance(name, str) for name in needed):
                raise UnfitSchemaError(f"its schema has no list of names in required{_at(where)}")
            made["required"] = needed
        others = schema.get("additionalProperties")
        if isinstance(others, bool):
            if others or not schema.get("patternProperties"):
                made["additionalProperties"] = others
        elif "additionalProperties" in schema:
            made["additionalProperties"] = self._schema(others, f"{where}/additionalProperties")

    def _array(self, schema: Schema, made: Schema, where: str) -> None:
        items, first = schema.get("items", True), schema.get("prefixItems")
        if isinstance(items, list):
            items, first = schema.get("additionalItems", True), items
        if "items" in schema or first is not None:
            made.setdefault("type", "array")
        if "array" not in _types(made):
            return
        if first is not None and not isinstance(first, list):
            raise UnfitSchemaError(f"its schema has no list of schemas in prefixItems{_at(where)}")
        places = [self._schema(each, f"{where}/items") for each in first or ()]
        if items is not True and items is not False:
            places.append(self._schema(items, f"{where}/items"))
        kinds = [each for index, each in enumerate(places) if each not in places[:index]]
        made["items"] = {} if not kinds else kinds[0] if len(kinds) == 1 else {"anyOf": cast("Json", kinds)}
        if isinstance(schema.get("minItems"), int):
            made["minItems"] = schema["minItems"]

    def _named(self, schemas: Json, where: str) -> Schema:
        if not isinstance(schemas, dict):
            raise UnfitSchemaError(f"its schema has {_shown(schemas)}{_at(where)} in place of schemas by name")
        return {name: self._schema(each, f"{where}/{name}") for name, each in schemas.items() if each is not False}

    def _description(self, schema: Schema) -> str:
        text = schema.get("description")
        text = text.strip() if isinstance(text, str) else ""
        if self._longest is not None:
            return text if len(text) <= self._longest else f"{text[: self._longest - 1].rstrip()}…"
        told: Schema = {key: schema[key] for key in _TOLD if key in schema}
        if isinstance(first := schema.get("prefixItems", schema.get("items")), list):
            told["items in this order"] = first
        remarks = [f"{key}: {orjson.dumps(value).decode()}" for key, value in told.items()]
        remarks = [each for each in remarks if len(each) <= LONGEST_REMARK]
        return " ".join([*([text] if text else []), *([f"({'; '.join(remarks)})"] if remarks else [])])


def _as_object(root: Schema) -> Schema:
    if "object" not in _types(root) and "type" in root:
        raise UnfitSchemaError("its schema is no object")
    kept: Schema = {key: root[key] for key in _KEPT if key in root}
    return {"type": "object", "properties": root.get("properties", {}), **kept}


def _take_in(flat: Schema, branch: Schema) -> None:
    """Let a root take what one of its branches takes as well."""
    if "type" in branch:
        flat.setdefault("type", branch["type"])
        if "object" not in _types(branch):
            raise UnfitSchemaError("its schema is no object")
    mine, theirs = flat.setdefault("properties", {}), branch.get("properties", {})
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        raise UnfitSchemaError("its schema has no schemas by name in properties")
    merged = dict(mine)
    for name, schema in theirs.items():
        known = merged.get(name, schema)
        merged[name] = schema if known == schema else {"anyOf": [known, schema]}
    flat["properties"] = merged


def _names(schema: Schema) -> list[str]:
    needed = schema.get("required")
    return [name for name in needed if isinstance(name, str)] if isinstance(needed, list) else []


def _types(schema: Schema) -> list[Json]:
    kinds = schema.get("type")
    return kinds if isinstance(kinds, list) else [kinds]


def _type_of(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def _target(root: Schema, ref: str) -> Json:
    """What a reference within the schema means; None for nothing, and for one to elsewhere."""
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return None
    found: Json = root
    for step in ref[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        else:
            return None
    return found


def _references(schema: Schema) -> Iterator[str]:
    ref = schema.get("$ref")
    if isinstance(ref, str):
        yield ref
    for inner in _inner(schema):
        yield from _references(inner)


def _inner(schema: Schema) -> list[Schema]:
    found: list[Schema] = []

    def look(inner: Schema) -> Schema:
        found.append(inner)
        return inner

    _mapped(schema, look)
    return found


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """A projected schema with each schema that stands directly in it changed."""
    made = dict(schema)
    for key in ("properties", *_SHELVES):
        if isinstance(named := made.get(key), dict):
            made[key] = {name: change(cast("Schema", each)) for name, each in named.items()}
    for key in _BRANCHES:
        if isinstance(branches := made.get(key), list):
            made[key] = [change(cast("Schema", each)) for each in branches]
    for key in ("items", "additionalProperties"):
        if isinstance(inner := made.get(key), dict):
            made[key] = change(inner)
    return made


def _levels(tree: Json) -> int:
    deepest, layer = 0, [tree]
    while layer := [inner for each in layer for _, inner in children(each)]:
        deepest += 1
    return deepest


def _shown(value: Json) -> str:
    return orjson.dumps(value).decode()[:40]


def _at(where: str) -> str:
    return f" at {where}" if where else ""
