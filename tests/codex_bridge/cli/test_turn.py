"""What `codex-bridge turn` puts into the outbox."""

from datetime import UTC, datetime

import pytest

from codex_bridge.cli.turn import SILENT, as_data, show
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.turns import EndedBy, Finished, Outcome, TextDelta, TextRetracted, TurnEvent, TurnResult
from tests.support.delivery import Played

MESSAGE = InboundMessage(
    "telegram", Chat(ChatKind.GROUP, "-5"), Sender("7", "Orrin"), "9", "hi", datetime(2031, 5, 6, tzinfo=UTC)
)


@pytest.mark.parametrize(
    ("text", "outcome", "told"),
    [
        ("Two o'clock.", Outcome.ANSWERED, ["Two o'clock."]),
        ("NO_REPLY", Outcome.ANSWERED, []),
        ("Nobody asked me.\n\nNO_REPLY", Outcome.ANSWERED, []),
        ("Done. NO_REPLY", Outcome.ANSWERED, ["Done."]),
        ("Half an ans", Outcome.FAILED, ["Half an ans\n\nThe turn failed."]),
        ("Half an ans", Outcome.INTERRUPTED, []),
        ("", Outcome.EMPTY, ["No response was produced: the turn ended without an answer."]),
    ],
)
def test_what_an_agent_keeps_to_itself_is_not_sent(text: str, outcome: Outcome, told: list[str]) -> None:
    """T05."""
    outbox = as_data(MESSAGE, TurnResult(outcome, text, ended_by=EndedBy.PERSON))["outbox"]
    assert outbox == [{"channel": "telegram", "chat": "-5", "replyTo": "9", "text": text} for text in told]


ONCE_MORE = "[the stream broke off; once more]"


@pytest.mark.parametrize(
    ("events", "text", "printed", "aside"),
    [
        ([TextDelta("a", "Two o"), TextDelta("a", "'clock.")], "Two o'clock.", "Two o'clock.\n", ""),
        ([TextDelta("a", "NO_"), TextDelta("a", "REPLY")], "NO_REPLY", "", f"{SILENT}\n"),
        (
            [TextDelta("a", "Half"), TextRetracted("a"), TextDelta("b", "Whole.")],
            "Whole.",
            f"Half\n{ONCE_MORE}\nWhole.\n",
            "",
        ),
        ([TextDelta("a", "One."), TextDelta("b", "Two.")], "Two.", "One.\nTwo.\n", ""),
        ([], "Two.", "Two.\n", ""),
    ],
)
async def test_a_person_at_a_terminal_sees_the_answer_as_it_comes(
    events: list[TurnEvent], text: str, printed: str, aside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """T06: never half a token."""
    await show(Played(*events, Finished(TurnResult(Outcome.ANSWERED, text))))
    assert capsys.readouterr() == (printed, aside)


async def test_what_exists_of_an_answer_is_printed_and_half_a_token_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    await show(Played(Finished(TurnResult(Outcome.FAILED, "Two fi"))))
    await show(Played(Finished(TurnResult(Outcome.LOST, "NO_RE"))))
    assert capsys.readouterr() == ("Two fi\n", "")
