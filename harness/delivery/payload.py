"""What the ledger keeps of a message so that it can be run after a restart.

Pure.
"""

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, cast

import orjson

from harness.inbound import InboundMessage
from harness.store.admitted import Inbound

if TYPE_CHECKING:
    from pydantic import TypeAdapter


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
    try:
        return orjson.dumps(message).decode()
    except TypeError:  # half a character, which orjson refuses
        import json
        from dataclasses import asdict

        return json.dumps(asdict(message), default=_plain, separators=(",", ":"))


def unpacked(payload: str) -> InboundMessage | None:
    """The message again; None for a text that holds none."""
    import json  # a start has few of them; orjson refuses half a character

    try:
        return _reader().validate_python(json.loads(payload))
    except (ValueError, RecursionError):
        return None


def topic_of(payload: str) -> str:
    """The topic that a message was written in; it is answered there."""
    if '"topic":"' not in payload or '"topic":""' in payload:  # nearly all, and quotes in a text are written otherwise
        return ""
    import json  # as above

    try:
        found: object = json.loads(payload)
    except (ValueError, RecursionError):
        return ""
    topic = cast("dict[str, object]", found).get("topic") if isinstance(found, dict) else ""
    return topic if isinstance(topic, str) else ""


@cache
def _reader() -> "TypeAdapter[InboundMessage]":
    from pydantic import TypeAdapter

    return TypeAdapter(InboundMessage)


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else getattr(value, "value", None)
