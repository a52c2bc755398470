import json
import re

import json5
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.config.variables import doubled_keys, plain_tree
from harness.json5_text import Json5Error, parse_json5
from harness.json_value import Json
from tests.support.values import json_values

STEADY = settings(derandomize=True, deadline=None)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# The library writes NUL in a way that it does not read when a digit follows.
TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)
LEAVES = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXTS
KEYS = st.sampled_from(["a", "bootstrapMaxChars", "$x", "with space", "//", "é"]) | TEXTS
TREES = json_values(LEAVES, KEYS)

WITH_EVERYTHING = """\ufeff
// The bot's settings.
{
  agents: { /* all of
               them */ defaults: { workspace: "~/work", timeFormat: '24', }, },
  "quoted": [1, +2, .5, 0x10, -Infinity, ],
  text: "a // no comment, /* nor here */ , ]",
  line: 'it\\'s \\
one line',
}
"""


def test_comments_bare_keys_single_quotes_and_trailing_commas_are_read() -> None:
    assert plain_tree(parse_json5(WITH_EVERYTHING)) == {
        "agents": {"defaults": {"workspace": "~/work", "timeFormat": "24"}},
        "quoted": [1, 2, 0.5, 16, float("-inf")],
        "text": "a // no comment, /* nor here */ , ]",
        "line": "it's one line",
    }


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff", "// later\n", "/* nothing\nyet */"])
def test_a_file_without_content_is_an_empty_object(text: str) -> None:
    assert parse_json5(text) == {}


UNEXPECTED = "is not expected here; check the comma, quote or bracket before it"
TOO_EARLY = "the text ends too early; a closing bracket or quote is missing"
TOO_DEEP = "objects and lists stand more than 64 deep in each other; flatten them"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', f"line 3, column 3: '\"' {UNEXPECTED}"),
        ("{ a: [1, , 2] }", f"line 1, column 10: ',' {UNEXPECTED}"),
        ("{ a: [,] }", f"line 1, column 7: ',' {UNEXPECTED}"),
        ("{ a: yes }", f"line 1, column 6: 'y' {UNEXPECTED}"),
        ("{ a: 1 } and more", f"line 1, column 10: 'a' {UNEXPECTED}"),
        ("{ a: { b: 1 }", f"line 1, column 14: {TOO_EARLY}"),
        ("{\n a: 'no\n end' }", "line 2, column 8: the line ends inside a string; close its quote"),
        ("[" * 70 + "]" * 70, TOO_DEEP),
        ("{a:" * 5000, TOO_DEEP),
    ],
    ids=["no comma", "two commas", "comma first", "bare word", "more text", "open", "open string", "deep", "very deep"],
)
def test_a_fault_is_named_in_one_sentence_with_its_line_and_column(text: str, sentence: str) -> None:
    with pytest.raises(Json5Error) as caught:
        parse_json5(text)
    assert str(caught.value) == sentence


def test_a_long_text_is_read_if_it_is_nearly_json_and_else_refused_where_time_is_short() -> None:
    assert parse_json5("{a: [1, 'two',], /* more */}", longest=3) == {"a": [1, "two"]}
    with pytest.raises(Json5Error, match="it is longer than 3 characters and not plain JSON"):
        parse_json5("{a: 0x10}", longest=3)


def test_a_key_that_stands_twice_is_remembered_with_its_place() -> None:
    tree = parse_json5("{ agents: { list: [ { id: 'a' , id: 'b' } ] }, x: 1, x: 2 }")

    assert plain_tree(tree) == {"agents": {"list": [{"id": "b"}]}, "x": 2}
    assert [finding.place for finding in doubled_keys(tree)] == ["x", "agents.list[0].id"]


@STEADY
@given(TREES)
def test_the_short_way_and_the_library_read_the_same(tree: Json) -> None:
    plain = json.dumps(tree, ensure_ascii=False, indent=1)
    loose = json5.dumps(tree, indent=1, trailing_commas=True) + "\n// the end"

    assert parse_json5(plain) == tree
    assert plain_tree(parse_json5(loose)) == plain_tree(json5.loads(loose)) == tree


@STEADY
@given(st.text(alphabet="{}[],:\"'/*\\\n ab1.-", max_size=14))
def test_the_short_way_accepts_nothing_that_the_library_refuses(text: str) -> None:
    try:
        expected = json5.loads(text)
    except ValueError:
        expected = None
    try:
        found = parse_json5(text)
    except Json5Error:
        found = None

    # Text without content is the one thing that we read and the library does not.
    assert found == expected or (found == {} and expected is None and not COMMENT.sub("", text).strip())
