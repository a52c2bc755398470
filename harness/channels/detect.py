"""Which channel a raw payload comes from, told by its members.

Pure.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from harness.errors import PayloadError
from harness.inbound import Bot, InboundMessage


def _telegram(payload: Mapping[str, object], bot: Bot | None) -> InboundMessage:
    from harness.channels.telegram import from_update  # a process reads payloads of one channel, mostly

    return from_update(payload, bot=bot)


def _discord(payload: Mapping[str, object], bot: Bot | None) -> InboundMessage:
    from harness.channels.discord import from_event, from_message

    return (
        from_message(payload, bot=bot)
        if "t" not in payload and "channel_id" in payload
        else from_event(payload, bot=bot)
    )


READERS: Final[Mapping[str, Callable[[Mapping[str, object], Bot | None], InboundMessage]]] = MappingProxyType(
    {"telegram": _telegram, "discord": _discord}
)
"""What reads the payloads of each channel."""
_SIGNS: Final = (("telegram", ("update_id",)), ("discord", ("t", "d")), ("discord", ("channel_id", "author")))


def from_payload(payload: Mapping[str, object], *, channel: str = "", bot: Bot | None = None) -> InboundMessage:
    """Read a payload of any channel.

    Args:
        payload: A Telegram `Update`, an event of Discord's gateway, or a Discord message without the event around it.
        channel: Whose it is; empty to tell that by its members.
        bot: Who the agent is there, by which a group's messages are known that call it.

    Raises:
        PayloadError: It is none of these, or `channel` is no channel; names what is missing or wrong.
        UnsupportedPayloadError: It is one, but nothing that a person says.
    """
    name = channel or next((name for name, signs in _SIGNS if all(sign in payload for sign in signs)), "")
    reader = READERS.get(name)
    if reader is not None:
        return reader(payload, bot)
    if channel:
        raise PayloadError(f"There is no channel {channel}; known are {' and '.join(READERS)}.")
    raise PayloadError(
        "This is neither a Telegram update, which has an update_id, nor an event of Discord, which has t and d, nor a "
        "Discord message, which has a channel_id and an author."
    )
