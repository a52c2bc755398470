"""What a start does about the messages that the process before it left open.

Pure:

    state    | what the harness finds         | advice
    ---------+--------------------------------+-------------------------------------------------------
    any      | (this process is at it)        | `Nothing`
    ADMITTED | (not asked)                    | `RunNow`; one that is too old, or not kept whole: `Notice`
    RUNNING  | its turn never began           | the same
    RUNNING  | its turn ended                 | `DeliverLate`; `Nothing` where the agent chose silence, or a
             |                                | person stopped it
    RUNNING  | its turn broke off             | `DeliverLate` with what exists of the answer, or `Notice`
    RUNNING  | its turn still runs, or the    | `Nothing`, for now
             | backend cannot be asked now    |
    RUNNING  | nobody knows                   | `Notice`
    RUNNING  | the same two days later        | `Notice`: nobody waits for it any longer
    ANSWERED | (not asked)                    | `DeliverLate` with the texts that are left, if any; `Nothing` once
             |                                | that is hopeless

A message that was being said into a turn, and that the turn does not have, is advised on alone, as if it waited.
Nothing that may have begun runs a second time.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Final, Protocol, TypeAlias, runtime_checkable

from harness.delivery.outbox import Abilities
from harness.lean_values import dataclass
from harness.replies.gate import Reply, Say, Silent, Way, decide
from harness.store.admitted import Ending, Inbound, OpenDelivery, Outbound, Sending, State
from harness.turns import TurnResult

STALE: Final = 24 * 3600.0
"""Seconds after which a message that nobody began with is not run any more: by then it means something else."""
LONGEST_TURN: Final = 48 * 3600.0
"""Seconds after which a turn that still runs is not looked for any more: the whole turn's default limit (spec 5)."""
MOST_ROUNDS: Final = 12
"""How often an answer is offered to a channel that does not take it, each time for about a minute."""
LEAST_TRIED: Final = 3600.0
"""Seconds for which it is offered at least, however often the gateway is started meanwhile."""
BROKE_OFF: Final = (
    "The gateway was restarted while it was at this; nobody can say how far it came, and it was not begun again."
)
"""What a chat is told of a turn that may have done something, and left no answer."""
TOO_OLD: Final = "The gateway was down when this came in; it is too old to be begun with now."
STILL_RUNS: Final = (
    "The gateway was restarted while it was at this, which runs still; nobody waits for its answer any longer."
)
"""What a chat is told of a turn that did not end on a backend that outlived the gateway."""
NOT_KEPT: Final = "The gateway was restarted before it began with this; please send it again."


class Fate(Enum):
    """What became of a turn that an earlier process began, where there is no result to tell."""

    NEVER_BEGAN = "never began"
    """The backend surely does not have it."""
    RUNNING = "running"
    """It is still on its way, on a backend that outlived the gateway."""
    UNKNOWN = "unknown"
    """It may have begun, and nobody will ever know more."""
    UNREACHABLE = "unreachable"
    """The backend cannot be asked now."""


Found: TypeAlias = TurnResult | Fate


@dataclass(frozen=True, slots=True)
class Looked:
    """What a backend knows of a turn."""

    found: Found
    lacking: frozenset[str] = frozenset()
    """The messages that were being said into it and that it surely does not have."""


@runtime_checkable
class Reconciler(Protocol):
    """A backend that looks up what became of turns that an earlier process began."""

    async def reconcile(
        self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
    ) -> Looked:
        """Say what became of a turn. Runs nothing, and raises nothing: what cannot be looked up is unreachable.

        Args:
            session_key: The conversation that it belongs to.
            message_key: See `TurnRequest.message_key`.
            conversation: The backend's id of the conversation; empty when it is not known.
            steered: Keys of messages that were being said into it.
        """
        ...


@dataclass(frozen=True, slots=True)
class DeliverLate:
    """Send these."""

    texts: tuple[Outbound, ...]
    """With the places and the channel's ids that they have already."""
    conversation: str = ""
    turn: str = ""
    rounds: int = 1
    """How often they were offered, this time included."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Say this one sentence: there is no answer, and it is not tried again."""

    sentence: str


@dataclass(frozen=True, slots=True)
class RunNow:
    """Take the messages in as if they came in now: nothing has begun with them."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is to be done."""

    reason: str
    """A few words for the operator."""
    ending: Ending | None = None
    """How it is settled; None for one that stays open."""


Plan: TypeAlias = Callable[[Inbound, TurnResult, int], Mapping[int, str] | Reply]
"""Of the message that was answered, the result, and how many places are taken by what was shown: what is to be sent, by
place; or silence, or a notice."""
Advice: TypeAlias = DeliverLate | Notice | RunNow | Nothing


_SAID: Final = Nothing("a tool of the turn sent the answer", Ending.SENT)
_SILENT: Final = Nothing("the agent chose to say nothing", Ending.SILENT)
_STOPPED: Final = Nothing("a person stopped it", Ending.STOPPED)


def must_ask(delivery: OpenDelivery) -> bool:
    """Whether the backend has to be asked what became of the turn."""
    return not delivery.ours and (delivery.state is State.RUNNING or bool(delivery.steered))


def parted(delivery: OpenDelivery, looked: Looked | None) -> list[OpenDelivery]:
    """The messages, and each that their turn does not have by itself, in the order in which they came in."""
    lacking = looked.lacking if looked is not None else frozenset[str]()
    rest = tuple(each for each in delivery.inbound if each.key not in lacking)
    alone = [
        OpenDelivery(state=State.ADMITTED, lead=each.key, inbound=(each,), ours=False)
        for each in delivery.inbound
        if each.key in lacking
    ]
    steered = tuple(key for key in delivery.steered if key not in lacking)
    return [replace(delivery, inbound=rest, steered=steered), *alone] if rest else alone


def is_hopeless(rounds: int, arrived_at: float, now: float) -> bool:
    """Whether an answer that was offered so often is not offered again.

    Args:
        rounds: See `OpenDelivery.rounds`.
        arrived_at: When its message came in, in Unix seconds.
        now: The time.
    """
    return rounds >= MOST_ROUNDS and now - arrived_at >= LEAST_TRIED


def as_it_is(lead: Inbound, result: TurnResult, taken: int) -> Mapping[int, str] | Reply:
    """The texts of an answer whatever their size, for who only looks; its files are checked by whoever sends them."""
    from harness.delivery.parcel import planned
    from harness.delivery.payload import topic_of

    reply = decide(result, way=Way(channel=lead.channel, chat=lead.chat, topic=topic_of(lead.payload)))
    return reply if isinstance(reply, Silent) or reply.notice else planned(reply, Abilities(), taken)


def advise(
    delivery: OpenDelivery, found: Found | None, *, now: float, stale: float = STALE, plan: Plan = as_it_is
) -> Advice:
    """Say what to do about messages that were left open.

    Args:
        delivery: The messages.
        found: What the backend says of their turn; None where it was not asked, see `must_ask`.
        now: Unix seconds.
        stale: See `STALE`.
        plan: Says what is to be sent of a result.
    """
    if delivery.ours:
        return Nothing("it is being worked on")
    match delivery.state:
        case State.ADMITTED:
            return _run(delivery, now - stale)
        case State.RUNNING:
            if found is Fate.RUNNING and now - delivery.inbound[-1].arrived_at >= LONGEST_TURN:
                return Notice(STILL_RUNS)
            return _by_turn(delivery, found, now - stale, plan)
        case State.ANSWERED:
            left = tuple(each for each in delivery.outbound if each.text and each.state is not Sending.SENT)
            if left:
                if is_hopeless(delivery.rounds, delivery.inbound[0].arrived_at, now):
                    return Nothing(f"its answer was offered {delivery.rounds} times", Ending.UNDELIVERABLE)
                return DeliverLate(left, rounds=delivery.rounds + 1)
            is_sent = any(each.state is Sending.SENT for each in delivery.outbound)
            return Nothing("everything was sent", Ending.SENT) if is_sent else Notice(BROKE_OFF)
        case State.SETTLED:
            return Nothing("it is settled")


def _run(delivery: OpenDelivery, oldest: float) -> Advice:
    if any(not each.payload for each in delivery.inbound):
        return Notice(NOT_KEPT)
    return Notice(TOO_OLD) if delivery.inbound[-1].arrived_at < oldest else RunNow()


def _by_turn(delivery: OpenDelivery, found: Found | None, oldest: float, plan: Plan) -> Advice:
    match found:
        case TurnResult() if not delivery.led:
            return Nothing("the turn that it was said into was answered", Ending.SENT)
        case TurnResult():
            lead = next((each for each in delivery.inbound if each.key == delivery.lead), delivery.inbound[0])
            reply = plan(lead, found, max((each.place + 1 for each in delivery.outbound), default=0))
            if isinstance(reply, Silent):
                return _SAID if reply.said else _SILENT if reply.chosen else _STOPPED
            return _late(delivery, reply, found)
        case Fate.NEVER_BEGAN:
            return _run(delivery, oldest)
        case Fate.RUNNING:
            return Nothing("its turn still runs")
        case Fate.UNREACHABLE if delivery.inbound[-1].arrived_at >= oldest:
            return Nothing("what became of its turn cannot be looked up now")
        case Fate.UNREACHABLE | Fate.UNKNOWN | None:
            return Notice(BROKE_OFF)


def _late(delivery: OpenDelivery, reply: Mapping[int, str] | Say, found: TurnResult) -> Advice:
    if isinstance(reply, Say):
        return Notice(reply.texts[0])
    shown = {each.place: each for each in delivery.outbound}
    texts = tuple(Outbound(delivery.lead, at, text, *_of(shown.get(at))) for at, text in reply.items())
    return DeliverLate(texts, found.conversation, found.turn)


def _of(shown: Outbound | None) -> tuple[Sending, str, int]:
    """How far a place got: a preview may stand there already."""
    return (Sending.PLANNED, "", 0) if shown is None else (shown.state, shown.sent_as, shown.repeats)
