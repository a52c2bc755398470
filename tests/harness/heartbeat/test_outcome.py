from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from harness.heartbeat import (
    DeliveryFacts,
    HeartbeatAnswer,
    Outcome,
    SkipReason,
    Status,
    TextAnswer,
    Verdict,
    Visibility,
    settle,
)
from harness.heartbeat.outcome import ALL_QUIET

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
FACTS = DeliveryFacts(now=NOW, has_target=True)
ALERT = "Greenhouse is 41 C, vents are stuck."
QUIET = Verdict(Status.QUIET, acknowledged=True)


def by_tool(*, notify: bool, text: str = "") -> HeartbeatAnswer:
    return HeartbeatAnswer(Outcome.NEEDS_ATTENTION, notify, "Looked around.", text)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (TextAnswer("HEARTBEAT_OK"), QUIET),
        (TextAnswer("All fine. HEARTBEAT_OK"), QUIET),
        (TextAnswer(ALERT), Verdict(Status.ALERT, ALERT)),
        (TextAnswer(f"HEARTBEAT_OK\n\n{ALERT}"), QUIET),
        (TextAnswer("NO_REPLY"), QUIET),
        (TextAnswer(" no_Reply\n"), QUIET),
        (TextAnswer("NO_REPLY is what I would say."), Verdict(Status.ALERT, "is what I would say.")),
        (by_tool(notify=True, text="NO_REPLY"), QUIET),
        (by_tool(notify=False), QUIET),
        (by_tool(notify=True, text="HEARTBEAT_OK"), QUIET),
        (by_tool(notify=True, text=ALERT), Verdict(Status.ALERT, ALERT)),
        (by_tool(notify=True), Verdict(Status.ALERT, "Looked around.")),
        (by_tool(notify=True, text="Hot!"), Verdict(Status.ALERT, "Hot!")),
        (TextAnswer(""), Verdict(Status.FAILED, failures=("The heartbeat ended without an answer.",))),
    ],
)
def test_an_answer_is_told_kept_quiet_or_missed(answer: TextAnswer | HeartbeatAnswer, expected: Verdict) -> None:
    assert settle(answer, FACTS) == expected


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (replace(FACTS, has_target=False), SkipReason.NO_TARGET),
        (replace(FACTS, direct_allowed=False), SkipReason.NO_TARGET),
        (replace(FACTS, visibility=Visibility(show_alerts=False)), SkipReason.ALERTS_DISABLED),
        (replace(FACTS, last_text=ALERT, last_sent_at=NOW - timedelta(hours=23)), SkipReason.DUPLICATE),
        (replace(FACTS, last_text=ALERT, last_sent_at=NOW - timedelta(hours=24)), None),
        (replace(FACTS, last_text=ALERT, last_sent_at=NOW + timedelta(hours=1)), None),
        (replace(FACTS, last_text="Other.", last_sent_at=NOW), None),
        (replace(FACTS, direct=False, direct_allowed=False), None),
    ],
)
def test_an_alert_is_held_for_a_reason_or_sent(facts: DeliveryFacts, reason: SkipReason | None) -> None:
    sent = Verdict(Status.ALERT, ALERT)
    assert settle(TextAnswer(ALERT), facts) == (
        sent if reason is None else Verdict(Status.HELD, skip=reason, withheld=ALERT)
    )


def test_a_channel_that_shows_quiet_heartbeats_gets_a_plain_sentence() -> None:
    facts = replace(FACTS, visibility=Visibility(show_ok=True))
    assert settle(TextAnswer("HEARTBEAT_OK"), facts) == Verdict(Status.QUIET, ALL_QUIET, acknowledged=True)
    assert settle(TextAnswer("HEARTBEAT_OK"), replace(facts, has_target=False)) == QUIET


def test_reasoning_is_sent_only_when_it_is_wanted() -> None:
    answer = TextAnswer(ALERT, reasoning="41 is over 35.")
    assert settle(answer, FACTS).reasoning == ""
    assert settle(answer, replace(FACTS, include_reasoning=True)).reasoning == "41 is over 35."


def test_a_failed_send_makes_the_heartbeat_a_failed_one_whatever_the_answer_says() -> None:
    facts = replace(FACTS, failures=("The message to Ada was refused.",))
    assert settle(TextAnswer("HEARTBEAT_OK"), facts) == Verdict(Status.FAILED, failures=facts.failures)
    assert settle(TextAnswer(ALERT), facts) == Verdict(Status.FAILED, ALERT, failures=facts.failures)
    assert settle(TextAnswer(ALERT), replace(facts, has_target=False)) == Verdict(
        Status.FAILED, skip=SkipReason.NO_TARGET, failures=facts.failures, withheld=ALERT
    )


def test_the_acknowledgement_limit_is_the_configured_one() -> None:
    facts = replace(FACTS, ack_max_chars=30)
    assert settle(TextAnswer(f"HEARTBEAT_OK\n\n{ALERT}"), facts) == Verdict(Status.ALERT, ALERT)
