"""The line between what stays and what changes (prompt-builder 6.1)."""

import pytest

from harness.prompt.boundary import MARKER, TOKEN, Halves, disarmed, ensure, insert_after, split, strip


def test_the_token_has_the_length_that_backends_know() -> None:
    assert len(TOKEN) == 34


@pytest.mark.parametrize(
    ("prompt", "halves"),
    [
        (f"a \n{TOKEN}\n b{TOKEN}c", Halves("a", f"b{TOKEN}c")),
        (TOKEN, Halves("", "")),
        ("a", None),
        (f"a {MARKER} b", None),
    ],
)
def test_a_prompt_is_divided_at_the_first_marker_and_both_halves_are_trimmed(
    prompt: str, halves: Halves | None
) -> None:
    assert split(prompt) == halves


def test_stripping_leaves_one_line_end_for_each_marker() -> None:
    assert strip(f"a{TOKEN}b{TOKEN}c") == "a\nb\nc"


@pytest.mark.parametrize(
    ("prompt", "after"), [("", ""), (" \n", " \n"), ("a", f"a{TOKEN}"), (f"a{TOKEN}b", f"a{TOKEN}b")]
)
def test_a_marker_is_ensured_once(prompt: str, after: str) -> None:
    assert ensure(prompt) == after == ensure(after)


@pytest.mark.parametrize(
    ("prompt", "addition", "after"),
    [
        (f"a{TOKEN}\nb ", " new\r\nline ", f"a{TOKEN}new\nline\n\nb"),
        (f"a{TOKEN}", "new", f"a{TOKEN}new"),
        ("a", "new", "new\n\na"),
        (" ", "new", "new"),
        (f"a{TOKEN}b", " \n", f"a{TOKEN}b"),
    ],
)
def test_an_addition_goes_to_the_head_of_the_changing_part(prompt: str, addition: str, after: str) -> None:
    assert insert_after(prompt, addition) == after


def test_an_addition_cannot_divide_the_prompt_again() -> None:
    assert insert_after(f"a{TOKEN}b", f"z{TOKEN}q").count(MARKER) == 1


def test_a_marker_in_somebodys_text_loses_its_meaning() -> None:
    assert disarmed(f"x{TOKEN}y") == "x\n<!-- cache boundary -->\ny"
    assert disarmed("x") == "x"
