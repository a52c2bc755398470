"""Raw payloads of the channels become inbound messages."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.channels.detect import from_payload
    from harness.channels.unheard import Unheard

__all__ = ["Unheard", "from_payload"]

__getattr__ = lazily(
    __name__,
    {"Unheard": "harness.channels.unheard", "from_payload": "harness.channels.detect"},
)
