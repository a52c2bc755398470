"""Whether a finished heartbeat may be taken out of the conversation again.

Pure. A heartbeat that had nothing to tell and changed nothing leaves no trace: the backend takes the turn back,
under the conversation's lock, so that no other turn came after it, and the session looks as it did before. One doubt
is enough to keep the turn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.heartbeat.looking import only_looks
from harness.turns import Command, CommandAction, Outcome, TurnResult


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietEvidence:
    """What is known about a finished heartbeat turn."""

    acknowledged: bool
    """It ended with a token or a quiet tool call."""
    completed: bool
    """It ended by itself and not by an interruption or a failure."""
    compacted: bool = False
    """A summary took the place of what the conversation held before."""
    commands: tuple[Command, ...] = ()
    """The commands that ran; one without any actions counts as not understood."""
    effects: tuple[str, ...] = ()
    """The tools, changes and whatever else, by name, that touched something outside the conversation."""
    children: int = 0
    """The agents that it started."""
    user_messages: int = 1
    removed_units: int = 0
    """What taking it back would remove from the conversation, in UTF-16 units."""
    returning_units: int = 0
    """What would have to be sent again because of it; 0 where the carrier of the instructions is restored."""


HARMLESS_TOOLS: Final = frozenset({"memory_search", "memory_get", "heartbeat_respond", "session_status"})
"""Tools that change nothing outside the conversation."""


def evidence_of(
    result: TurnResult, *, acknowledged: bool, removed_units: int = 0, returning_units: int = 0
) -> QuietEvidence:
    """What is known about a finished heartbeat turn, by its result.

    Args:
        result: How it ended and what it did.
        acknowledged: It ended with a token or a quiet tool call.
        removed_units: See `QuietEvidence`.
        returning_units: See `QuietEvidence`.
    """
    did = result.evidence
    return QuietEvidence(
        acknowledged=acknowledged,
        completed=result.outcome in (Outcome.ANSWERED, Outcome.EMPTY),
        compacted=result.compacted,
        commands=did.commands,
        effects=(*did.changes, *did.others, *(tool for tool in did.tools if tool not in HARMLESS_TOOLS)),
        children=did.children,
        user_messages=did.messages,
        removed_units=removed_units,
        returning_units=returning_units,
    )


@dataclass(frozen=True, slots=True)
class QuietVerdict:
    """Whether the turn is taken back, and why it is or is not."""

    take_back: bool
    reason: str


_HARMLESS = frozenset({CommandAction.READ, CommandAction.LIST, CommandAction.SEARCH})
_KEEP: tuple[tuple[str, Callable[[QuietEvidence], bool]], ...] = (
    ("it did not end by itself", lambda seen: not seen.completed),
    ("it had something to tell", lambda seen: not seen.acknowledged),
    ("the conversation was summarised in it", lambda seen: seen.compacted),
    ("a message of a person is part of it", lambda seen: seen.user_messages != 1),
    ("it started other agents", lambda seen: seen.children > 0),
    ("it changed something", lambda seen: bool(seen.effects)),
    # A heartbeat reads HEARTBEAT.md by a command, so commands that only look are no reason to keep it.
    ("it ran a command that may have changed something", lambda seen: not all(map(is_harmless, seen.commands))),
    (
        "taking it back would cost more than it frees",
        lambda seen: seen.returning_units > 0 and seen.returning_units >= seen.removed_units,
    ),
)
"""The reasons to keep a turn, asked in order."""


def judge_quiet(evidence: QuietEvidence) -> QuietVerdict:
    """Decide whether a heartbeat turn is taken back."""
    reason = next((reason for reason, applies in _KEEP if applies(evidence)), None)
    if reason is not None:
        return QuietVerdict(False, reason)
    return QuietVerdict(True, "it had nothing to tell and changed nothing")


def is_harmless(command: Command) -> bool:
    """Whether a command surely changed nothing."""
    understood = bool(command.actions) and _HARMLESS.issuperset(command.actions)
    return understood and command.over and only_looks(command.text)
