"""What a person decides on is what is there: nothing hides, reorders, or leaves its frame."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.approvals.display import LOOKED_AT, Shown, block, cut, exact, inline, is_seen, plain
from harness.units import utf16_units

SNEAKY = [
    "\x1b[2K",
    "\x1b]0;x\x07",
    "\x9b1m",
    "\u202e",
    "\u200b",
    "\u2066",
    "\ufeff",
    "\x00",
    "\r",
    "\t",
    "\n",
    "```",
    "`",
]
TEXT = st.lists(st.text(max_size=4) | st.sampled_from(SNEAKY), max_size=8).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -l\n\tcat 'a b'", Shown("ls -l\n\tcat 'a b'")),
        ("rm\x1b[2K x", Shown(r"rm\x1b[2K x", 1)),
        ("ls #\u202e hsab", Shown(r"ls #\u202e hsab", 1)),
        ("a\u200bb\rc\x00", Shown(r"a\u200bb\rc\x00", 3)),
        ("a\u00a0b\U000e0041", Shown(r"a\xa0b\U000e0041", 2)),
        ("echo ```x``", Shown(r"echo \x60\x60\x60x``", 3)),
        ("\udce9", Shown(r"\udce9", 1)),
        ("größer 🙂 рm", Shown("größer 🙂 рm")),
        ("curl -H 'Authorization: Bearer abc123abc123abc123'", Shown("curl -H 'Authorization: Bearer ***'")),
        ("git clone ssh://git@example.org/x", Shown("git clone ssh://***@example.org/x")),
        ("git clone https://$(id;id)@example.org", Shown("git clone https://***@example.org", missing=8)),
        ("for f in basic reboot; do $f; done", Shown("for f in basic ***; do $f; done", missing=6)),
        ("sh basic /tmp/abcdef1234567890", Shown("sh basic ***", missing=21)),
    ],
)
def test_of_a_command_every_character_is_shown_or_counted(text: str, shown: Shown) -> None:
    assert exact(text) == shown


def test_a_folder_is_one_line() -> None:
    assert exact("/w\nAllowed.", lines=False) == Shown(r"/w\nAllowed.", 1)


def test_a_value_that_is_no_longer_than_a_word_is_hidden_and_counted() -> None:
    assert exact("echo hunter-two", secrets=["hunter-two"]) == Shown("echo ***", missing=10)
    assert plain("it is hunter-two", secrets=["hunter-two"]).text == "it is ***"


@given(text=TEXT)
@example(text="\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\")
def test_what_is_shown_has_only_what_can_be_seen(text: str) -> None:
    assert all(is_seen(each) or each in "\n\t" for each in exact(text).text)
    assert all(is_seen(each) for each in exact(text, lines=False).text)
    assert all(is_seen(each) for each in plain(text).text)


@given(text=TEXT)
def test_nothing_leaves_its_frame(text: str) -> None:
    assert block(exact(text).text).count("```") == 2
    framed = inline(plain(text).text)
    assert framed == "" or framed.count("`") == 2


@given(text=TEXT)
def test_a_command_can_be_told_from_every_other_one_by_what_is_shown(text: str) -> None:
    shown = exact(text)
    if not shown.written_out and not shown.missing and "***" not in shown.text:
        assert shown.text == text
    back = re.sub(
        r"\\(?:x(..)|u(....)|U(........)|([nrt]))",
        lambda found: {"n": "\n", "r": "\r", "t": "\t"}.get(found[4]) or chr(int(found[1] or found[2] or found[3], 16)),
        shown.text,
    )
    assert "***" in shown.text or "\\" in text or back == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  two\n\nlines \u2003 here ", "two lines here"),
        ("\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\", "red here"),
        ("\x1b]0;never ended", "0;never ended"),
        ("a\u200b\u202eb", "ab"),
        ("key sk-abcdefghijkl", "key ***"),
    ],
)
def test_of_words_what_cannot_be_seen_is_left_out(text: str, words: str) -> None:
    assert plain(text) == Shown(words)


def test_long_words_are_cut_and_what_is_missing_counted() -> None:
    assert plain("🙂" * 10, 7) == Shown("🙂🙂🙂 […]", missing=7)


@given(text=st.text(max_size=30), room=st.integers(-2, 40))
def test_a_cut_keeps_within_the_room_and_counts_the_rest(text: str, room: int) -> None:
    shown = cut(Shown(text), room)
    assert utf16_units(shown.text) <= max(room, 0)
    assert text.startswith(shown.text)
    assert shown.missing == len(text) - len(shown.text)


@pytest.mark.parametrize("unit", ["a", "\x9d", "\x1b]", "-eyJaaaaaaa", "g\u0456t "])
def test_a_text_of_any_size_is_shown_at_once_with_the_count_of_what_is_not(unit: str) -> None:
    """A file that is to be written may have millions of characters, and a tool server may say anything."""
    size = 1_000_000
    text = (unit * (size // len(unit) + 1))[:size]
    shown = cut(exact(text), 3_000)
    assert 0 < utf16_units(shown.text) <= 3_000
    assert shown.missing > size - LOOKED_AT
    assert plain(text, 40).missing > size - LOOKED_AT - 1
