"""Where an answer goes, and how a turn may stay silent: what several sections must not say differently.

Pure.
"""

from harness.heartbeat.convention import Ack
from harness.heartbeat.wording import ack_convention
from harness.inbound import ChatKind
from harness.prompt.facts import TurnFacts
from harness.prompt.hygiene import capability_ids
from harness.prompt.tool_list import Tools
from harness.replies.mode import Delivery, possible_delivery
from harness.turns import Trigger


def channel_of(turn: TurnFacts) -> str:
    """The channel's name as it was given; empty for none."""
    return turn.chat.channel if turn.chat else turn.channel


def channel_id(turn: TurnFacts) -> str:
    """The channel's name in the form in which names are compared."""
    return channel_of(turn).strip().lower()


def tool_only(turn: TurnFacts, found: Tools) -> bool:
    """Whether nothing is seen but what the message tool sends.

    As it is decided for the gate that the answer goes through.
    """
    wanted = turn.chat.delivery if turn.chat else turn.delivery
    return possible_delivery(wanted, found.available, trigger_of(turn)) is Delivery.TOOL_ONLY


def trigger_of(turn: TurnFacts) -> Trigger:
    """What caused the turn, as far as its facts tell."""
    if turn.heartbeat is not None:
        return Trigger.HEARTBEAT
    return Trigger.CRON if turn.schedule.strip() else Trigger.CHAT


def is_direct(turn: TurnFacts) -> bool:
    """Whether the turn answers one person, who waits for it."""
    direct = turn.chat is not None and turn.chat.kind is ChatKind.DIRECT
    return direct and turn.heartbeat is None and is_for_people(turn)


def rich_text(turn: TurnFacts) -> bool:
    """Whether Telegram shows what is written here as rich text, tables among it."""
    return channel_id(turn) == "telegram" and "richtext" in capability_ids(turn.capabilities)


def general_silence(turn: TurnFacts, found: Tools) -> bool:
    """Whether the general rule of silent replies applies: only where nothing else states one (S42).

    A chat's own context does, a heartbeat has a convention of its own, where the message tool alone is seen, silence is
    to send nothing, and what a subagent or a scheduled job brings is awaited.
    """
    return (
        turn.silence
        and turn.chat is None
        and not tool_only(turn, found)
        and turn.heartbeat is None
        and is_for_people(turn)
    )


def is_for_people(turn: TurnFacts) -> bool:
    """Whether people talk with the agent: not with a subagent, nor with a scheduled job."""
    return turn.subagent is None and not turn.schedule.strip()


def group_silence(turn: TurnFacts, found: Tools) -> bool:
    """Whether this group's context names the silent token."""
    chat = turn.chat
    return (
        chat is not None
        and chat.kind is ChatKind.GROUP
        and chat.silence == "allow"
        and not tool_only(turn, found)
        and turn.heartbeat is None
        and is_for_people(turn)
    )


def acknowledgement(found: Tools, turn: TurnFacts) -> Ack | None:
    """How this heartbeat says that all is quiet: by the tool only where it is offered; None on other turns."""
    return ack_convention(found.available) if turn.heartbeat is Ack.TOOL else turn.heartbeat
