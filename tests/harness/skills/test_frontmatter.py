"""The head of a SKILL.md is understood however people write it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.skills.frontmatter import Frontmatter, read_frontmatter
from harness.skills.lines import read_lines
from harness.skills.yaml_core import MAX_NODES, YamlError, read_yaml


def head(block: str) -> Frontmatter:
    return read_frontmatter(f"---\n{block}\n---\nbody\n")


def test_plain_values_are_read_as_text() -> None:
    assert head("name: weather\ndescription: Looks up the weather\nversion: 1.10\ncount: 007") == Frontmatter(
        {"name": "weather", "description": "Looks up the weather", "version": "1.10", "count": "007"}
    )


@pytest.mark.parametrize("text", ["no", "yes", "on", "12:30", "2024-01-01", "TRUE", "0o17"])
def test_words_that_old_yaml_would_turn_into_something_else_stay_as_written(text: str) -> None:
    assert head(f"description: {text}").values == {"description": text}


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter() -> None:
    assert read_frontmatter("\ufeff---\r\nname: a\r\ndescription: b\r\n---\r\n") == Frontmatter(
        {"name": "a", "description": "b"}
    )


def test_a_colon_in_an_unquoted_description_survives_and_is_told() -> None:
    read = head("name: mail\ndescription: Use for: mail and letters")
    assert read.values == {"name": "mail", "description": "Use for: mail and letters"}
    # The words in brackets are those of the YAML library in use.
    assert [re.sub(r"\(.*\)", "(…)", problem) for problem in read.problems] == [
        "line 3 is not valid YAML (…), so its head was read line by line; put values that hold a colon in quotes and "
        "indent with spaces"
    ]


def test_inline_json_keeps_its_own_text() -> None:
    assert head('metadata: { "openclaw": { "always": true, } }').values == {
        "metadata": '{ "openclaw": { "always": true, } }'
    }


def test_a_structure_in_yaml_becomes_json() -> None:
    block = "metadata:\n  openclaw:\n    always: true\n    os: [linux, darwin]\n    n: 3\n    x: 1.5\n    none: ~"
    assert head(block).values == {
        "metadata": '{"openclaw":{"always":true,"os":["linux","darwin"],"n":3,"x":1.5,"none":null}}'
    }


def test_a_long_row_of_digits_keeps_its_text_within_a_structure() -> None:
    values, _ = read_yaml("a:\n  big: 99999999999999999999\n  hex: 0xff\n  oct: 0o17\n  huge: 0x" + "f" * 40)
    assert values == {"a": {"big": "99999999999999999999", "hex": 255, "oct": 15, "huge": "0x" + "f" * 40}}


def test_block_and_folded_text_is_read_with_its_lines() -> None:
    assert head("description: |\n  one\n  two\nname: >\n  a\n  b").values == {
        "description": "one\ntwo\n",
        "name": "a b",
    }


def test_a_key_without_a_value_is_as_if_it_were_not_there() -> None:
    assert head("description:\nname: ~") == Frontmatter({})


def test_of_a_key_given_twice_the_last_one_counts_and_it_is_told() -> None:
    assert head("name: a\nname: b") == Frontmatter(
        {"name": "b"}, ("name is given more than once, and the last one counts",)
    )


def test_a_file_without_a_head_says_so() -> None:
    assert read_frontmatter("# Just text\n") == Frontmatter(
        {}, ("its first line is not ---, so it has no name and description",)
    )
    assert read_frontmatter("") == read_frontmatter("# Just text\n")


def test_a_head_that_never_ends_says_so() -> None:
    assert read_frontmatter("---\nname: a\n") == Frontmatter({}, ("the --- line that ends its head is missing",))


def test_the_lines_are_read_when_yaml_gives_up() -> None:
    block = "\tname: x\nname: 'quoted'\ndescription: first\n  goes on\nmetadata:\n  {\n    a: 1, // 1\n  }\nbad: [1, 2"
    values = {key: value.text for key, value in read_lines(block).items()}
    assert values == {
        "name": "quoted",
        "description": "first goes on",
        "metadata": "{\n  a: 1, // 1\n}",
        "bad": "[1, 2",
    }


def test_a_bracket_that_closes_at_the_start_of_a_line_belongs_to_its_value() -> None:
    assert read_lines("metadata: {\n  a: 1,\n}\nname: x")["metadata"].text == "{\na: 1,\n}"


def test_block_signs_work_in_the_line_reading_too() -> None:
    lines = read_lines("a: |\n  one\n  two\nb: >-\n  one\n  two\nc:")
    assert [lines[key].text for key in "abc"] == ["one\ntwo", "one two", ""]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("- a\n- b", "expected lines of the form key: value"),
        ("just text", "expected lines of the form key: value"),
        ("? [a]\n: b", "a key must be plain text"),
        ("a: &x [*x]", "the structure is too large or too deep"),
        ("a: " + "[" * 100 + "]" * 100, "the structure is too large or too deep"),
    ],
)
def test_yaml_that_is_no_head_is_refused_with_its_reason(block: str, problem: str) -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml(block)
    assert (caught.value.line, caught.value.problem) == (1, problem)


def test_aliases_that_multiply_are_stopped() -> None:
    layers = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9))
    with pytest.raises(YamlError, match="too large"):
        read_yaml(f"l0: &l0 [x]\n{layers}")
    assert MAX_NODES == 10_000


def test_very_deep_nesting_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(YamlError):
        read_yaml("a: " + "[" * 50_000)


def test_no_tag_builds_an_object() -> None:
    assert read_yaml("a: !!python/name:os.system x\nb: [!!python/object/apply:os.getcwd [], 1]") == (
        {"a": "x", "b": [[], 1]},
        frozenset(),
    )


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(block: str) -> None:
    first = head(block)
    assert first == head(block)
    assert all(isinstance(value, str) for value in first.values.values())
