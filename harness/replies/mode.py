"""How what an agent says on a turn reaches its chat: by itself, or by the message tool alone.

Pure, and the one place where that is decided: the prompt says it and the gate before every outbox does it.
"""

from collections.abc import Container
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from harness.inbound import ChatKind
from harness.turns import Trigger

if TYPE_CHECKING:
    from harness.settings.agent import ReplySettings

MESSAGE_TOOL: Final = "message"
"""The tool that sends where the answer does not go by itself."""


class Delivery(StrEnum):
    """How an answer reaches the chat."""

    AUTOMATIC = "automatic"
    """The final answer is delivered."""
    TOOL_ONLY = "message_tool_only"
    """Only what the message tool sends is seen."""


def wanted_delivery(replies: "ReplySettings", kind: ChatKind | None) -> Delivery:
    """What the configuration wants for a kind of chat; automatic where it says nothing, and where there is no chat."""
    if kind is None:
        return Delivery.AUTOMATIC
    visible = replies.group_visible if kind is ChatKind.GROUP else replies.visible
    return Delivery.TOOL_ONLY if visible == "message_tool" else Delivery.AUTOMATIC


def possible_delivery(wanted: Delivery, tools: Container[str], trigger: Trigger = Trigger.CHAT) -> Delivery:
    """What of a wish can be had on a turn.

    Args:
        wanted: The wish.
        tools: Names of the tools that the turn can call, in lower case. Without the message tool among them an answer
            is delivered, whatever was wished: else nothing would ever be seen.
        trigger: What caused the turn. What a heartbeat or a scheduled job has to tell is always delivered: the one
            is told by its poll how to say that there is nothing, and the result of the other is awaited.
    """
    if wanted is Delivery.TOOL_ONLY and trigger is Trigger.CHAT and MESSAGE_TOOL in tools:
        return Delivery.TOOL_ONLY
    return Delivery.AUTOMATIC


def delivery_mode(
    replies: "ReplySettings", kind: ChatKind | None, *, tools: Container[str], trigger: Trigger = Trigger.CHAT
) -> Delivery:
    """How the answer of a turn reaches its chat, see `wanted_delivery` and `possible_delivery`.

    Args:
        replies: What is configured.
        kind: The kind of the chat that the turn answers; None for a turn that answers none.
        tools: Names of the tools that the turn can call, in lower case.
        trigger: What caused it.
    """
    return possible_delivery(wanted_delivery(replies, kind), tools, trigger)
