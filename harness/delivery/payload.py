"""What the ledger keeps of a message so that it can be run after a restart.

Pure.
"""

from datetime import datetime
from typing import cast

import orjson

from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.store.admitted import Inbound


def inbound_of(message: InboundMessage, session_key: str, *, arrived_at: float) -> Inbound:
    """The message as the ledger keeps it.

    Args:
        message: The message.
        session_key: The conversation that it belongs to.
        arrived_at: Unix seconds.
    """
    return Inbound(
        key=message.key,
        session_key=session_key,
        channel=message.channel,
        chat=message.chat.id,
        message_id=message.message_id,
        arrived_at=arrived_at,
        payload=packed(message),
    )


def packed(message: InboundMessage) -> str:
    """The message as text."""
    value = {
        "channel": message.channel,
        "chat": {"kind": message.chat.kind.value, "id": message.chat.id, "title": message.chat.title},
        "sender": {"id": message.sender.id, "name": message.sender.name, "username": message.sender.username},
        "message_id": message.message_id,
        "text": message.text,
        "sent_at": message.sent_at.isoformat(),
    }
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a character, which no JSON can hold
        import json

        return json.dumps(value)


def unpacked(payload: str) -> InboundMessage | None:
    """The message again; None for a text that holds none."""
    import json  # a start has few of them, and orjson refuses half characters

    try:
        value = cast("dict[str, dict[str, str]]", json.loads(payload))
        texts = cast("dict[str, str]", value)
        return InboundMessage(
            channel=texts["channel"],
            chat=Chat(ChatKind(value["chat"]["kind"]), value["chat"]["id"], value["chat"]["title"]),
            sender=Sender(value["sender"]["id"], value["sender"]["name"], value["sender"]["username"]),
            message_id=texts["message_id"],
            text=texts["text"],
            sent_at=datetime.fromisoformat(texts["sent_at"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
