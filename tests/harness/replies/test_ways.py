"""What reaches a chat beside what tools put there, where the message tool alone speaks, and with files."""

from dataclasses import replace

import pytest

from harness.delivery.outbox import Media
from harness.replies.gate import Reply, Say, Silent, Way, decide
from harness.replies.mode import Delivery
from harness.replies.repeats import is_repeated
from harness.tools import Sent
from harness.turns import EndedBy, Evidence, Outcome, Silence, Trigger, TurnResult

ANSWER = "The vents on the north side are stuck, so I opened the door."
TOOL_ONLY = Way(delivery=Delivery.TOOL_ONLY, channel="telegram", chat="77")
HERE = Way(channel="telegram", chat="77")
KEPT_BACK = "An answer was not sent: in this chat the message tool alone speaks, and the turn did not use it."
SORRY = "The model is overloaded; try again later."


def sent(text: str, *, chat: str = "77", final: bool = False, media: tuple[str, ...] = ()) -> Evidence:
    return Evidence(
        tools=("message",), sent=(Sent(channel="telegram", chat=chat, text=text, final=final, media=media),)
    )


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (TurnResult(Outcome.ANSWERED, ANSWER, evidence=sent(ANSWER)), Silent(said=True)),
        (TurnResult(Outcome.ANSWERED, ANSWER), Silent(why=KEPT_BACK)),
        (TurnResult(Outcome.ANSWERED, ANSWER, evidence=sent(ANSWER, chat="78")), Silent(why=KEPT_BACK)),
        (TurnResult(Outcome.ANSWERED, "NO_REPLY"), Silent()),
        (TurnResult(Outcome.EMPTY, ""), Silent()),
        (TurnResult(Outcome.ANSWERED, "Two.", earlier=("One.",)), Silent(why=KEPT_BACK)),
        (TurnResult(Outcome.FAILED, "The ve", SORRY, earlier=("One.",)), Say((SORRY,), notice=True)),
        (TurnResult(Outcome.INTERRUPTED, "The ve", ended_by=EndedBy.PERSON), Silent(chosen=False)),
    ],
)
def test_where_the_message_tool_alone_speaks_an_answer_is_not_delivered(result: TurnResult, expected: Reply) -> None:
    """G1."""
    assert decide(result, way=TOOL_ONLY) == expected


@pytest.mark.parametrize(
    ("final", "expected"),
    [
        (ANSWER, Silent(said=True)),
        (f"**{ANSWER}**\n", Silent(said=True)),
        ("The vents on the north side were stuck, so I opened the door.", Silent(said=True)),
        ("The vents on the north side are stuck", Silent(said=True)),
        (f"{ANSWER} It is 36 C now, and the fan runs.", Say((f"{ANSWER} It is 36 C now, and the fan runs.",))),
        ("Done.", Say(("Done.",))),
        ("", Silent(said=True)),
    ],
)
def test_what_a_tool_put_into_the_chat_is_not_said_there_again(final: str, expected: Reply) -> None:
    """G2."""
    outcome = Outcome.ANSWERED if final else Outcome.EMPTY
    assert decide(TurnResult(outcome, final, evidence=sent(ANSWER)), way=HERE) == expected


def test_what_a_tool_put_into_another_chat_is_said_here() -> None:
    result = TurnResult(Outcome.ANSWERED, ANSWER, evidence=sent(ANSWER, chat="78"))
    assert decide(result, way=HERE) == Say((ANSWER,))
    assert decide(replace(result, evidence=sent(ANSWER))) == Say((ANSWER,))


@pytest.mark.parametrize(
    ("topic", "expected"), [("5", Say((ANSWER,))), ("3", Silent(said=True)), (None, Silent(said=True))]
)
def test_what_a_tool_put_into_another_topic_of_the_chat_is_said_here(topic: str | None, expected: Reply) -> None:
    there = Evidence(sent=(Sent(channel="telegram", chat="77", topic=topic, text=ANSWER),))
    result = TurnResult(Outcome.ANSWERED, ANSWER, evidence=there)
    assert decide(result, way=replace(HERE, topic="3")) == expected


def test_nothing_follows_what_a_tool_sent_as_the_answer_of_the_turn() -> None:
    """G8."""
    result = TurnResult(Outcome.ANSWERED, "I have sent it.", evidence=sent("Here it is.", final=True))
    assert decide(result, way=HERE) == Silent(said=True)
    going_on = TurnResult(Outcome.ANSWERED, "It is 36 C.", evidence=sent("I will look."))
    assert decide(going_on, way=HERE) == Say(("It is 36 C.",))


@pytest.mark.parametrize(
    ("text", "before", "repeated"),
    [
        ("It is 36 C in there now, and it was 41 C.", "It is 37 C in there now, and it was 41 C.", False),
        ("Yes.", "yes", True),
        ("Yes.", "Yes, the vents.", False),
        ("…", "...", False),
        ("", ANSWER, False),
        ("x" * 5000, "x" * 4999 + "y", True),
        ("x" * 5000, "y" + "x" * 4998 + "y", False),
    ],
)
def test_only_the_same_is_a_repetition(text: str, before: str, repeated: bool) -> None:
    assert is_repeated(text, [Sent(channel="telegram", chat="77", text=before)]) is repeated


PICTURE = Media(source="a.png")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (TurnResult(Outcome.ANSWERED, "Here.\nMEDIA:a.png"), Say(("Here.",), media=(PICTURE,))),
        (TurnResult(Outcome.ANSWERED, "NO_REPLY\nMEDIA:a.png"), Say((), media=(PICTURE,))),
        (TurnResult(Outcome.ANSWERED, "NO_REPLY", media=("a.png",)), Say((), media=(PICTURE,))),
        (TurnResult(Outcome.EMPTY, "", media=("a.png",)), Say((), media=(PICTURE,))),
        (TurnResult(Outcome.ANSWERED, "MEDIA:a.png", media=("a.png",)), Say((), media=(PICTURE,))),
        (
            TurnResult(Outcome.ANSWERED, "[[audio_as_voice]]\nMEDIA:a.png\nMEDIA:b.OGG"),
            Say((), media=(PICTURE, Media(source="b.OGG", voice=True))),
        ),
        (
            TurnResult(Outcome.ANSWERED, "Two.\nMEDIA:a.png", earlier=("One.\nMEDIA:b.png",)),
            Say(("One.", "Two."), media=(Media(source="b.png"), PICTURE)),
        ),
        (TurnResult(Outcome.FAILED, "", SORRY, media=("a.png",)), Say((SORRY,), media=(PICTURE,))),
        (TurnResult(Outcome.INTERRUPTED, "x\nMEDIA:a.png", ended_by=EndedBy.PERSON), Silent(chosen=False)),
        (TurnResult(Outcome.ANSWERED, "MEDIA:a.png", evidence=sent("", media=("a.png",))), Silent(said=True)),
        (TurnResult(Outcome.ANSWERED, "[[reply_to:4]] Yes."), Say(("Yes.",), answering=("4",))),
        (
            TurnResult(Outcome.ANSWERED, "[[reply_to:4]] Yes.", earlier=("No.",)),
            Say(("No.", "Yes."), answering=("", "4")),
        ),
        (TurnResult(Outcome.ANSWERED, "[[reply_to_current]]NO_REPLY"), Silent()),
    ],
)
def test_files_and_directives_of_an_answer_are_told_apart_from_its_text(result: TurnResult, expected: Reply) -> None:
    """T05 row 11."""
    assert decide(result, way=HERE) == expected


@pytest.mark.parametrize("trigger", Trigger)
def test_an_answer_of_thoughts_alone_is_told_as_one(trigger: Trigger) -> None:
    """G5."""
    reply = decide(TurnResult(Outcome.ANSWERED, "<think>It is late.</think>"), trigger)
    assert isinstance(reply, Say)
    assert reply.texts[0].endswith("ended with thoughts alone.")
    assert decide(TurnResult(Outcome.ANSWERED, "<think>Late.</think>Two."), trigger) == Say(("Two.",))


@pytest.mark.parametrize(
    "error",
    [
        '{"error": {"code": 500}}',
        "unexpected status 500: req_a1b2c3",
        "Traceback (most recent call last)",
        "<html><body>Bad gateway</body></html>",
        "request 5f1c0b9e-07aa-4c33-9a51-08a3c0a1d2e4 failed",
    ],
)
def test_no_raw_error_reaches_a_chat(error: str) -> None:
    """G7."""
    assert decide(TurnResult(Outcome.FAILED, "", error)) == Say(("The turn failed.",), notice=True)
    assert decide(TurnResult(Outcome.EMPTY, "", silence=Silence.TOOLS)) == Say(
        ("No response was produced: the turn did its work and ended without a word about it.",), notice=True
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("The store /srv/kim/state/bridge.sqlite cannot be used.", "The store bridge.sqlite cannot be used."),
        ("There is no Codex home at ~/.codex/homes/desk; sign in.", "There is no Codex home at desk; sign in."),
        ("Look at https://example.com/a/b and say /stop or and/or.",) * 2,
    ],
)
def test_no_path_of_this_machine_reaches_a_chat(error: str, told: str) -> None:
    """G7."""
    assert decide(TurnResult(Outcome.FAILED, "", error)) == Say((told,), notice=True)
