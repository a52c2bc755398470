from hypothesis import given
from hypothesis import strategies as st

from harness.memory.passages import PASSAGE_UNITS, Passage, note_lines, split_note
from harness.units import utf16_units


def test_a_note_is_split_at_its_headings_with_exact_lines() -> None:
    text = "\nIntro.\n\n# Boat\nIt is blue.\n## Engine\r\n\r\nLoud.\r\n# Garden\n"
    assert split_note(text) == (
        Passage(2, 2, "", "Intro."),
        Passage(4, 5, "Boat", "# Boat\nIt is blue."),
        Passage(6, 8, "Boat > Engine", "## Engine\n\nLoud."),
        Passage(9, 9, "Garden", "# Garden"),
    )


def test_a_long_line_is_split_and_keeps_its_number() -> None:
    parts = split_note("short\n" + "🦞" * 400 + "\nend")
    assert [(part.first_line, part.last_line, utf16_units(part.text)) for part in parts] == [
        (1, 1, 5),
        (2, 2, 700),
        (2, 2, 100),
        (3, 3, 3),
    ]


@given(st.lists(st.text(alphabet="# ab好🦞", max_size=900), max_size=12))
def test_every_word_of_a_note_is_in_the_passage_of_its_lines(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = split_note(text)
    numbered = note_lines(text)
    assert all(utf16_units(part.text) <= PASSAGE_UNITS for part in parts)
    for part in parts:
        assert part.text in "\n".join(numbered[part.first_line - 1 : part.last_line])
    kept = "".join(part.text for part in parts)
    assert "".join(kept.split()) == "".join(text.split())


def test_lines_are_those_of_an_editor() -> None:
    assert note_lines("a\r\nb\x0cc\u2028d\n") == ["a", "b\x0cc\u2028d"]
    assert note_lines("") == []
