"""Streaming never shows half a token (T06), and ends at what the gate decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.replies.gate import Say, decide
from harness.replies.preview import Preview
from harness.replies.silence import NO_REPLY, showable, told
from harness.turns import (
    CommandOutput,
    Commentary,
    Joined,
    Outcome,
    Reasoning,
    TextDelta,
    TextRetracted,
    TurnEvent,
    TurnResult,
)

HEARTBEAT_OK = "HEARTBEAT_OK"


def shown(*events: TurnEvent) -> list[str]:
    """What a person sees over time."""
    preview, texts = Preview(), list[str]()
    for event in events:
        preview.see(event)
        if preview.text and texts[-1:] != [preview.text]:
            texts.append(preview.text)
    return texts


def final(text: str) -> list[str]:
    reply = decide(TurnResult(Outcome.ANSWERED, text))
    return list(reply.texts) if isinstance(reply, Say) else []


@pytest.mark.parametrize(
    ("deltas", "before", "at_the_end"),
    [
        (["N", "O", "_REP", "LY"], [], []),
        (["NO"], [], ["NO"]),
        (["No", ", thanks"], ["No, thanks"], ["No, thanks"]),
        (["NOT", " yet"], ["NOT", "NOT yet"], ["NOT yet"]),
        (["HEART", "BEAT_OK"], [], []),
        (["Heart rate", " is 61"], ["Heart rate", "Heart rate is 61"], ["Heart rate is 61"]),
    ],
)
def test_half_a_token_is_never_shown(deltas: list[str], before: list[str], at_the_end: list[str]) -> None:
    """T06."""
    assert shown(*(TextDelta("answer", delta) for delta in deltas)) == before
    assert final("".join(deltas)) == at_the_end


def test_what_the_agent_says_about_its_work_is_not_shown() -> None:
    """T06, its last line."""
    assert shown(Commentary("note", "Need"), Commentary("note", " verify"), Reasoning("r", "41 is over 35.")) == []


def test_a_message_that_turns_out_to_be_commentary_is_not_shown_any_more() -> None:
    preview = Preview()
    for event in (
        TextDelta("a", "Two o'clock."),
        TextDelta("b", "Need"),
        Commentary("b", " verify"),
        TextDelta("b", "!"),
    ):
        preview.see(event)
    assert preview.text == "Two o'clock."


def test_the_last_message_takes_the_place_of_those_before() -> None:
    """T08 h."""
    assert shown(
        TextDelta("a", "Looking"), TextDelta("a", " it up."), CommandOutput("c", "x"), TextDelta("b", "and B")
    ) == [
        "Looking",
        "Looking it up.",
        "and B",
    ]


def test_a_message_that_is_taken_back_brings_the_one_before_again() -> None:
    assert shown(TextDelta("a", "Half"), TextDelta("b", "Broken"), TextRetracted("b"), TextDelta("c", "Whole")) == [
        "Half",
        "Broken",
        "Half",
        "Whole",
    ]


def test_an_answer_stands_when_further_words_come_in_after_it() -> None:
    preview = Preview()
    for event in (TextDelta("a", "One."), Joined("k", answered="One. NO_REPLY"), TextDelta("b", "NO_RE")):
        preview.see(event)
    assert (preview.texts, preview.text) == (["One."], "")
    assert not preview.see(Joined("k"))
    preview.see(TextDelta("b", "AD"))
    assert preview.texts == ["One.", "NO_READ"]


def test_only_what_changes_the_text_is_news() -> None:
    preview = Preview()
    events = (
        CommandOutput("c", "x"),
        TextDelta("a", "x"),
        TextRetracted("b"),
        TextRetracted("a"),
        Commentary("n", "y"),
    )
    assert [preview.see(event) for event in events] == [False, True, False, True, False]


@pytest.mark.parametrize(
    ("said", "visible"),
    [
        ("", ""),
        (" \n", ""),
        ("NO_REPLY NO", ""),
        ('{"action": "NO_', ""),
        ('{"action": "GO', '{"action": "GO'),
        ("<think>Nobody asked", ""),
        ("<thi", ""),
        ("<think>Nobody asked.</think>\nNO_R", ""),
        ("<b>HEARTB", ""),
        ("Done.\n\nNO_R", "Done."),
        ("Done.\n\n**no_rep", "Done."),
        ("Done. NO_R", "Done."),
        ("Done. **HEARTBEAT_O", "Done."),
        ("Done. NO_REPLY", "Done."),
        ("NO_REPLY is what I would", "is what I would"),
        ("The plan: N", "The plan:"),
        ("The plan: NEW", "The plan: NEW"),
        ("PIANO", "PIANO"),
        ("Not addressed to me.\n\nNO_REPLY\n", "Not addressed to me."),
    ],
)
def test_what_may_still_become_a_token_is_held_back(said: str, visible: str) -> None:
    assert showable(said) == visible


TEXTS = st.text(alphabet=st.sampled_from('NOTno_REPLYHEARTBEAT_OK .,*`\n<{"ai'), max_size=40)


@given(TEXTS, st.sampled_from([NO_REPLY, HEARTBEAT_OK]), TEXTS, st.data())
def test_no_cut_through_a_token_shows_a_part_of_it(before: str, token: str, after: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(token) - 1))
    if before[-1:].isalnum() or before[-1:] in ("_", "-"):
        before += " "
    visible = showable(before + token[:size])
    assert not visible.endswith(token[:size]) or before.rstrip().endswith(visible)
    del after


@given(st.lists(st.text(alphabet=st.sampled_from("NO_REPLYHEARTBEAT_OKnox .\n*"), min_size=1, max_size=6), max_size=12))
def test_an_answer_that_is_silence_as_a_whole_shows_nothing_on_its_way(pieces: list[str]) -> None:
    text = "".join(pieces)
    if text.strip() and not told(text) and len(text.strip().splitlines()) == 1:
        assert shown(*(TextDelta("a", piece) for piece in pieces)) == []


@given(st.text(max_size=60), st.data())
def test_what_is_shown_is_what_the_gate_would_say_of_a_part(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    visible = showable(text[:cut])
    assert visible == told(visible).rstrip() or not visible
    assert all(token not in visible or token in text[:cut] for token in (NO_REPLY, HEARTBEAT_OK))
