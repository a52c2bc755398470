"""What becomes of a turn that is over: texts for its chat, silence, or one honest sentence.

Pure. Every way to a chat goes through here, whatever the harness, the trigger and the channel:

    outcome      | text                  | the chat gets
    -------------+-----------------------+---------------------------------------------------------------
    answered     | an answer             | the answer, without our tokens, directives and thoughts
    any          | silence (`told`)      | nothing: the agent chose so; files that belong to the answer all the same
    empty        |                       | one sentence: nothing was said
    interrupted  | by a person           | nothing: who stopped it knows; what was shown stays
    interrupted  | by a tool of its own  | as where it was answered, or empty; nothing where the tool sent the answer
    interrupted  | otherwise             | as where it failed
    failed, lost | a part of an answer   | that part, and one sentence
    failed, lost | none, or half a token | one sentence

Answers that were whole before further words came into the turn are told before that, each by itself. What a tool
already put into the chat is not said there again, neither word for word nor nearly so; a turn that ends without a word
after that has answered.

Where the message tool alone speaks (`Delivery.TOOL_ONLY`), a turn that ended well is told by nothing else, also if it
sent nothing: the agent knows, and was free to keep silent. `Silent.why` then tells the operator. One that did not end
well is told of by its sentence, so that nobody waits.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from harness.delivery.outbox import Media
from harness.endings import ending
from harness.heartbeat.ack import AckMode
from harness.lean_values import dataclass
from harness.replies.directives import Directed, directed
from harness.replies.mode import Delivery
from harness.replies.repeats import is_repeated
from harness.replies.silence import may_become_silence, told
from harness.replies.thoughts import without_thoughts
from harness.settings.heartbeat import ACK_MAX_CHARS
from harness.tools import Sent
from harness.turns import EndedBy, Evidence, Outcome, Silence, Trigger, TurnResult

_UNSPOKEN: Final = frozenset({EndedBy.PERSON, EndedBy.GIVEN_WAY})
"""Who needs not be told of a stop."""
_NAMES: Final = {Trigger.CHAT: "turn", Trigger.HEARTBEAT: "heartbeat", Trigger.CRON: "scheduled run"}
_BROKEN: Final = frozenset({Outcome.FAILED, Outcome.LOST, Outcome.INTERRUPTED})
_ENDED_WELL: Final = frozenset({Outcome.ANSWERED, Outcome.EMPTY})
_SOUNDS: Final = (".aac", ".flac", ".m4a", ".mp3", ".oga", ".ogg", ".opus", ".wav")
_RAW: Final = re.compile(r"[{}]|Traceback|\breq_\w|\b[0-9a-f]{8}-[0-9a-f]{4}-|<[a-zA-Z!/][^<>]*>")
"""What is in no sentence for a person: JSON, markup, ids of requests (G7)."""
_PATH: Final = re.compile(r"(?<![\w:/.])~?/(?:[^\s/:;,'\"()<>]+/)+([^\s/:;,'\"()<>]*)")
"""A path on this machine, of which a chat is told the name alone (G7)."""
ACTED: Final = "What it did until then was not undone."
"""Follows the sentence of a turn that did something and said nothing."""


@dataclass(frozen=True, slots=True)
class Say:
    """The chat is told this, in this order, and nothing of it twice."""

    texts: tuple[str, ...]
    """May be empty where there are files."""
    notice: bool = False
    """Whether it is a sentence of ours alone, in place of an answer."""
    rest_stays: bool = False
    """What was shown after these stays: a person stopped it there."""
    media: tuple[Media, ...] = ()
    """What follows them, each once. Nobody has looked yet whether these may go out: see `harness.replies.media`."""
    answering: tuple[str, ...] = ()
    """By text, the channel's id of the message that it answers, empty for the one that the turn is about; all of them
    are about that one where this is empty."""
    gone: tuple[str, ...] = ()
    """Files that tools of the turn have put into the chat already, as they were named; none of `media` is sent again
    that turns out to be one of these."""


@dataclass(frozen=True, slots=True)
class Silent:
    """The chat is told nothing, and nothing is missing."""

    chosen: bool = True
    """Whether the agent chose that; what was shown of its answer is then taken back. False: somebody stopped it."""
    said: bool = False
    """A tool has put the answer into the chat."""
    why: str = ""
    """One sentence for the operator, where an answer is kept back that is no silence; else empty."""


Reply: TypeAlias = Say | Silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How what a turn says reaches its chat."""

    delivery: Delivery = Delivery.AUTOMATIC
    channel: str = ""
    chat: str = ""
    """The channel's own id of the chat."""
    topic: str = ""
    """The channel's own id of the topic in it; empty for none."""


def decide(
    result: TurnResult,
    trigger: Trigger = Trigger.CHAT,
    *,
    ack_max_chars: str | float | None = ACK_MAX_CHARS,
    way: Way = Way(),  # noqa: B008 - frozen
) -> Reply:
    """Say what a turn's chat is told.

    Args:
        result: How the turn ended.
        trigger: Why it ran.
        ack_max_chars: See `told`; for heartbeats alone.
        way: How it is told. Without a chat in it nothing is known of what tools sent there.
    """
    sent = sent_there(result, way)
    if way.delivery is Delivery.TOOL_ONLY and result.outcome in _ENDED_WELL:
        return _by_tool(result, sent)
    mode = AckMode.HEARTBEAT if trigger is Trigger.HEARTBEAT else AckMode.MESSAGE
    answer = directed(without_thoughts(result.text))
    text = told(answer.text, mode=mode, ack_max_chars=ack_max_chars)
    if any(each.final for each in sent) or is_repeated(text, sent):
        last: Reply = Silent(said=True)
    elif way.delivery is Delivery.TOOL_ONLY:
        last = _last(replace(result, text=""), Directed(""), "", trigger)
    else:
        last = _last(result, answer, text, trigger)
    return _after(result, answer, last, sent) if way.delivery is Delivery.AUTOMATIC else last


def _after(result: TurnResult, answer: Directed, last: Reply, sent: Sequence[Sent]) -> Reply:
    """The answers that stood before, the last one, and the files of all of them."""
    before = [each for each in map(_directed, result.earlier) if not is_repeated(each.text, sent)]
    stopped = isinstance(last, Silent) and not last.chosen
    media = media_of(before if stopped else [*before, answer], () if stopped else result.media, sent)
    texts = [each for each in before if each.text]
    gone = tuple(source for each in sent for source in each.media) if media else ()
    if isinstance(last, Silent):
        if not texts and not media:
            return last
        return _say([(each.text, each.reply_to) for each in texts], media, gone, rest_stays=not last.chosen)
    if last.notice and (media or sent) and result.outcome in _ENDED_WELL:
        # The files are the answer, or what the turn sent by itself is.
        said = [(each.text, each.reply_to) for each in texts]
        return _say(said, media, gone) if said or media else Silent(said=True)
    said = [*((each.text, each.reply_to) for each in texts), *((text, answer.reply_to) for text in last.texts)]
    return _say(said, media, gone, notice=last.notice and not texts and not media)


def _say(
    said: Sequence[tuple[str, str]],
    media: tuple[Media, ...],
    gone: tuple[str, ...],
    *,
    notice: bool = False,
    rest_stays: bool = False,
) -> Say:
    answering = tuple(to for _, to in said)
    texts = tuple(text for text, _ in said)
    return Say(texts, notice, rest_stays, media, answering if any(answering) else (), gone)


def _directed(answer: str) -> Directed:
    found = directed(without_thoughts(answer))
    return replace(found, text=told(found.text))


def media_of(answers: Sequence[Directed], made: Sequence[str], sent: Sequence[Sent]) -> tuple[Media, ...]:
    """The files of answers, and what tools made for them; without what tools sent by themselves."""
    gone = {source for each in sent for source in each.media}
    voiced = {named: each.voice and is_sound(named) for each in answers for named in each.media}
    rest = {named: any(each.voice for each in answers[-1:]) and is_sound(named) for named in made}
    return tuple(Media(source=named, voice=voice) for named, voice in {**rest, **voiced}.items() if named not in gone)


def is_sound(named: str) -> bool:
    """Whether the name of a file is that of a sound."""
    return named.partition("?")[0].lower().endswith(_SOUNDS)


def sent_there(result: TurnResult, way: Way) -> list[Sent]:
    """What tools of the turn put into its own chat."""
    if not way.chat:
        return []
    there = [each for each in result.evidence.sent if (each.channel, each.chat) == (way.channel, way.chat)]
    return [each for each in there if each.topic in (None, way.topic)]


def _by_tool(result: TurnResult, sent: Sequence[Sent]) -> Silent:
    """What becomes of an answer where the message tool alone speaks."""
    if sent or not told(result.text).strip():
        return Silent(said=bool(sent))
    return Silent(
        why="An answer was not sent: in this chat the message tool alone speaks, and the turn did not use it."
    )


def _last(result: TurnResult, answer: Directed, text: str, trigger: Trigger) -> Reply:
    """What the chat is told after the answers that stood before, and what is told of the last one is `text`."""
    if not text.strip():
        text = ""  # of spaces alone no message can be made
        if answer.text.strip():
            return Silent()
    if result.outcome is Outcome.INTERRUPTED and result.ended_by in _UNSPOKEN:
        return Silent(chosen=False)
    if not text and _ended_itself(result) and any(each.final for each in result.evidence.sent):
        return Silent()
    if text and (result.outcome is Outcome.ANSWERED or _ended_itself(result)):
        return Say((text,))
    said = _PATH.sub(r"\1", sentence(result, trigger))
    if not text or may_become_silence(text):
        return Say((said,), notice=True)
    return Say((f"{text.rstrip()}\n\n{said}",))


def sentence(result: TurnResult, trigger: Trigger = Trigger.CHAT) -> str:
    """What a person is told of a turn that ended without a whole answer; empty for one that has one."""
    blank = not directed(without_thoughts(result.text)).text.strip()
    if blank and (result.outcome is Outcome.ANSWERED or _ended_itself(result)):
        thought = Silence.REASONING if result.text.strip() and not without_thoughts(result.text).strip() else None
        result = replace(result, outcome=Outcome.EMPTY, silence=thought or result.silence)
    said = ending(replace(result, error="") if _RAW.search(result.error) else result, _NAMES[trigger])
    if blank and result.outcome in _BROKEN and acted(result.evidence):
        return f"{said} {ACTED}"
    return said


def ended_well(result: TurnResult) -> bool:
    """Whether a turn came to its own end, with an answer or without one, or a tool ended it that sent the answer."""
    return result.outcome in _ENDED_WELL or (_ended_itself(result) and any(each.final for each in result.evidence.sent))


def _ended_itself(result: TurnResult) -> bool:
    """Whether a tool of its own ended the turn, as there was nothing left to do."""
    return result.outcome is Outcome.INTERRUPTED and result.ended_by is EndedBy.ITSELF


def acted(evidence: Evidence) -> bool:
    """Whether a turn may have changed something besides saying it."""
    from harness.heartbeat.quiet import HARMLESS_TOOLS, is_harmless  # few turns are asked

    if evidence.changes or evidence.others or evidence.children or not HARMLESS_TOOLS.issuperset(evidence.tools):
        return True
    return not all(map(is_harmless, evidence.commands))
