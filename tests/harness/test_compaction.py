"""What a person is told of a summary that they asked for."""

import pytest

from harness.compaction import Compaction, Summary, compaction_of
from harness.turns import Outcome, TurnResult


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (
            TurnResult(Outcome.EMPTY, "", compacted=True),
            Compaction(Summary.DONE, "The conversation is summarised."),
        ),
        (
            TurnResult(Outcome.EMPTY, "", compacted=True, context_used=6802),
            Compaction(Summary.DONE, "The conversation is summarised. It holds about 6,802 tokens now.", tokens=6802),
        ),
        (
            TurnResult(Outcome.INTERRUPTED, "", compacted=True),
            Compaction(Summary.DONE, "The conversation is summarised."),
        ),
        (
            TurnResult(Outcome.LOST, "", error="It went away.", compacted=True),
            Compaction(Summary.DONE, "The conversation is summarised."),
        ),
        (
            TurnResult(Outcome.EMPTY, "", remark="Nothing was said yet."),
            Compaction(Summary.NOTHING, "There is nothing to summarise. Nothing was said yet."),
        ),
        (
            TurnResult(Outcome.INTERRUPTED, ""),
            Compaction(Summary.STOPPED, "The summary was stopped; the conversation is as it was."),
        ),
        (
            TurnResult(Outcome.FAILED, "", error="The limit is reached."),
            Compaction(Summary.FAILED, "The conversation could not be summarised. The limit is reached."),
        ),
        (
            TurnResult(Outcome.LOST, "", error="It went away."),
            Compaction(Summary.UNKNOWN, "Whether the conversation is summarised is not known. It went away."),
        ),
    ],
    ids=["done", "done and counted", "stopped too late", "lost after it", "nothing", "stopped", "failed", "lost"],
)
def test_every_end_has_a_sentence(result: TurnResult, told: Compaction) -> None:
    assert compaction_of(result) == told
