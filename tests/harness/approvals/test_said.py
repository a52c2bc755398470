"""A message answers an ask by its sender's own words, or by a button, and in no other way."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.approvals.answers import Understood, chosen, understood
from harness.approvals.cards import Body
from harness.approvals.handles import digest_of_ask, digest_of_handle, held_by, new_handle
from harness.approvals.pending import Shape, answer_of, packed_answer, shape_of
from harness.approvals.policy import is_allowed, ruled
from harness.approvals.said import EDITED, UNKNOWN, USAGE, Said, said_by
from harness.asks import Answer, ApprovalAsked, ApprovalKind, Ask, Choice, Question, QuestionAsked, Verdict
from harness.settings.approvals import ApprovalSettings, Asking
from tests.support.desk import message

HANDLE = "abcdefghijklmnopqrstuvwxy2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"/approve {HANDLE}", Said(HANDLE)),
        (f"/APPROVE@bot  {HANDLE.upper()}\n always", Said(HANDLE, Verdict.ALLOW_ALWAYS)),
        (f"/deny {HANDLE} Stop", Said(HANDLE, Verdict.CANCEL)),
        (f"/answer {HANDLE} 1: red\n2: large", Said(HANDLE, words="1: red\n2: large")),
        (f"/answer {HANDLE}", Said(HANDLE, problem=USAGE)),
        (f"/approve {HANDLE} yes", Said(HANDLE, problem=USAGE)),
        (f"/approve {HANDLE}x", Said(problem=USAGE)),
        ("/deny", Said(problem=USAGE)),
        ("/denying", None),
        (f"approve {HANDLE}", None),
        (f"do /approve {HANDLE}", None),
        ("", None),
    ],
)
def test_a_command_is_a_message_that_begins_with_it(text: str, said: Said | None) -> None:
    assert said_by(replace(message(1), text=text)) == said
    if said is not None:
        assert said_by(replace(message(1), text=text, edited=True)) == Said(problem=EDITED)


@pytest.mark.parametrize(
    ("pressed", "said"),
    [
        (f"ask:{HANDLE}:once", Said(HANDLE)),
        (f"ask:{HANDLE}:always", Said(HANDLE, Verdict.ALLOW_ALWAYS)),
        (f"ask:{HANDLE}:no", Said(HANDLE, Verdict.DECLINE)),
        (f"ask:{HANDLE}:12", Said(HANDLE, choice=12)),
        (f"ask:{HANDLE}:0", Said(problem=UNKNOWN)),
        (f"ask:{HANDLE}:٣", Said(problem=UNKNOWN)),
        (f"ask:{HANDLE}:once ", Said(problem=UNKNOWN)),
        ("ask:", Said(problem=UNKNOWN)),
        (f"/approve {HANDLE}", None),
        ("menu:2", None),
    ],
)
def test_a_button_is_ours_or_none(pressed: str, said: Said | None) -> None:
    assert said_by(replace(message(1), text="", pressed=pressed)) == said


COLOUR = Question("colour", "Which colour: red or blue?", "Paint", (Choice("Red"), Choice("2")), in_words=False)
SIZE = Question("size", "How large?")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1", "Red"),
        (" red ", "Red"),
        ("2", "2"),
        ("3", None),
        ("0", None),
        ("²", None),
        ("green", None),
        ("", None),
    ],
)
def test_a_choice_is_made_by_number_or_label(text: str, words: str | None) -> None:
    found = understood([COLOUR], text)
    wanted = Understood({}, "Please give a number from 1 to 2.") if words is None else Understood({"colour": (words,)})
    assert found == wanted


def test_where_other_words_are_taken_they_are() -> None:
    assert understood([replace(COLOUR, in_words=True)], "green: dark") == Understood({"colour": ("green: dark",)})
    assert understood([SIZE], "  ") == Understood({}, "Please give an answer.")


@pytest.mark.parametrize(
    "text",
    [
        "1: red\n2: 4 by 5",
        "2 = 4 by 5\n\n1. 1",
        "PAINT - red\nsize: 4 by 5",
        "Which colour: red or blue?: red\nHow large? = 4 by 5",
        "red\n4 by 5",
        "1) red\n2) 4 by 5\nand more",
    ],
)
def test_several_questions_are_answered_line_by_line(text: str) -> None:
    assert understood([COLOUR, SIZE], text) == Understood({"colour": ("Red",), "size": ("4 by 5",)})


def test_what_is_missing_is_named_and_nothing_of_the_answer_repeated() -> None:
    problem = "Please give an answer for question 2, in a line of its own such as 2: …."
    assert understood([COLOUR, SIZE], "1: red") == Understood({}, problem)


def test_a_pressed_choice_that_is_none_is_told() -> None:
    assert chosen(COLOUR, 2) == Understood({"colour": ("2",)})
    assert chosen(COLOUR, 3) == Understood({}, "Please give a number from 1 to 2.")


@given(text=st.text(), count=st.integers(1, 3))
def test_any_words_are_understood_or_told_of(text: str, count: int) -> None:
    found = understood([COLOUR, SIZE, SIZE][:count], text)
    assert bool(found.words) != bool(found.problem)


# handles


def test_a_handle_has_all_the_randomness_and_is_kept_as_a_digest() -> None:
    first, second = new_handle(lambda size: bytes(size)), new_handle(lambda size: bytes([1] * size))
    assert (len(first), first) == (26, "a" * 26)
    assert first != second
    held = {digest_of_handle(first): 1, digest_of_handle(second): 2}
    assert [held_by(held, digest_of_handle(each)) for each in (second.upper(), first, "x")] == [2, 1, None]
    assert first not in "".join(held)


COMMAND = ApprovalAsked("1", "i9", ApprovalKind.COMMAND, "rm x", "why", "/w", script="rm x")
ASK = Ask(identity="i", session_key="s", message_key="m", thread="t", what=COMMAND)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASK, identity="j"),
        replace(ASK, session_key="u"),
        replace(ASK, thread="u"),
        replace(ASK, what=replace(COMMAND, text="rm y")),
        replace(ASK, what=replace(COMMAND, script="rm y")),
        replace(ASK, what=replace(COMMAND, cwd="/")),
        replace(ASK, what=replace(COMMAND, agent="child")),
        replace(ASK, what=replace(COMMAND, kind=ApprovalKind.FILES)),
        replace(ASK, what=QuestionAsked("1", "i9", (), "rm x")),
        replace(ASK, what=QuestionAsked("1", "i9", (COLOUR,), "rm x")),
    ],
)
def test_an_answer_is_bound_to_all_that_was_asked(other: Ask) -> None:
    assert digest_of_ask(other) != digest_of_ask(ASK)
    assert digest_of_ask(replace(ASK, what=replace(COMMAND, reason="another", ask="2"))) == digest_of_ask(ASK)


# what is kept


def test_what_is_kept_of_an_ask_reads_back() -> None:
    shape = Shape(Body("text", frozenset({Verdict.ALLOW, Verdict.DECLINE}), is_question=True), (COLOUR, SIZE))
    assert shape_of(shape.packed()) == shape
    answer = Answer(Verdict.ALLOW, {"colour": ("Red",)}, "why")
    assert answer_of(packed_answer(answer)) == answer


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"text": 1}', '["allow"]', '["yes", {}, ""]', "[" * 100_000])
def test_what_is_damaged_is_none(text: str) -> None:
    assert (shape_of(text), answer_of(text)) == (None, None)


# rules


@pytest.mark.parametrize(
    ("script", "allowed"),
    [
        ("git status", True),
        ("git status -s 'a b'", True),
        ("git 'status'", True),
        ("git", False),
        ("git stat", False),
        ("git statusx", False),
        ("git log", False),
        ("git status; rm x", False),
        ("git status $(rm x)", False),
        ("GIT=x git status", False),
        ("git status > x", False),
        ("/tmp/git status", False),
        ("", False),
    ],
)
def test_a_rule_matches_whole_words_of_a_simple_command(script: str, allowed: bool) -> None:
    what = replace(COMMAND, script=script)
    assert is_allowed(what, [("git", "status"), ()]) == allowed
    assert not is_allowed(replace(what, kind=ApprovalKind.PERMISSIONS), [("git", "status")])


@pytest.mark.parametrize(
    ("asking", "script", "verdict"),
    [
        (Asking.ON_MISS, "ls", Verdict.ALLOW),
        (Asking.ON_MISS, "rm x", None),
        (Asking.NEVER, "ls", Verdict.ALLOW),
        (Asking.NEVER, "rm x", Verdict.DECLINE),
        (Asking.ALWAYS, "ls", None),
    ],
)
def test_what_no_rule_allows_is_asked_or_declined(asking: Asking, script: str, verdict: Verdict | None) -> None:
    settings = ApprovalSettings(asking=asking, allowed=(("ls",),))
    answer = ruled(replace(COMMAND, script=script), settings)
    assert (answer and answer.verdict) == verdict
    assert ruled(QuestionAsked("1", "", (COLOUR,)), settings) is None


@pytest.mark.parametrize(
    ("owners", "channel", "sender", "is_owner", "anybody"),
    [
        (("7",), "telegram", "7", True, True),
        (("telegram:7",), "telegram", "7", True, True),
        (("telegram:7",), "discord", "7", False, False),
        (("7",), "telegram", "77", False, True),
        (("@orrin:example.org",), "matrix", "@orrin:example.org", True, True),
        (("*",), "telegram", "7", False, True),
        (("", "7"), "telegram", "", False, True),
        ((), "telegram", "7", False, False),
    ],
)
def test_an_owner_is_known_by_id(
    owners: tuple[str, ...], channel: str, sender: str, is_owner: bool, anybody: bool
) -> None:
    settings = ApprovalSettings(owners=owners)
    assert (settings.is_owner(channel, sender), settings.anybody(channel)) == (is_owner, anybody)
