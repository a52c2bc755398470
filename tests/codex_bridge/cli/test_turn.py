"""What `codex-bridge turn` puts into the outbox."""

from datetime import UTC, datetime

import pytest

from codex_bridge.cli.turn import as_data
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.turns import Outcome, TurnResult

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
        ("Half an ans", Outcome.FAILED, []),
    ],
)
def test_what_an_agent_keeps_to_itself_is_not_sent(text: str, outcome: Outcome, told: list[str]) -> None:
    """T05."""
    outbox = as_data(MESSAGE, TurnResult(outcome, text))["outbox"]
    assert outbox == [{"channel": "telegram", "chat": "-5", "replyTo": "9", "text": text} for text in told]
