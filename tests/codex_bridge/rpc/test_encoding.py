"""Any JSON value goes out as valid UTF-8 on one line, and what comes in is never let down by half an emoji."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.rpc import Json, decode, encode, whole_text
from tests.support.values import json_values

TEXTS = st.text(st.characters(codec="utf-8"))
ANY_TEXTS = st.text(st.characters())  # lone surrogates too
NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)


def values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Json]:
    leaves: st.SearchStrategy[Json] = (
        st.none() | st.booleans() | NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | texts
    )
    return json_values(leaves, texts)


@given(values(TEXTS))
def test_a_value_comes_back_as_it_was(value: Json) -> None:
    assert decode(encode(value)) == value


@given(values(ANY_TEXTS))
def test_any_text_becomes_one_line_of_valid_utf8(value: Json) -> None:
    data = encode(value)
    data.decode("utf-8")
    assert b"\n" not in data
    assert b"\r" not in data


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"id": 1, "method": "x"}, '{"id":1,"method":"x"}'),
        ("日本語 🦞", '"日本語 🦞"'),
        ("\ud83e\udd9e", '"🦞"'),
        ("a\ud83e", '"a\ufffd"'),
        ("\udd9eb", '"\ufffdb"'),
        ("\udd9e\ud83e", '"\ufffd\ufffd"'),
        ({"\ud83e": ["\ud83e", {"k": "\udd9e"}]}, '{"\ufffd":["\ufffd",{"k":"\ufffd"}]}'),
        ("line\nline\x00", '"line\\nline\\u0000"'),
    ],
)
def test_a_value_is_encoded_compactly_with_lone_surrogates_replaced(value: Json, data: str) -> None:
    assert encode(value) == data.encode()


@pytest.mark.parametrize(
    "value",
    [
        2**64,
        object(),
        b"bytes",
        ["\ud83e", object()],
        {1: 2},
    ],
)
def test_what_json_cannot_hold_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError):
        encode(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'"\ud83e\udd9e"', "🦞"),
        (rb'"a\ud83e"', "a\ufffd"),
        (rb'"\uDD9Eb"', "\ufffdb"),
        (rb'{"\ud83e": ["\udd9e", 1, null]}', {"\ufffd": ["\ufffd", 1, None]}),
        (rb'"\\ud83e"', r"\ud83e"),
    ],
)
def test_lone_surrogates_that_come_in_are_replaced(data: bytes, value: Json) -> None:
    assert decode(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"a":1}{"b":2}',
        b'"\xff"',
        b'"\xff \\ud83e"',
        rb'{"text": "\ud83e", broken',
        b"[" * 100_000,
        b"[" * 100_000 + rb'"\ud83e"',
        b"[" * 100_000 + rb'"\ud83e"' + b"]" * 100_000,
    ],
    ids=range(10),
)
def test_what_is_not_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode(data)


@given(st.binary(max_size=80) | st.text(st.sampled_from('{}[]":,\\ud83e0tn ')).map(str.encode))
def test_any_bytes_are_json_or_a_value_error(data: bytes) -> None:
    try:
        encode(decode(data))
    except ValueError:
        with pytest.raises(ValueError):
            json.dumps(json.loads(data.decode("utf-8")), allow_nan=False).encode()


@given(ANY_TEXTS)
def test_whole_text_has_no_half_characters_and_stays_whole(text: str) -> None:
    once = whole_text(text)
    once.encode("utf-8")
    assert whole_text(once) == once
    assert len(once.encode("utf-16-le")) == len(text.encode("utf-16-le", "surrogatepass"))
