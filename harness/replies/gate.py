"""What becomes of a turn that is over: texts for its chat, silence, or one honest sentence.

Pure. Every way to a chat goes through here, whatever the harness, the trigger and the channel:

    outcome      | text                  | the chat gets
    -------------+-----------------------+---------------------------------------------------------------
    answered     | an answer             | the answer, without our tokens
    any          | silence (`told`)      | nothing: the agent chose so
    empty        |                       | one sentence: nothing was said
    interrupted  | by a person           | nothing: who stopped it knows; what was shown stays
    interrupted  | by a tool of its own  | as where it was answered, or empty
    interrupted  | otherwise             | as where it failed
    failed, lost | a part of an answer   | that part, and one sentence
    failed, lost | none, or half a token | one sentence

Answers that were whole before further words came into the turn are told before that, each by itself.
"""

from dataclasses import replace
from typing import Final, TypeAlias

from harness.endings import ending
from harness.heartbeat.ack import AckMode
from harness.lean_values import dataclass
from harness.replies.silence import may_become_silence, told
from harness.settings.heartbeat import ACK_MAX_CHARS
from harness.turns import EndedBy, Evidence, Outcome, Trigger, TurnResult

_UNSPOKEN: Final = frozenset({EndedBy.PERSON, EndedBy.GIVEN_WAY})
"""Who needs not be told of a stop."""
_NAMES: Final = {Trigger.CHAT: "turn", Trigger.HEARTBEAT: "heartbeat", Trigger.CRON: "scheduled run"}
_BROKEN: Final = frozenset({Outcome.FAILED, Outcome.LOST, Outcome.INTERRUPTED})
ACTED: Final = "What it did until then was not undone."
"""Follows the sentence of a turn that did something and said nothing."""


@dataclass(frozen=True, slots=True)
class Say:
    """The chat is told this, in this order, and nothing of it twice."""

    texts: tuple[str, ...]
    notice: bool = False
    """Whether it is a sentence of ours alone, in place of an answer."""
    rest_stays: bool = False
    """What was shown after these stays: a person stopped it there."""


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
    mode = AckMode.HEARTBEAT if trigger is Trigger.HEARTBEAT else AckMode.MESSAGE
    text = told(result.text, mode=mode, ack_max_chars=ack_max_chars)
    last = _last(result, text, trigger)
    if not result.earlier:
        return last
    before = tuple(said for each in result.earlier if (said := told(each)))
    match last:
        case Say(texts=texts, notice=notice):
            return Say((*before, *texts), notice=notice and not before)
        case Silent(chosen=chosen):
            return Say(before, rest_stays=not chosen) if before else last


def _last(result: TurnResult, text: str, trigger: Trigger) -> Reply:
    """What the chat is told after the answers that stood before, and what is told of the last one is `text`."""
    if result.text.strip() and not text.strip():
        return Silent()
    if result.outcome is Outcome.INTERRUPTED and result.ended_by in _UNSPOKEN:
        return Silent(chosen=False)
    if text and (result.outcome is Outcome.ANSWERED or _ended_itself(result)):
        return Say((text,))
    said = sentence(result, trigger)
    if not text or may_become_silence(text):
        return Say((said,), notice=True)
    return Say((f"{text.rstrip()}\n\n{said}",))


def sentence(result: TurnResult, trigger: Trigger = Trigger.CHAT) -> str:
    """What a person is told of a turn that ended without a whole answer; empty for one that has one."""
    blank = not result.text.strip()
    if blank and (result.outcome is Outcome.ANSWERED or _ended_itself(result)):
        result = replace(result, outcome=Outcome.EMPTY)
    said = ending(result, _NAMES[trigger])
    if blank and result.outcome in _BROKEN and acted(result.evidence):
        return f"{said} {ACTED}"
    return said


def _ended_itself(result: TurnResult) -> bool:
    """Whether a tool of its own ended the turn, as there was nothing left to do."""
    return result.outcome is Outcome.INTERRUPTED and result.ended_by is EndedBy.ITSELF


def acted(evidence: Evidence) -> bool:
    """Whether a turn may have changed something besides saying it."""
    from harness.heartbeat.quiet import HARMLESS_TOOLS, is_harmless  # few turns are asked

    if evidence.changes or evidence.others or evidence.children or not HARMLESS_TOOLS.issuperset(evidence.tools):
        return True
    return not all(map(is_harmless, evidence.commands))
