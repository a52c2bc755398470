import pytest

from harness.endings import ending
from harness.turns import Outcome, Silence, TurnResult


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (TurnResult(Outcome.ANSWERED, "Done."), ""),
        (TurnResult(Outcome.FAILED, "Half", error="The limit is reached."), "The limit is reached."),
        (TurnResult(Outcome.FAILED, ""), "The heartbeat failed."),
        (TurnResult(Outcome.INTERRUPTED, ""), "The heartbeat was stopped."),
        (TurnResult(Outcome.LOST, ""), "The backend stopped in the middle of the heartbeat."),
        (TurnResult(Outcome.EMPTY, ""), "No response was produced: the heartbeat ended without an answer."),
        (
            TurnResult(Outcome.EMPTY, "", silence=Silence.NOTHING),
            "No response was produced: the heartbeat ended without an answer.",
        ),
        (
            TurnResult(Outcome.EMPTY, "", silence=Silence.TOOLS),
            "No response was produced: the heartbeat did its work and ended without a word about it.",
        ),
    ],
)
def test_every_end_without_an_answer_has_one_sentence(result: TurnResult, sentence: str) -> None:
    assert ending(result, "heartbeat") == sentence


@pytest.mark.parametrize("silence", Silence)
def test_every_silence_has_a_sentence_of_its_own_kind(silence: Silence) -> None:
    said = ending(TurnResult(Outcome.EMPTY, "", silence=silence))
    assert said.startswith("No response was produced: the turn ")
    assert "{" not in said
    assert (said == ending(TurnResult(Outcome.EMPTY, ""))) is (silence is Silence.NOTHING)
