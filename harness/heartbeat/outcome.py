"""What the owner hears of a finished heartbeat.

Pure. Takes the turn's answer, by tool or by text, and decides between an alert, a sign of life, silence and an
honest failure. The sending is done elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import assert_never

from harness.delivery.outbox import Media
from harness.heartbeat.ack import AckMode
from harness.heartbeat.response import HeartbeatAnswer
from harness.heartbeat.skips import SkipReason
from harness.replies.directives import directed
from harness.replies.gate import Say, media_of
from harness.replies.repeats import is_repeated
from harness.replies.silence import told
from harness.replies.thoughts import without_thoughts
from harness.settings.heartbeat import ACK_MAX_CHARS, Visibility
from harness.tools import Sent

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
    sent: tuple[Sent, ...] = ()
    """What tools of the turn put into that chat."""
    made: tuple[str, ...] = ()
    """Files that they made for the answer."""


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
    media: tuple[Media, ...] = ()
    """Files that go along, or would. Nobody has looked yet whether they may."""
    gone: tuple[str, ...] = ()
    """See `Say.gone`."""
    reply_to: str = ""
    """The channel's id of the message that it answers; empty for none."""

    @property
    def say(self) -> Say:
        """What the chat is told, which may be nothing."""
        texts = (*((self.reasoning,) if self.reasoning else ()), *((self.text,) if self.text else ()))
        answering = (*("" for _ in texts[:-1]), self.reply_to) if self.reply_to and texts else ()
        return Say(texts, media=self.media, answering=answering, gone=self.gone) if self.skip is None else Say(())


@dataclass(frozen=True, slots=True)
class _Said:
    """What an answer says, for the owner."""

    text: str
    reasoning: str = ""
    acknowledged: bool = False
    media: tuple[Media, ...] = ()
    reply_to: str = ""


def settle(answer: TextAnswer | HeartbeatAnswer, facts: DeliveryFacts) -> Verdict:
    """Decide what the owner hears.

    A failure during the turn makes the whole heartbeat a failed one, whatever the model said afterwards; a text
    that tells of it is still sent. What a tool has told the chat is not told again, and files that belong to the answer
    go out also where nothing is said.
    """
    said = _said(answer, facts)
    status = Status.FAILED if facts.failures else Status.ALERT
    held = Status.FAILED if facts.failures else Status.HELD
    if any(each.final for each in facts.sent) or is_repeated(said.text, facts.sent) or _tool_spoke(said, facts):
        if not said.media:
            return Verdict(held, skip=SkipReason.SENT, failures=facts.failures, withheld=said.text)
        said = replace(said, text="", reasoning="")
    if not said.text and not said.media:
        return _quiet(facts, acknowledged=said.acknowledged)
    gone = tuple(source for each in facts.sent for source in each.media) if said.media else ()
    skip = next((reason for reason, applies in _HOLDS if applies(said, facts)), None)
    return Verdict(
        status if skip is None else held,
        said.text if skip is None else "",
        said.reasoning if skip is None and facts.include_reasoning else "",
        skip,
        facts.failures,
        withheld="" if skip is None else said.text,
        media=said.media,
        gone=gone,
        reply_to=said.reply_to,
    )


def _tool_spoke(said: _Said, facts: DeliveryFacts) -> bool:
    """Whether a turn that ended without a word has told the chat something before."""
    return bool(facts.sent) and not said.text and not said.acknowledged


_HOLDS: tuple[tuple[SkipReason, Callable[[_Said, DeliveryFacts], bool]], ...] = (
    (SkipReason.NO_TARGET, lambda _, facts: not _reachable(facts)),
    (SkipReason.ALERTS_DISABLED, lambda _, facts: not facts.visibility.show_alerts),
    (SkipReason.DUPLICATE, lambda said, facts: not said.media and _sent_lately(said.text, facts)),
)


def _said(answer: TextAnswer | HeartbeatAnswer, facts: DeliveryFacts) -> _Said:
    match answer:
        case HeartbeatAnswer(notify=False):
            return _Said("", acknowledged=True)
        case HeartbeatAnswer():
            # The tool's own word counts, however short; only a stray token is taken off.
            found = directed(answer.message)
            text = told(found.text).strip()
            reasoning, acknowledged = "", not text
        case TextAnswer(text, reasoning):
            found = directed(without_thoughts(text))
            acknowledged = bool(text.strip())
            text = told(found.text, mode=AckMode.HEARTBEAT, ack_max_chars=facts.ack_max_chars).strip()
            reasoning, acknowledged = reasoning.strip(), acknowledged and not text
        case _:
            assert_never(answer)
    return _Said(text, reasoning, acknowledged, media_of([found], facts.made, facts.sent), found.reply_to)


def _quiet(facts: DeliveryFacts, *, acknowledged: bool) -> Verdict:
    if facts.failures:
        return Verdict(Status.FAILED, failures=facts.failures)
    if not acknowledged:
        return Verdict(Status.FAILED, failures=("The heartbeat ended without an answer.",))
    shown = ALL_QUIET if facts.visibility.show_ok and _reachable(facts) and not facts.sent else ""
    return Verdict(Status.QUIET, shown, acknowledged=True)


def _reachable(facts: DeliveryFacts) -> bool:
    return facts.has_target and not (facts.direct and not facts.direct_allowed)


def _sent_lately(text: str, facts: DeliveryFacts) -> bool:
    if facts.last_sent_at is None or text.strip() != facts.last_text.strip():
        return False
    return timedelta(0) <= facts.now - facts.last_sent_at < DUPLICATE_WINDOW
