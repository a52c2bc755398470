"""What came in, and how far it got on the way to an answer in the chat.

Pure values. Of each message:

    state    | since                                              | next
    ---------+----------------------------------------------------+-----------------------------------
    ADMITTED | it came in                                         | RUNNING, ANSWERED by a sentence of ours, or SETTLED
    RUNNING  | just before it is given to a harness, or steered   | ANSWERED, SETTLED, or ADMITTED again
    ANSWERED | the texts for the chat are kept, none may be lost  | SETTLED when the last one was sent
    SETTLED  | nothing is to be done any more; its words are gone | pruned, by count and age

Of each text that goes out: PLANNED, SENDING just before the channel is asked, SENT with the channel's id, or FAILED
when the channel refused it for so long that it waits for a later round, or for the next start.
"""

from enum import Enum

from harness.lean_values import dataclass


class State(Enum):
    """How far a message got."""

    ADMITTED = "admitted"
    RUNNING = "running"
    ANSWERED = "answered"
    SETTLED = "settled"


class Sending(Enum):
    """How far a text got."""

    PLANNED = "planned"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


class Ending(Enum):
    """Why nothing is to be done about a message any more."""

    SENT = "sent"
    """The chat has its answer, or the sentence that there is none."""
    SILENT = "silent"
    """The agent chose to say nothing."""
    STOPPED = "stopped"
    """A person stopped it."""
    DROPPED = "dropped"
    """A queue was full, and its policy let go of it."""
    UNDELIVERABLE = "undeliverable"
    """The channel will not take its answer, or nobody can say whether it did."""


class Admission(Enum):
    """What a message is to the ledger that comes in."""

    NEW = "new"
    """Run it. Also one that a process that is gone had taken in and given to nobody."""
    OPEN = "open"
    """It came twice, and somebody is at it, or the recovery of this start will be."""
    DONE = "done"
    """It came twice, and nothing is left to be done about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """A message as it came in."""

    key: str
    """An id that no other message has, the same when it comes twice, see `InboundMessage.key`."""
    session_key: str
    channel: str
    chat: str
    """The channel's own id of the chat."""
    message_id: str
    """The channel's own id of the message."""
    arrived_at: float
    """Unix seconds."""
    payload: str
    """What it takes to run it, private, kept until it is settled; empty for one that cannot be run from here."""


@dataclass(frozen=True, slots=True)
class Outbound:
    """A text on its way to a chat."""

    lead: str
    """The message that it answers; of several that one turn answers, the one that the turn is named after."""
    place: int
    """Which of its answer's texts it is, from 0."""
    text: str = ""
    """Empty for one that was sent, and for the preview of an answer that is not known yet."""
    state: Sending = Sending.PLANNED
    sent_as: str = ""
    """The channel's id of it; empty for one that is not known to have been sent."""
    repeats: int = 0
    """How often it was sent once more without anybody knowing whether it was there."""

    @property
    def key(self) -> str:
        """What the channel tells a repetition by."""
        return f"{self.lead}#{self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDelivery:
    """Messages that one turn answers, or a message that waits for one, about which something is left to be done."""

    state: State
    lead: str
    """The message that the turn is named after, see `TurnRequest.message_key`."""
    inbound: tuple[Inbound, ...]
    """In the order in which they came in."""
    ours: bool
    """Whether this process is at it."""
    led: bool = True
    """Whether the lead is among them; False: it is settled, and these were said into its turn."""
    steered: tuple[str, ...] = ()
    """Those of them of which it is not known whether the turn has them: they were being said into it."""
    conversation: str = ""
    """The backend's id of the conversation, as far as it is known."""
    turn: str = ""
    outbound: tuple[Outbound, ...] = ()
    """The texts, in their order."""
    rounds: int = 0
    """How often they were offered to the channel, each time until it took them or they were given up for then."""

    @property
    def session_key(self) -> str:
        """The conversation of the messages."""
        return self.inbound[0].session_key
