"""What an agent is told of messages that came while it was busy, and that were too many to be kept.

Pure. It is other people's words once more, so a backend quotes it as data, see `LayerName.LEFT_OUT`.
"""

import json
from collections.abc import Sequence
from typing import Final

from harness.inbound import ChatKind, InboundMessage
from harness.prompt.hygiene import literal
from harness.units import utf16_units
from harness.workspace.boundaries import head

LONGEST: Final = 2_000
"""UTF-16 units of all of it."""
LONGEST_BEGIN: Final = 120
"""UTF-16 units of the begin of one message."""


def left_out_text(messages: Sequence[InboundMessage], count: int) -> str:
    """Say in one line how many messages were left out, and how the last ones of them began; empty for none.

    Args:
        messages: Those of which is told by more than their number, oldest first.
        count: How many there were in all.
    """
    if not count:
        return ""
    begins = [_begin(message) for message in messages]
    while begins and utf16_units(_said(begins, count)) > LONGEST:
        begins.pop(0)
    return _said(begins, count)


def _said(begins: list[dict[str, str]], count: int) -> str:
    what = "message was" if count == 1 else "messages were"
    head_line = f"{count} {what} left out here, as too many came while you were at work."
    if not begins:
        return head_line
    return f"{head_line} How the last of them began: {json.dumps(begins, ensure_ascii=False)}"


def _begin(message: InboundMessage) -> dict[str, str]:
    text = head(literal(" ".join(message.text.split())), LONGEST_BEGIN)
    if message.chat.kind is ChatKind.DIRECT:
        return {"text": text}
    return {"from": head(literal(message.sender.name), LONGEST_BEGIN), "text": text}
