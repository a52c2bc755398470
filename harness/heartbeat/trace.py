"""Whether a heartbeat leaves a trace in its conversation: none, when it had nothing to tell and changed nothing."""

import logging
from dataclasses import dataclass

from harness.heartbeat.ack import AckMode, strip_heartbeat_token
from harness.heartbeat.quiet import evidence_of, judge_quiet
from harness.heartbeat.response import HeartbeatResponder
from harness.turns import TurnResult

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trace:
    """Judges one heartbeat when it has ended; a backend asks it whether the turn may be taken back."""

    responder: HeartbeatResponder | None
    """Holds the answer that was given by tool; None for an agent without tools."""
    ack_max_chars: int

    def __call__(self, result: TurnResult, removed: int, returning: int) -> bool:
        """Say whether the turn may be taken back, which would free so many units and have so many said anew."""
        evidence = evidence_of(
            result, acknowledged=self._quiet(result.text), removed_units=removed, returning_units=returning
        )
        verdict = judge_quiet(evidence)
        logger.info("heartbeat %s: %s", result.turn, verdict.reason)
        return verdict.take_back

    def _quiet(self, text: str) -> bool:
        answer = self.responder.answer if self.responder else None
        if answer is not None:
            return not answer.notify
        stripped = strip_heartbeat_token(text, mode=AckMode.HEARTBEAT, ack_max_chars=self.ack_max_chars)
        return stripped.stripped and not stripped.text
