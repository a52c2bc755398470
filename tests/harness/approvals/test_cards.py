"""A card says what is asked and nothing that it was told to say, within what its channel takes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.approvals.cards import asking, body_of, decided, ended, span
from harness.asks import ApprovalAsked, ApprovalKind, Choice, Question, QuestionAsked, Verdict
from harness.units import utf16_units

HANDLE = "a" * 26
COMMAND = ApprovalAsked("1", "i9", ApprovalKind.COMMAND, "rm -r build")
LEAVE = frozenset({Verdict.ALLOW, Verdict.ALLOW_ALWAYS, Verdict.DECLINE, Verdict.CANCEL})
ONLY_NO = frozenset({Verdict.DECLINE})
TEXT = st.text(max_size=12) | st.sampled_from(
    ["x" * 5_000, "🙂" * 3_000, "```", "`", "\n" * 50, "\u202e", "https://a@b"]
)


@pytest.mark.parametrize(
    ("what", "text", "offers"),
    [
        (COMMAND, "May I run this command?\n```\nrm -r build\n```", LEAVE),
        (
            replace(COMMAND, always=False),
            "May I run this command?\n```\nrm -r build\n```",
            LEAVE - {Verdict.ALLOW_ALWAYS},
        ),
        (
            replace(COMMAND, text=f"ls{' ' * 40}; rm a"),
            f"May I run this command?\n```\nls{' ' * 40}; rm a\n```\nThere are long gaps in it: read it to its end.",
            LEAVE,
        ),
        (
            replace(COMMAND, text="g\u0456t push"),
            "May I run this command?\n```\ng\u0456t push\n```\nSome of its letters may look like others.",
            LEAVE,
        ),
        (
            replace(COMMAND, text="echo größer мир"),
            "May I run this command?\n```\necho größer мир\n```",
            LEAVE,
        ),
        (
            replace(COMMAND, cwd="/" + "w" * 200),
            f"May I run this command?\n```\nrm -r build\n```\nFolder: `/{'w' * 199}`\nOne character not shown.\n"
            "What is not shown whole can only be declined.",
            ONLY_NO,
        ),
        (
            replace(COMMAND, kind=ApprovalKind.FILES, text="update a.md\nadd b.md", agent="child"),
            "May I change these files?\nA helper of mine asks for it.\n```\nupdate a.md\nadd b.md\n```",
            LEAVE,
        ),
        (
            replace(COMMAND, kind=ApprovalKind.PERMISSIONS, text="write /srv", reason="`Allowed`\nby you"),
            "May I have these permissions from now on?\n```\nwrite /srv\n```\n"
            "Why, in the agent's own words, which nobody checked: `'Allowed' by you`",
            LEAVE,
        ),
        (
            replace(COMMAND, text=" \n"),
            "May I run this command?\nIt is not said what.\nWhat is not shown whole can only be declined.",
            ONLY_NO,
        ),
        (
            replace(COMMAND, text="ls\x1b[2K", cwd="/w\u202e"),
            "May I run this command?\n```\nls\\x1b[2K\n```\nFolder: `/w\\u202e`\n"
            "2 characters are written out, as \\x1b or \\u202e for instance.",
            LEAVE,
        ),
    ],
)  # fmt: skip
def test_an_approval_is_shown_whole_or_can_only_be_declined(
    what: ApprovalAsked, text: str, offers: frozenset[Verdict]
) -> None:
    body = body_of(what, 4_096)
    assert (body.text, body.offers) == (text, offers)


def test_a_long_command_is_shown_as_far_as_its_channel_takes_it() -> None:
    what = replace(COMMAND, text="x" * 2_000)
    assert body_of(what, 4_096).offers == LEAVE
    assert body_of(what, 2_000).offers == ONLY_NO
    assert "\n1100 characters not shown.\n" in body_of(what, 2_000).text


COLOUR = Question("q1", "Which colour?", "Paint", (Choice("red", "as before"), Choice("blue")))
SIZE = Question("q2", "How large?", in_words=True)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (
            QuestionAsked("1", "", (COLOUR,)),
            "I have a question:\n`Paint` `Which colour?`\n   1) `red` `as before`\n   2) `blue`\n   or other words",
        ),
        (
            QuestionAsked("1", "", (COLOUR, SIZE), "Two things.", "crm", agent="child"),
            "A helper of mine has a question.\nThe tool server `crm` asks:\n`Two things.`\n1. `Paint` `Which colour?`\n"
            "   1) `red` `as before`\n   2) `blue`\n   or other words\n2. `How large?`",
        ),
        (
            QuestionAsked("1", "", (), "Sign in, please.", "crm", "https://crm.example/x?y=1"),
            "The tool server `crm` asks:\n`Sign in, please.`\nIt wants you to go to `https://crm.example/x?y=1`",
        ),
    ],
)
def test_a_question_is_shown_with_its_choices(what: QuestionAsked, text: str) -> None:
    body = body_of(what, 4_096)
    assert (body.text, body.offers) == (text, frozenset({Verdict.ALLOW, Verdict.DECLINE}))


@pytest.mark.parametrize(
    ("questions", "how", "labels"),
    [
        ((), f"a button, or /approve {HANDLE}, or /deny {HANDLE}.", ["Yes", "Decline"]),
        (
            (COLOUR,),
            "press a button, or answer this message with a number or words, or say "
            f"/answer {HANDLE} and the answer, or /deny {HANDLE}.",
            ["red", "blue", "Decline"],
        ),
        ((SIZE,), f"answer this message, or say /answer {HANDLE} and the answer, or /deny {HANDLE}.", ["Decline"]),
        (
            (COLOUR, SIZE),
            "answer this message with one line for each, such as 1: yes, or say "
            f"/answer {HANDLE} and the answer, or /deny {HANDLE}.",
            ["Decline"],
        ),
    ],
)
def test_a_question_says_how_it_is_answered(questions: tuple[Question, ...], how: str, labels: list[str]) -> None:
    body = body_of(QuestionAsked("1", "", questions, "Well?"), 4_096)
    card = asking(body, HANDLE, questions, 90)
    assert card.text == f"{body.text}\nWithin 90 seconds: {how}"
    assert [each.label for row in card.buttons for each in row] == labels


@given(
    what=st.builds(ApprovalAsked, TEXT, TEXT, st.sampled_from(ApprovalKind), TEXT, TEXT, TEXT, TEXT)
    | st.builds(
        QuestionAsked,
        TEXT,
        TEXT,
        st.lists(
            st.builds(
                Question,
                TEXT,
                TEXT,
                TEXT,
                st.lists(st.builds(Choice, TEXT, TEXT), max_size=12).map(tuple),
                st.booleans(),
            ),
            max_size=4,
        ).map(tuple),
        TEXT,
        TEXT,
        TEXT,
    ),
    most=st.sampled_from([4_096, 2_000, 1_100]),
    name=TEXT,
)
def test_a_card_fits_its_channel_before_and_after_the_answer(
    what: ApprovalAsked | QuestionAsked, most: int, name: str
) -> None:
    body = body_of(what, most)
    questions = what.questions if isinstance(what, QuestionAsked) else ()
    card = asking(body, HANDLE, questions, 600)
    assert utf16_units(card.text) <= most
    assert card.text.count("```") in (0, 2)
    for button in (each for row in card.buttons for each in row):
        assert 0 < utf16_units(button.label) <= 60
        assert len(button.data.encode()) <= 64
    told = decided(Verdict.ALLOW, name, is_question=body.is_question)
    assert utf16_units(ended(body.text, told)) <= most
    assert Verdict.DECLINE in body.offers
    if "not shown" in card.text:
        assert body.offers == ONLY_NO
        assert [each.label for row in card.buttons for each in row] == ["Decline"]


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 seconds"), (90, "90 seconds"), (600, "10 minutes")])
def test_a_time_is_said_in_words(seconds: float, words: str) -> None:
    assert span(seconds) == words
