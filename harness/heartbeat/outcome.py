"""What the owner hears of a finished heartbeat.

Pure. Takes the turn's answer, by tool or by text, and decides between an alert, a sign of life, silence and an
honest failure. The sending is done elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import assert_never

from harness.heartbeat.ack import AckMode
from harness.heartbeat.response import HeartbeatAnswer
from harness.heartbeat.skips import SkipReason
from harness.replies.silence import told
from harness.settings.heartbeat import ACK_MAX_CHARS, Visibility

DUPLICATE_WINDOW = timedelta(hours=24)
"""The same text is not sent again for this long (prompt-builder 10.8)."""
ALL_QUIET = "Heartbeat: nothing needs attention."
"""What a channel with `showOk` shows for a quiet heartbeat."""


class Status(Enum):
    """How a heartbeat ended."""

    ALERT = "alert"
    QUIET = "quiet"
    HELD = "held"
    """There was something to tell, and `skip` says why nobody is told."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """The turn's final text; empty when there was none."""

    text: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFacts:
    """What decides about telling somebody."""

    now: datetime
    has_target: bool
    """The configured target leads to a chat."""
    direct: bool = True
    """That chat is a direct one."""
    direct_allowed: bool = True
    """Alerts may go to a direct chat."""
    visibility: Visibility = field(default_factory=Visibility)
    ack_max_chars: str | float | None = ACK_MAX_CHARS
    include_reasoning: bool = False
    last_text: str = ""
    """The alert that was sent last, and when."""
    last_sent_at: datetime | None = None
    failures: tuple[str, ...] = ()
    """A sentence for each thing that the turn tried and that failed, such as a refused send."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a heartbeat's answer."""

    status: Status
    text: str = ""
    """What to send; empty when nothing is sent."""
    reasoning: str = ""
    """What to send before it, as a message of its own."""
    skip: SkipReason | None = None
    failures: tuple[str, ...] = ()
    acknowledged: bool = False
    """The agent itself said, by token or tool, that there is nothing to tell."""
    withheld: str = ""
    """What would have been sent, but for `skip`."""


def settle(answer: TextAnswer | HeartbeatAnswer, facts: DeliveryFacts) -> Verdict:
    """Decide what the owner hears.

    A failure during the turn makes the whole heartbeat a failed one, whatever the model said afterwards; a text
    that tells of it is still sent.
    """
    text, reasoning, acknowledged = _told(answer, facts)
    if not text:
        return _quiet(facts, acknowledged=acknowledged)
    status = Status.FAILED if facts.failures else Status.ALERT
    skip = next((reason for reason, applies in _HOLDS if applies(text, facts)), None)
    if skip is not None:
        held = Status.FAILED if facts.failures else Status.HELD
        return Verdict(held, skip=skip, failures=facts.failures, withheld=text)
    return Verdict(status, text, reasoning if facts.include_reasoning else "", failures=facts.failures)


_HOLDS: tuple[tuple[SkipReason, Callable[[str, DeliveryFacts], bool]], ...] = (
    (SkipReason.NO_TARGET, lambda _, facts: not _reachable(facts)),
    (SkipReason.ALERTS_DISABLED, lambda _, facts: not facts.visibility.show_alerts),
    (SkipReason.DUPLICATE, lambda text, facts: _sent_lately(text, facts)),
)


def _told(answer: TextAnswer | HeartbeatAnswer, facts: DeliveryFacts) -> tuple[str, str, bool]:
    match answer:
        case HeartbeatAnswer(notify=False):
            return "", "", True
        case HeartbeatAnswer():
            # The tool's own word counts, however short; only a stray token is taken off.
            text = told(answer.message).strip()
            return text, "", not text
        case TextAnswer(text, reasoning):
            text = told(answer.text, mode=AckMode.HEARTBEAT, ack_max_chars=facts.ack_max_chars).strip()
            return text, reasoning.strip(), not text and bool(answer.text.strip())
        case _:
            assert_never(answer)


def _quiet(facts: DeliveryFacts, *, acknowledged: bool) -> Verdict:
    if facts.failures:
        return Verdict(Status.FAILED, failures=facts.failures)
    if not acknowledged:
        return Verdict(Status.FAILED, failures=("The heartbeat ended without an answer.",))
    shown = ALL_QUIET if facts.visibility.show_ok and _reachable(facts) else ""
    return Verdict(Status.QUIET, shown, acknowledged=True)


def _reachable(facts: DeliveryFacts) -> bool:
    return facts.has_target and not (facts.direct and not facts.direct_allowed)


def _sent_lately(text: str, facts: DeliveryFacts) -> bool:
    if facts.last_sent_at is None or text.strip() != facts.last_text.strip():
        return False
    return timedelta(0) <= facts.now - facts.last_sent_at < DUPLICATE_WINDOW
