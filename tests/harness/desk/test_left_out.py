"""Of messages that were too many one bounded line is told, and nothing in it passes for anything else."""

import json

from hypothesis import given
from hypothesis import strategies as st

from harness.desk.left_out import LONGEST, left_out_text
from harness.units import utf16_units
from tests.support.desk import message


def test_none_is_nothing_to_tell() -> None:
    assert left_out_text([], 0) == ""


def test_one_is_told_by_how_it_began() -> None:
    said = left_out_text([message(1, "  look at\n\nthis ")], 1)
    assert said == (
        "1 message was left out here, as too many came while you were at work. "
        'How the last of them began: [{"text": "look at this"}]'
    )


def test_in_a_group_it_is_told_who_wrote_them() -> None:
    said = left_out_text([message(1, "hi", group=True)], 3)
    assert said.startswith("3 messages were left out here")
    assert json.loads(said.partition("began: ")[2]) == [{"from": "Orrin", "text": "hi"}]


@given(texts=st.lists(st.text(min_size=1, max_size=400), max_size=20), more=st.integers(0, 10_000))
def test_it_is_one_line_of_bounded_length_whatever_they_wrote(texts: list[str], more: int) -> None:
    count = len(texts) + more
    said = left_out_text([message(at, text, group=bool(at % 2)) for at, text in enumerate(texts)], count)
    assert utf16_units(said) <= LONGEST
    assert len(said.splitlines()) == bool(count)
    if count:
        assert said.startswith(str(count))
    if "began: " in said:
        assert len(json.loads(said.partition("began: ")[2])) <= len(texts)
