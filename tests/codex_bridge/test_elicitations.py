"""The forms of tool servers: as questions, and the answers as the content that they get."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.elicitations import Form, form_of
from codex_bridge.rpc import Json, JsonObject
from harness.asks import Choice, Question
from tests.support.values import json_values


def form(shape: JsonObject, *, required: bool = True) -> Form:
    found = form_of({"type": "object", "properties": {"x": shape}, "required": ["x"] if required else []})
    assert found is not None
    return found


COLOURS: Json = [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]


@pytest.mark.parametrize(
    ("shape", "choices", "in_words"),
    [
        ({"type": "string"}, (), True),
        ({"type": "number"}, (), True),
        ({"type": "boolean"}, ("true", "false"), False),
        ({"type": "string", "enum": ["r", "b"]}, ("r", "b"), False),
        ({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]}, ("Red", "Blue"), False),
        ({"type": "array", "items": {"type": "string", "enum": ["r", "b"]}}, ("r", "b"), True),
    ],
)
def test_each_field_is_a_question(shape: JsonObject, choices: tuple[str, ...], in_words: bool) -> None:
    found = form({**shape, "title": "Colour", "description": "Which one?"})
    assert found.questions == (Question("x", "Which one?", "Colour", tuple(map(Choice, choices)), in_words),)


@pytest.mark.parametrize(
    ("shape", "words", "value"),
    [
        ({"type": "string"}, ("as it is ",), "as it is "),
        ({"type": "string", "format": "email"}, ("a@b.example",), "a@b.example"),
        ({"type": "string", "format": "uri"}, ("https://b.example",), "https://b.example"),
        ({"type": "string", "format": "date"}, ("2031-05-06",), "2031-05-06"),
        ({"type": "string", "format": "date-time"}, ("2031-05-06T07:08:09Z",), "2031-05-06T07:08:09Z"),
        ({"type": "integer", "minimum": 1}, (" 12 ",), 12),
        ({"type": "number"}, ("1.5",), 1.5),
        ({"type": "number"}, ("-3",), -3),
        ({"type": "boolean"}, ("True",), True),
        ({"type": "boolean"}, ("false",), False),
        ({"type": "string", "oneOf": COLOURS}, ("Blue",), "b"),
        ({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]}, ("Red",), "r"),
        ({"type": "array", "items": {"anyOf": COLOURS}}, ("Red, Blue",), ["r", "b"]),
        ({"type": "array", "items": {"enum": ["a, b", "c"]}}, ("a, b",), ["a, b"]),
    ],
)
def test_words_become_the_value_that_the_field_wants(shape: JsonObject, words: tuple[str, ...], value: Json) -> None:
    assert form(shape).content({"x": words}) == {"x": value}


@pytest.mark.parametrize(
    ("shape", "word", "problem"),
    [
        ({"type": "integer"}, "1.5", "x must be a whole number."),
        ({"type": "integer"}, "٣", "x must be a whole number."),
        ({"type": "number"}, "nan", "x must be a number."),
        ({"type": "integer", "minimum": 3}, "2", "x must be at least 3."),
        ({"type": "integer", "maximum": 3}, "4", "x must be at most 3."),
        ({"type": "boolean"}, "yes", "x must be true or false."),
        ({"type": "string", "enum": ["r", "b"]}, "green", "x must be one of r, b."),
        ({"type": "string", "minLength": 3}, "ab", "x must be longer."),
        ({"type": "string", "maxLength": 3}, "abcd", "x must be shorter."),
        ({"type": "string", "format": "email"}, "nobody", "x must be a mail address."),
        ({"type": "string", "format": "uri"}, "nowhere", "x must be an address with its scheme."),
        ({"type": "string", "format": "date"}, "soon", "x must be a day such as 2031-05-06."),
        ({"type": "string", "format": "date-time"}, "soon", "x must be a time such as 2031-05-06T07:08:09Z."),
        (
            {"type": "array", "items": {"enum": ["r", "b"]}, "maxItems": 1},
            "r, b",
            "x must be another number of choices.",
        ),
        ({"type": "string", "title": "Name"}, " ", "Name was not answered."),
    ],
)
def test_what_does_not_fit_is_named(shape: JsonObject, word: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        form(shape).content({"x": (word,)})
    assert str(caught.value) == problem


def test_what_need_not_be_answered_is_left_out() -> None:
    assert form({"type": "string"}, required=False).content({}) == {}


@pytest.mark.parametrize(
    "schema",
    [
        "no object",
        {"properties": []},
        {"properties": {"x": {"type": "object"}}},
        {"properties": {"x": 7}},
        {"properties": {"x": {}}},
        {"properties": {"x": {"type": "string", "enum": []}}},
        {"properties": {"x": {"type": "string", "enum": [1]}}},
        {"properties": {"x": {"type": "string", "oneOf": [{"title": "Red"}]}}},
        {"properties": {"x": {"type": "array", "items": {"type": "string"}}}},
        {"properties": {}, "required": ["y"]},
        {"properties": {}, "required": [["y"]]},
        {"properties": {}, "required": "y"},
    ],
)
def test_a_form_that_is_no_flat_one_is_not_asked(schema: Json) -> None:
    assert form_of(schema) is None


def test_a_form_without_fields_asks_yes_or_no() -> None:
    assert form_of(None) == form_of({"type": "object", "properties": {}}) == Form()


NAMES = st.sampled_from(
    ["properties", "enum", "enumNames", "oneOf", "items", "title", "const", "type", "required", "x"]
)


@given(
    json_values(
        st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "array", "boolean", "x"]), NAMES, most=6
    )
)
def test_no_schema_breaks_anything(schema: Json) -> None:
    found = form_of(schema)
    if found is not None:
        assert len(found.questions) == len(found.fields)
