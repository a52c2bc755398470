"""The form of a tool's schema that Codex leaves as it is."""

from typing import Any

import pytest

from codex_bridge.tool_schemas import MOST_BYTES, UnfitSchemaError, projected, undescribed


def of(schema: Any) -> Any:
    return projected({"type": "object", "properties": {"p": schema}})["properties"]["p"]  # type: ignore[index, call-overload]


VALUES: list[tuple[Any, Any]] = [
    ({"type": "string"}, {"type": "string"}),
    ({"const": 3}, {"type": "integer", "enum": [3]}),
    ({"enum": ["a", 1, None]}, {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
    ({"type": ["string"]}, {"type": "string"}),
    (True, {}),
    ({}, {}),
    ({"not": {"type": "string"}}, {
        "description": '(not: {"type":"string"})',
        "type": ["string", "number", "integer", "boolean", "object", "array", "null"],
        "properties": {}, "items": {},
    }),
    ({"type": "string", "format": "date", "description": "When."},
     {"type": "string", "description": 'When. (format: "date")'}),
    ({"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
     {"type": "integer", "description": "(minimum: 1; maximum: 9; default: 2)"}),
    ({"type": "array"}, {"type": "array", "items": {}}),
    ({"type": "array", "items": False}, {"type": "array", "items": {}}),
    ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
     {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "(maxItems: 2)"}),
    ({"type": "array", "items": [{"type": "number"}, {"type": "number"}]},
     {"type": "array", "items": {"type": "number"},
      "description": '(items in this order: [{"type":"number"},{"type":"number"}])'}),
    ({"prefixItems": [{"type": "number"}, {"type": "string"}]},
     {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "string"}]},
      "description": '(items in this order: [{"type":"number"},{"type":"string"}])'}),
    ({"properties": {"a": {"type": "null"}, "b": False}, "required": ["a"], "additionalProperties": False},
     {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": False}),
    ({"patternProperties": {"^x": {}}, "additionalProperties": False},
     {"type": "object", "properties": {}, "description": '(patternProperties: {"^x":{}})'}),
    ({"type": "object", "additionalProperties": {"const": "a"}},
     {"type": "object", "properties": {}, "additionalProperties": {"type": "string", "enum": ["a"]}}),
    ({"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}, False]},
     {"anyOf": [{"type": "string", "description": "(minLength: 2)"}, {"type": "null"}]}),
    ({"type": "string", "pattern": "x" * 200}, {"type": "string"}),
    ({"type": "string", "description": 3}, {"type": "string"}),
]  # fmt: skip


@pytest.mark.parametrize(("original", "sent"), VALUES)
def test_what_codex_would_drop_is_told_in_words_and_nothing_becomes_something_else(original: Any, sent: Any) -> None:
    assert of(original) == sent
    assert of(sent) == sent


ROOTS: list[tuple[Any, Any]] = [
    (True, {"type": "object", "properties": {}}),
    ({"title": "T", "properties": {"a": {"type": "string"}}},
     {"type": "object", "properties": {"a": {"type": "string"}}}),
    ({"type": ["object", "null"]}, {"type": "object", "properties": {}}),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"n": {"$ref": "#/$defs/x"}}}}},
     {"type": "object", "properties": {"n": {"$ref": "#/$defs/x"}}, "required": [],
      "$defs": {"x": {"type": "object", "properties": {"n": {"$ref": "#/$defs/x"}}}}}),
    ({"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"], "oneOf": [
        {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]},
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]}]},
     {"type": "object", "properties": {
         "k": {"type": "string"}, "a": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
         "b": {"type": "string"}}, "required": ["a", "k"]}),
    ({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]},
     {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}),
]  # fmt: skip


@pytest.mark.parametrize(("original", "sent"), ROOTS)
def test_the_root_is_one_object_without_branches(original: Any, sent: Any) -> None:
    assert projected(original) == sent


@pytest.mark.parametrize(
    ("original", "why"),
    [
        ([], "its schema is no object"),
        (False, "its schema is no object"),
        ({"type": "string"}, "its schema is no object"),
        ({"type": "object", "x": {1}}, "its schema is not JSON (Type is not JSON serializable: set)"),
        ({"properties": {"p": None}}, "its schema has null at /properties/p in place of a schema"),
        ({"properties": {"p": "text"}}, 'its schema has "text" at /properties/p in place of a schema'),
        ({"properties": ["p"]}, 'its schema has ["p"] at /properties in place of schemas by name'),
        ({"properties": {"p": {"type": "frob"}}}, 'its schema has the type "frob" at /properties/p'),
        ({"properties": {"p": {"type": []}}}, "its schema has the type [] at /properties/p"),
        ({"properties": {"p": {"enum": "a"}}}, "its schema has no list of values in enum at /properties/p"),
        ({"properties": {"p": {"anyOf": []}}}, "its schema has no list of schemas in anyOf at /properties/p"),
        ({"properties": {"p": {"anyOf": [None]}}}, "its schema has null at /properties/p/anyOf in place of a schema"),
        ({"required": "p"}, "its schema has no list of names in required"),
        ({"properties": {"p": {"$ref": "#/$defs/x"}}},
         "its schema refers to '#/$defs/x' at /properties/p, which it does not hold"),
        ({"properties": {"p": {"$ref": "https://a.example/x"}}},
         "its schema refers to 'https://a.example/x' at /properties/p, which it does not hold"),
        ({"$ref": "#"}, "its schema is no object, as '#' is none"),
    ],
)  # fmt: skip
def test_a_schema_that_codex_would_refuse_or_lose_is_unfit_for_a_reason(original: Any, why: str) -> None:
    with pytest.raises(UnfitSchemaError) as raised:
        projected(original)
    assert str(raised.value) == why


def test_a_schema_that_is_nested_too_deep_is_unfit() -> None:
    deep: Any = {"type": "string"}
    for _ in range(40):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(UnfitSchemaError, match="64 levels"):
        projected(deep)


def test_a_long_schema_keeps_as_much_of_each_description_as_codex_leaves_in_it() -> None:
    long = {f"p{number}": {"type": "integer", "minimum": 1, "description": "x" * 600} for number in range(10)}
    made = projected({"type": "object", "properties": long})
    texts = {text["description"] for text in made["properties"].values()}  # type: ignore[union-attr, index, call-overload]
    assert texts == {"x" * 399 + "…"}
    assert len(str(made).encode()) < MOST_BYTES


def test_without_descriptions_a_property_of_that_name_stays() -> None:
    made = projected({"description": "D", "properties": {"description": {"type": "string", "description": "D"}}})
    assert undescribed(made) == {"type": "object", "properties": {"description": {"type": "string"}}}
