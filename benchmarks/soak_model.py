"""What the stand-in says to the messages of `benchmarks.soak`: it tells which of them it answers.

Pure. A request is answered by what it holds alone, so that the model needs no memory and a repeated one gets the same.
"""

import re
from typing import Final

from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, HttpError, Reply, Say, say

TOOL: Final = "ledger_lookup"
"""The agent's own tool; it fails for odd numbers."""
RAN: Final = "ran.txt"
"""Where commands leave their number, each in a line."""
KINDS: Final = ("say", "slow", "command", "failing", "tool", "error")
"""What the model does with a message: say something, at once or slowly; run a command that works, or does not; call the
agent's own tool; answer with an error."""
_ASKED: Final = re.compile(r"Message (\d+), (\w+)\.")
_SUMMARY: Final = "CONTEXT CHECKPOINT"
_SLOW: Final = 8
"""Pieces of a slow answer."""
_PAUSE: Final = 0.06
"""Seconds between them."""


def asking(number: int, kind: str) -> str:
    """The words of a message."""
    return f"Message {number}, {kind}."


def asked_in(text: str) -> list[int]:
    """The numbers of the messages whose words a text holds."""
    return [int(number) for number, _ in _ASKED.findall(text)]


def answered_in(text: str) -> list[int]:
    """The numbers of the messages that an answer is for."""
    return [int(each) for each in re.findall(r"\d+", text)]


def answer(request: RecordedRequest) -> Action:
    """Say what the model does."""
    said = _after_last_answer(request)
    open_ones = [(int(number), kind) for text in said for number, kind in _ASKED.findall(text)]
    called = {str(item.get("call_id")) for item in request.input if isinstance(item, dict)}
    if not open_ones or _SUMMARY in said[-1]:
        return say("In short.")
    number, kind = open_ones[-1]
    text = f"Reply to {' '.join(str(each) for each, _ in open_ones)}."
    if f"call_{number}" not in called:
        match kind:
            case "command":
                return _call(number, CallTool("exec_command", {"cmd": f"echo {number} >> {RAN}"}))
            case "failing":
                return _call(number, CallTool("exec_command", {"cmd": f"echo {number} >> {RAN}; exit 3"}))
            case "tool":
                return _call(number, CallTool(TOOL, {"number": number}, namespace="openclaw"))
            case _:
                pass
    match kind:
        case "slow":
            return Reply((Say(text, pieces=_SLOW, pause=_PAUSE),))
        case "error":
            return HttpError(400, {"error": {"message": "no such thing", "type": "invalid_request_error"}})
        case _:
            return say(text)


def _after_last_answer(request: RecordedRequest) -> list[str]:
    """The words of people since the model last said something."""
    said: list[str] = []
    for part in request.parts():
        if part.role == "assistant":
            said.clear()
        elif part.role == "user":
            said.append(part.text)
    return said


def _call(number: int, call: CallTool) -> Reply:
    return Reply((CallTool(call.name, call.arguments, call.namespace, call_id=f"call_{number}"),))
