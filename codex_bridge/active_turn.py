"""What the server says of the turn that runs on a thread, when it refuses to steer one or to interrupt one.

Pure. It has no code for these, only words (measured on both versions), so they are kept in this one place.
"""

import re
from typing import Final, cast

from codex_bridge.errors import RpcError

NO_TURN: Final = "no active turn"
"""A thread runs nothing: "no active turn to steer", "no active turn to interrupt"."""
_ANOTHER: Final = re.compile(r"expected active turn id `?[^`\s]*`? but found `?([^`\s]+)`?")
_UNFIT: Final = "cannot steer a"
"""Of a turn that summarises or reviews: "cannot steer a compact turn"."""


def is_idle(error: RpcError) -> bool:
    """Whether the thread runs no turn."""
    return NO_TURN in error.message


def another_turn(error: RpcError) -> str | None:
    """The turn that the thread runs in place of the one that was named; None for another complaint."""
    found = _ANOTHER.search(error.message)
    return found[1] if found else None


def is_unfit(error: RpcError) -> bool:
    """Whether the thread runs a turn of a kind that takes no words in."""
    data = cast("dict[str, object]", error.data) if isinstance(error.data, dict) else {}
    info = data.get("codexErrorInfo")
    return (isinstance(info, dict) and "activeTurnNotSteerable" in info) or _UNFIT in error.message
