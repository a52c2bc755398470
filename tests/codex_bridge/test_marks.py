"""What a message says of itself is read back as it was written, and nothing else passes for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.marks import Mark, read_mark

KEYS = st.text(st.characters(exclude_characters="\n"))


@given(KEYS, st.integers(0, 10**15 - 1), st.lists(KEYS, max_size=3).map(tuple))
def test_a_mark_is_read_as_it_was_written(key: str, heard: int, more: tuple[str, ...]) -> None:
    mark = Mark(key, heard, more)
    assert read_mark(str(mark)) == mark
    assert mark.keys == (key, *more)


@pytest.mark.parametrize("text", [None, "", "telegram:7:1", "telegram:7:1 heard=", "a heard=1 ", "a heard=-1"])
def test_what_another_program_says_is_no_mark(text: str | None) -> None:
    assert read_mark(text) is None
