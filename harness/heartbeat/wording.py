"""What the gateway says to a model about heartbeats.

Pure, and the only place where these sentences are written. A turn knows one way to say that all is quiet: the
reply tool where it is registered, the token where it is not; no text names the other one.
"""

import re
from collections.abc import Container

from harness.heartbeat.ack import HEARTBEAT_TOKEN
from harness.heartbeat.convention import Ack

RESPONSE_TOOL = "heartbeat_respond"


def ack_convention(tools: Container[str]) -> Ack:
    """Return the convention of a turn with these tools: the reply tool wherever it is registered."""
    return Ack.TOOL if RESPONSE_TOOL in tools else Ack.TOKEN


CLOSING = {
    Ack.TOKEN: f"If nothing needs attention, answer with exactly {HEARTBEAT_TOKEN} and nothing else.",
    Ack.TOOL: (
        f"Finish by calling {RESPONSE_TOOL} once: notify=false when nothing needs attention, "
        "otherwise notify=true with the message in notificationText."
    ),
}
"""The sentence that ends a poll."""

OPENING = (
    "Heartbeat check. If the workspace has a HEARTBEAT.md, read it and do what it says now. "
    "Take up no task from earlier conversations that it does not name."
)
TASKS_OPENING = "Heartbeat check. These recurring tasks are due; do each of them now:"
CONTEXT_HEADING = "Additional context from HEARTBEAT.md:"
COMMITMENTS_OPENING = (
    "Heartbeat check. These promises to the owner are due. Keep those that still hold, "
    "drop those that time has settled, and leave all other work alone:"
)
EXEC_OPENING = "A command that was left running has ended. Its result:"
CRON_OPENING = "A reminder that was set earlier is due. It says:"
TELL_OWNER = "Tell the owner what matters in it, in your own words."
KEEP_INSIDE = "Nobody is to be told: act on it here if it calls for action."

_SCOPE = (
    "This is a heartbeat: the gateway's own clock woke you, no person wrote. Look after what is due, "
    "keep it short, and start nothing that nobody asked for."
)
_GUIDANCE = {
    Ack.TOKEN: f"When nothing needs attention, your whole answer is {HEARTBEAT_TOKEN}. "
    "Otherwise answer with the message for the owner, without that word.",
    Ack.TOOL: f"End the turn with one call of {RESPONSE_TOOL}. "
    "notify=false keeps the turn quiet; notify=true sends notificationText to the owner.",
}
_NAME = "<tool>"
"""Stands for the name of the reply tool."""
_SECTION = {
    Ack.TOKEN: (
        "A heartbeat poll is a message by which the gateway asks whether anything needs attention. If nothing does, "
        f"reply with exactly {HEARTBEAT_TOKEN}. If something does, reply with the alert alone, "
        f"without {HEARTBEAT_TOKEN}."
    ),
    Ack.TOOL: (
        "A heartbeat poll is a message by which the gateway asks whether anything needs attention. Answer it with one "
        f"call of {_NAME}: notify=false if nothing does, notify=true with the alert in notificationText if something "
        "does."
    ),
}
_OWN = {
    Ack.TOKEN: re.compile(HEARTBEAT_TOKEN, re.IGNORECASE),
    Ack.TOOL: re.compile(RESPONSE_TOOL, re.IGNORECASE),
}
_FOREIGN = {
    Ack.TOKEN: (_OWN[Ack.TOOL], "a heartbeat report"),
    Ack.TOOL: (_OWN[Ack.TOKEN], f"{RESPONSE_TOOL} with notify=false"),
}


def heartbeat_guidance(ack: Ack) -> str:
    """Return the turn's developer text on a heartbeat: what it is for and how it ends."""
    return f"{_SCOPE}\n\n{_GUIDANCE[ack]}"


def heartbeat_pointer(path: str) -> str:
    """Return the line that names the heartbeat file; its content is never quoted here."""
    return f"Heartbeat instructions are in this file; read it before you act:\n- {path}"


def heartbeat_section(ack: Ack, tool: str = RESPONSE_TOOL) -> str:
    """Return the body of the system prompt's `## Heartbeats`: only the rule for polls (prompt-builder 10.2).

    `tool` is the reply tool's name in the letter case in which the model knows it.
    """
    return _SECTION[ack].replace(_NAME, tool)


def path_hint(path: str) -> str:
    """Return the line that says which file a poll means by HEARTBEAT.md."""
    return f"HEARTBEAT.md is at {path}; use this very path and spelling."


def names_convention(text: str, ack: Ack) -> bool:
    """Say whether `text` already tells how to end a heartbeat, in this turn's own terms."""
    return _OWN[ack].search(text) is not None


def one_convention(text: str, ack: Ack) -> str:
    """Return `text` with every mention of the other convention put in terms of this turn's own."""
    pattern, instead = _FOREIGN[ack]
    return pattern.sub(instead, text)
