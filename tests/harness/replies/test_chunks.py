"""A long text goes out as messages that a channel takes, with nothing lost and nothing broken."""

import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from harness.replies.chunks import chunks
from harness.units import TextUnit

FLAG = "\N{REGIONAL INDICATOR SYMBOL LETTER M}\N{REGIONAL INDICATOR SYMBOL LETTER E}"
FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
PIECES = [
    *("kale", "beans are up. ", "Frost? ", "ah。", " ", "  ", "\t", "\n", "\n\n", "\n\n\n", "a" * 70, "- ", "e\u0301"),
    *(" \u0301", FLAG, FAMILY, "\U0001f331", "```", "`", "\ud83c", "word " * 9, "line\nline\n", "\r\n", "(vents)"),
]
BLOCKS = [
    *(
        "Prose.",
        "Two sentences. " * 4,
        "\n\n",
        "x" * 90,
        "```py\nprint(1)\n```",
        "~~~\nraw\n~~~",
        "  ```\n  in a list\n  ```",
    ),
    *(f"```\n{'y' * 150}\n```", "```js\n" + "let a = 1;\n" * 12 + "```", "````md\n```\nnested\n```\n````", FLAG * 20),
]
UNITS = st.sampled_from(TextUnit)


def without_blanks(text: str) -> str:
    return "".join(text.split())


def open_fence(text: str) -> str:
    """The marks of the block that is open at the end of a text."""
    opened = ""
    for line in text.splitlines():
        marks = re.match(r"[ \t]*(`{3,}|~{3,})", line)
        if marks is None:
            continue
        if not opened and ("`" not in line[marks.end() :] or marks[1][0] == "~"):
            opened = marks[1]
        elif opened and line.strip().startswith(opened) and not line.strip().strip(opened[0]):
            opened = ""
    return opened


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.integers(64, 200), UNITS)
def test_every_message_is_within_the_limit_and_says_something(text: str, limit: int, unit: TextUnit) -> None:
    made = chunks(text, limit, unit)

    assert all(unit.size(each) <= limit and each.strip() for each in made)
    assert bool(made) == bool(text.strip())


@given(
    st.lists(st.sampled_from([each for each in PIECES if "`" not in each]), max_size=60).map("".join),
    st.integers(64, 200),
    UNITS,
)
def test_nothing_but_blanks_is_lost_and_the_order_is_kept(text: str, limit: int, unit: TextUnit) -> None:
    assert without_blanks("".join(chunks(text, limit, unit))) == without_blanks(text)


@given(
    st.lists(st.sampled_from([each for each in PIECES if "`" not in each]), max_size=60).map("".join),
    st.integers(64, 200),
    UNITS,
)
def test_no_character_is_cut_through(text: str, limit: int, unit: TextUnit) -> None:
    seen: list[str] = regex.findall(r"\X", text)
    whole = [without_blanks(each) for each in seen if each.strip()]

    again = [without_blanks(each) for part in chunks(text, limit, unit) for each in regex.findall(r"\X", part)]

    assert [each for each in again if each] == whole


@given(st.lists(st.sampled_from(BLOCKS), max_size=14).map("\n".join), st.integers(64, 220), UNITS)
def test_a_block_that_is_cut_is_closed_and_opened_again_with_nothing_of_it_lost(
    text: str, limit: int, unit: TextUnit
) -> None:
    made = chunks(text, limit, unit)

    assert [open_fence(each) for each in made] == [""] * len(made)
    assert all(unit.size(each) <= limit for each in made)
    said = [without_blanks(line) for line in text.splitlines() if not re.match(r"[ \t]*(```|~~~)", line)]
    told = [without_blanks(line) for line in "\n".join(made).splitlines() if not re.match(r"[ \t]*(```|~~~)", line)]
    assert "".join(told) == "".join(said)


@given(st.lists(st.sampled_from(BLOCKS), max_size=14).map("\n".join), st.integers(64, 220))
def test_what_was_cut_stays_so_while_more_is_said_as_far_as_it_is_not_the_last_message(text: str, limit: int) -> None:
    whole = chunks(text, limit)
    begun = chunks(text[: len(text) * 2 // 3], limit)

    assert whole[: max(0, len(begun) - 2)] == begun[: max(0, len(begun) - 2)]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("a" * 40 + ".\n\n" + "b" * 40, ["a" * 40 + ".", "b" * 40]),
        ("a" * 40 + "\n" + "b" * 40, ["a" * 40, "b" * 40]),
        ("a" * 40 + ". " + "b" * 15 + " " + "c" * 40, ["a" * 40 + ".", "b" * 15 + " " + "c" * 40]),
        ("a" * 40 + " " + "b" * 40, ["a" * 40, "b" * 40]),
        ("a" * 100, ["a" * 64, "a" * 36]),
        ("a" * 10 + "\n" + "b" * 60, ["a" * 10, "b" * 60]),
        ("- one\n  - " + "a" * 40 + "\n  - " + "b" * 40, ["- one\n  - " + "a" * 40, "  - " + "b" * 40]),
        ("木" * 40 + "。" + "木" * 40, ["木" * 40 + "。", "木" * 40]),
    ],
    ids=["paragraph", "line", "sentence", "word", "character", "a whole line", "indented", "no blanks"],
)
def test_the_best_place_in_the_second_half_of_a_message_is_taken(text: str, messages: list[str]) -> None:
    assert chunks(text, 64) == messages


def test_code_goes_on_in_the_next_message_with_the_same_words_after_its_marks() -> None:
    code = "".join(f"row({at:02})\n" for at in range(12))

    assert chunks(f"Look:\n```py title=a\n{code}```\nDone.", 64) == [
        "Look:\n```py title=a\nrow(00)\nrow(01)\nrow(02)\nrow(03)\nrow(04)\n```",
        "```py title=a\nrow(05)\nrow(06)\nrow(07)\nrow(08)\nrow(09)\n```",
        "```py title=a\nrow(10)\nrow(11)\n```\nDone.",
    ]


def test_the_limit_counts_what_the_channel_counts() -> None:
    seeds = "\U0001f331" * 100

    assert [len(each) for each in chunks(seeds, 100, TextUnit.UTF16)] == [50, 50]
    assert chunks(seeds, 100, TextUnit.CODE_POINTS) == [seeds]


def test_a_channel_without_a_limit_gets_one_message() -> None:
    assert chunks("a" * 100_000, None) == ["a" * 100_000]


def test_a_character_longer_than_a_message_is_cut_after_all() -> None:
    assert [len(each) for each in chunks("e" + "\u0301" * 99, 64)] == [64, 36]
