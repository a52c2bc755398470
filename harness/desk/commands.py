"""What a person writes to the gateway, and not to the agent: to stop, to summarise, how messages are queued in a chat.

Pure. The words are those of the original gateway.
"""

import re
from dataclasses import replace
from typing import Final

from harness.lean_values import dataclass
from harness.settings.queue import DropPolicy, QueueMode, QueueRules

_STOP: Final = re.compile(r"/stop(?:@\w+)?", re.IGNORECASE)
_BARE: Final = frozenset(
    {
        "stop", "abort", "esc", "exit", "interrupt", "halt", "please stop", "stop please", "stop run", "stop agent",
        "arrête", "arrete", "stopp", "anhalten", "aufhören", "detente", "detén", "pare", "стоп", "останови",
        "остановись", "прекрати", "停止", "停下来", "暂停", "やめて", "止めて", "रुको", "توقف",
    }
)  # fmt: skip
"""Whole messages that mean the same in a direct chat; in a group people say them to each other."""
_AFTER: Final = ".!?…,;:。，！？；：'\"’”)]}"  # noqa: RUF001 - people end their messages with these
_COMPACT: Final = re.compile(r"/compact(?:@\w+)?(?P<words>\s.*)?", re.IGNORECASE | re.DOTALL)
_QUEUE: Final = re.compile(r"/queue(?:@\w+)?(?:\s+(?P<words>.*))?", re.IGNORECASE | re.DOTALL)
_QUIET: Final = re.compile(r"(?P<count>\d{1,9}(?:\.\d{1,3})?)(?P<unit>ms|s|m)?", re.ASCII)
_SECONDS: Final = {None: 0.001, "ms": 0.001, "s": 1.0, "m": 60.0}
MOST_WAITING: Final = 1_000
"""The largest cap that is taken."""
MOST_QUIET: Final = 3_600.0
"""The longest quiet time that is taken, in seconds."""
NO_WORDS: Final = "A summary takes no instructions; say /compact alone."
USAGE: Final = (
    "Say /queue with steer, followup, collect or interrupt, and if you like debounce:500ms, cap:20 and drop:old, "
    "drop:new or drop:summarize; /queue default takes back what was said."
)


def is_stop(text: str, *, direct: bool) -> bool:
    """Whether a message asks to stop what the agent does.

    Args:
        text: The message.
        direct: Whether only one person writes in its chat.
    """
    said = text.strip()
    return _STOP.fullmatch(said) is not None or (direct and said.casefold().rstrip(_AFTER).rstrip() in _BARE)


def compact_command(text: str) -> str | None:
    """Read a message that asks for a summary in place of what the conversation holds; None for one that does not.

    Returns:
        What is wrong with it, in one sentence; empty when nothing is.
    """
    found = _COMPACT.fullmatch(text.strip())
    if found is None:
        return None
    return NO_WORDS if (found["words"] or "").strip() else ""


@dataclass(frozen=True, slots=True)
class QueueCommand:
    """A message that says how messages are queued in its chat."""

    mode: QueueMode | None = None
    quiet: float | None = None
    """Seconds."""
    cap: int | None = None
    drop: DropPolicy | None = None
    clears: bool = False
    """What was said before is taken back."""
    problem: str = ""
    """One sentence about what is wrong with it; empty when nothing is."""

    def then(self, later: "QueueCommand") -> "QueueCommand":
        """Both, of which the later one counts where both say something."""
        return QueueCommand(
            mode=later.mode or self.mode,
            quiet=self.quiet if later.quiet is None else later.quiet,
            cap=later.cap or self.cap,
            drop=later.drop or self.drop,
        )

    def over(self, rules: QueueRules) -> QueueRules:
        """What holds with it."""
        return replace(
            rules,
            mode=self.mode or rules.mode,
            quiet=rules.quiet if self.quiet is None else self.quiet,
            cap=self.cap or rules.cap,
            drop=self.drop or rules.drop,
        )


def queue_command(text: str) -> QueueCommand | None:
    """Read a message; None for one that says something else."""
    found = _QUEUE.fullmatch(text.strip())
    if found is None:
        return None
    words = (found["words"] or "").lower().split()
    if words in (["default"], ["reset"]):
        return QueueCommand(clears=True)
    command = QueueCommand()
    for word in words:
        read = _with(command, word)
        if read is None:
            return QueueCommand(problem=f"I do not understand {word[:40]!r}. {USAGE}")
        command = read
    return command


def _with(command: QueueCommand, word: str) -> QueueCommand | None:
    """The command with one more word, or None when it means nothing."""
    name, colon, value = word.partition(":")
    if not colon:
        mode = next((each for each in QueueMode if each.value == name), None)
        return None if mode is None or command.mode is not None else replace(command, mode=mode)
    match name:
        case "debounce" if (found := _QUIET.fullmatch(value)) is not None:
            seconds = float(found["count"]) * _SECONDS[found["unit"]]
            return replace(command, quiet=seconds) if seconds <= MOST_QUIET else None
        case "cap" if value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MOST_WAITING:
            return replace(command, cap=int(value))
        case "drop":
            drop = next((each for each in DropPolicy if each.value == value), None)
            return None if drop is None else replace(command, drop=drop)
        case _:
            return None


def told(rules: QueueRules) -> str:
    """What holds, in one sentence."""
    quiet = f"{rules.quiet:g} s"
    return (
        f"Messages that come while I am at work: {rules.mode.value}, after {quiet} without another one; at most "
        f"{rules.cap} wait (drop: {rules.drop.value})."
    )
