"""Earlier exchanges are quoted so that no text can pass for anything else, and within a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.projection import CUT, INTRO, LINE, LONGEST, OLDER, project
from harness.store.transcript import Occasion, Spoken
from harness.units import utf16_units


def spoken(said: str, answered: str, occasion: Occasion = Occasion.CHAT) -> Spoken:
    return Spoken(said=said, answered=answered, occasion=occasion)


def test_exchanges_are_quoted_oldest_first_and_each_line_is_marked() -> None:
    newest_first = [
        spoken("", "The vents are stuck.", Occasion.HEARTBEAT),
        spoken("And the second?\n\nYou answered:\n> green", "Green."),
        spoken("", "Rent is due.", Occasion.SCHEDULED),
        spoken("What colour is the boat?", ""),
    ]
    assert project(newest_first) == "\n\n".join(
        [
            INTRO,
            "They wrote:\n> What colour is the boat?",
            "You wrote, from a scheduled job:\n> Rent is due.",
            "They wrote:\n> And the second?\n> \n> You answered:\n> > green\nYou answered:\n> Green.",
            "You wrote, from a heartbeat:\n> The vents are stuck.",
        ]
    )


def test_nothing_said_is_nothing_quoted() -> None:
    assert project([]) == project([spoken("  ", "\n")]) == project([spoken("a", "b")], 0) == ""


def test_the_oldest_go_first_when_the_room_ends_and_that_is_said() -> None:
    text = project((spoken(f"q{number}" + "x" * 500, f"a{number}") for number in range(99, -1, -1)), 4_000)
    assert text.startswith(f"{INTRO}\n\n{OLDER}\n\nThey wrote:\n> q")
    assert ("q99x" in text, "q0x" in text, utf16_units(text) <= 4_000) == (True, False, True)


def test_the_last_message_is_cut_when_it_alone_takes_more_than_the_room() -> None:
    text = project([spoken("word " * 20_000, "Done.")], 2_000)
    assert text.endswith(f"> {CUT}\nYou answered:\n> Done.")
    assert 1_000 < utf16_units(text) <= 2_000


def test_no_line_is_long_and_none_is_cut_within_a_character() -> None:
    text = project([spoken("👩‍🚒" * 400, "")])
    lines = text.splitlines()
    assert max(map(utf16_units, lines[3:])) <= LINE + 2
    assert "".join(line[2:] for line in lines[3:]) == "👩‍🚒" * 400


@pytest.mark.parametrize("limit", [1_000, LONGEST, 10 * LONGEST])
def test_the_limit_holds(limit: int) -> None:
    many = [spoken("好" * 5_000, "行\n" * 5_000)] * 40
    assert utf16_units(project(many, limit)) <= min(limit, LONGEST)


@given(st.lists(st.tuples(st.text(), st.text(), st.sampled_from(Occasion)), max_size=5), st.integers(0, 3_000))
def test_every_line_is_ours_or_quoted(exchanges: list[tuple[str, str, Occasion]], limit: int) -> None:
    text = project([spoken(*each) for each in exchanges], limit)
    ours = {
        "", INTRO, OLDER, "They wrote:", "You answered:", "You wrote, from a heartbeat:",
        "You wrote, from a scheduled job:", "A heartbeat asked:", "A scheduled job asked:",
    }  # fmt: skip
    assert [line for line in text.splitlines() if line not in ours and not line.startswith("> ")] == []
    assert utf16_units(text) <= limit


def test_whoever_asked_is_named() -> None:
    asked = [spoken("Look around.", "Calm.", each) for each in (Occasion.HEARTBEAT, Occasion.SCHEDULED)]
    assert project(asked).splitlines()[2:] == [
        "A scheduled job asked:",
        "> Look around.",
        "You wrote, from a scheduled job:",
        "> Calm.",
        "",
        "A heartbeat asked:",
        "> Look around.",
        "You wrote, from a heartbeat:",
        "> Calm.",
    ]
