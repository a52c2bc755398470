"""What becomes of a turn that is over: texts for its chat, silence, or one honest sentence.

Pure. Every way to a chat goes through here, whatever the harness, the trigger and the channel:

    outcome      | text                  | the chat gets
    -------------+-----------------------+---------------------------------------------------------------
    answered     | an answer             | the answer, without our tokens
    any          | silence (`told`)      | nothing: the agent chose so
    empty        |                       | one sentence: nothing was said
    interrupted  |                       | nothing: whoever stopped it knows; what was shown stays
    failed, lost | a part of an answer   | that part, and one sentence
    failed, lost | none, or half a token | one sentence

Before all that it gets the answers that were whole before more was said into the turn, each as a text of its own.
"""

from dataclasses import replace
from typing import Final, TypeAlias

from harness.endings import ending
from harness.heartbeat.ack import AckMode
from harness.lean_values import dataclass
from harness.replies.silence import may_become_silence, told
from harness.settings.heartbeat import ACK_MAX_CHARS
from harness.turns import Evidence, Outcome, Trigger, TurnResult

_NAMES: Final = {Trigger.CHAT: "turn", Trigger.HEARTBEAT: "heartbeat", Trigger.CRON: "scheduled run"}
ACTED: Final = "What it did until then was not undone."
"""Follows the sentence of a turn that did something and said nothing."""


@dataclass(frozen=True, slots=True)
class Say:
    """The chat is told this, in this order, and nothing of it twice."""

    texts: tuple[str, ...]
    notice: bool = False
    """Whether it is a sentence of ours alone, in place of an answer."""


@dataclass(frozen=True, slots=True)
class Silent:
    """The chat is told nothing, and nothing is missing."""

    chosen: bool = True
    """Whether the agent chose that; what was shown of its answer is then taken back. False: somebody stopped it."""


Reply: TypeAlias = Say | Silent


def decide(
    result: TurnResult, trigger: Trigger = Trigger.CHAT, *, ack_max_chars: str | float | None = ACK_MAX_CHARS
) -> Reply:
    """Say what a turn's chat is told.

    Args:
        result: How the turn ended.
        trigger: Why it ran.
        ack_max_chars: See `told`; for heartbeats alone.
    """
    reply = _decide(result, trigger, ack_max_chars)
    earlier = tuple(text for each in result.earlier if (text := told(each)).strip())
    if not earlier:
        return reply
    return Say((*earlier, *reply.texts)) if isinstance(reply, Say) else Say(earlier)


def _decide(result: TurnResult, trigger: Trigger, ack_max_chars: str | float | None) -> Reply:
    mode = AckMode.HEARTBEAT if trigger is Trigger.HEARTBEAT else AckMode.MESSAGE
    text = told(result.text, mode=mode, ack_max_chars=ack_max_chars)
    if result.text.strip() and not text.strip():
        return Silent()
    if result.outcome is Outcome.ANSWERED:
        return Say((text,)) if text else Say((sentence(result, trigger),), notice=True)
    if result.outcome is Outcome.INTERRUPTED:
        return Silent(chosen=False)
    if not text or may_become_silence(text):
        return Say((sentence(result, trigger),), notice=True)
    return Say((f"{text.rstrip()}\n\n{sentence(result, trigger)}",))


def sentence(result: TurnResult, trigger: Trigger = Trigger.CHAT) -> str:
    """What a person is told of a turn that ended without a whole answer; empty for one that has one."""
    blank = not result.text.strip()
    if blank and result.outcome is Outcome.ANSWERED:
        result = replace(result, outcome=Outcome.EMPTY)
    said = ending(result, _NAMES[trigger])
    if blank and result.outcome in (Outcome.FAILED, Outcome.LOST) and acted(result.evidence):
        return f"{said} {ACTED}"
    return said


def acted(evidence: Evidence) -> bool:
    """Whether a turn may have changed something besides saying it."""
    from harness.heartbeat.quiet import HARMLESS_TOOLS, is_harmless  # few turns are asked

    if evidence.changes or evidence.others or evidence.children or not HARMLESS_TOOLS.issuperset(evidence.tools):
        return True
    return not all(map(is_harmless, evidence.commands))
