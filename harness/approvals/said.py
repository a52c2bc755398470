"""What a message says to an ask: by its own words, or by a button.

Pure. Words that a message brings along say nothing, and neither does one that was changed after it was sent.
"""

import re
from typing import Final

from harness.approvals.cards import PREFIX
from harness.approvals.handles import LENGTH
from harness.asks import Verdict
from harness.inbound import InboundMessage
from harness.lean_values import dataclass

_HANDLE: Final = f"[A-Za-z2-7]{{{LENGTH}}}"
_PRESSED: Final = re.compile(rf"{PREFIX}:(?P<handle>{_HANDLE}):(?P<what>once|always|no|[1-9]\d?)", re.ASCII)
_COMMAND: Final = re.compile(
    r"/(?P<name>approve|deny|answer)(?:@\w+)?(?:\s+(?P<handle>\S+)(?:\s+(?P<words>.*))?)?", re.IGNORECASE | re.DOTALL
)
_VERDICTS: Final = {"once": Verdict.ALLOW, "always": Verdict.ALLOW_ALWAYS, "no": Verdict.DECLINE}
_WORDS: Final = {
    "approve": {"": Verdict.ALLOW, "once": Verdict.ALLOW, "always": Verdict.ALLOW_ALWAYS},
    "deny": {"": Verdict.DECLINE, "stop": Verdict.CANCEL},
}
USAGE: Final = "Say /approve HANDLE, /approve HANDLE always, /deny HANDLE, or /answer HANDLE and the answer."
UNKNOWN: Final = "There is no open request with this handle in this chat."
EDITED: Final = "A message that was changed answers nothing; please send it anew."


@dataclass(frozen=True, slots=True)
class Said:
    """What a message says."""

    handle: str = ""
    """Empty when it names none."""
    verdict: Verdict = Verdict.ALLOW
    choice: int = 0
    """Which choice was pressed, from 1; 0 for none."""
    words: str = ""
    """An answer in words; empty for none."""
    problem: str = ""
    """One sentence about what is wrong with it; empty when nothing is."""


def is_for_an_ask(message: InboundMessage) -> bool:
    """Whether a message is for an ask and for nothing else: by a button of ours, or by a handle."""
    said = said_by(message)
    return said is not None and bool(message.pressed or said.handle)


def said_by(message: InboundMessage) -> Said | None:
    """Read a message; None when it is not for an ask, as far as it says so itself."""
    if message.pressed:
        found = _PRESSED.fullmatch(message.pressed)
        if found is None:  # a button of ours that says nothing, or that somebody made up, is for nobody else
            return Said(problem=UNKNOWN) if message.pressed.startswith(f"{PREFIX}:") else None
        handle, what = found["handle"].lower(), found["what"]
        return Said(handle, choice=int(what)) if what.isdigit() else Said(handle, _VERDICTS[what])
    found = _COMMAND.fullmatch(message.text.strip())
    if found is None:
        return None
    if message.edited:
        return Said(problem=EDITED)
    handle, words = (found["handle"] or "").lower(), (found["words"] or "").strip()
    if re.fullmatch(_HANDLE, handle) is None:
        return Said(problem=USAGE)
    name = found["name"].lower()
    if name == "answer":
        return Said(handle, words=words, problem="" if words else USAGE)
    verdict = _WORDS[name].get(words.casefold())
    return Said(handle, problem=USAGE) if verdict is None else Said(handle, verdict)
