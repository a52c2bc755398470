"""How a conversation stands with its backend, for whoever asks."""

from typing import Protocol, runtime_checkable

from harness.lean_values import dataclass
from harness.turns import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """One limit of the account."""

    name: str
    """Over how long it is counted, such as "5 h"."""
    used: float
    """Percent."""
    resets_at: float | None = None
    """Unix seconds; None when nobody said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What a backend knows of a conversation at the moment; what is empty or None is not known."""

    backend: str
    """Its name, and its version where that is known."""
    conversation: str = ""
    """Its own name for the conversation."""
    model: str = ""
    """What the conversation runs on now."""
    effort: str = ""
    context_used: int | None = None
    """Tokens that it holds, see `harness.turns.UsageCounted`."""
    context_window: int | None = None
    usage: Usage | None = None
    """Tokens of all its turns so far."""
    allowances: tuple[Allowance, ...] = ()


@runtime_checkable
class TellsSessions(Protocol):
    """A backend that knows how its conversations stand, and which models it can run."""

    async def session_facts(self, session_key: str, message_key: str = "") -> SessionFacts:
        """What is known now; never raises for what cannot be found out.

        Args:
            session_key: The conversation.
            message_key: What caused the turn that asks, which may have a conversation of its own.
        """
        ...

    def cannot_run(self, model: str) -> str:
        """Say in one sentence why a model cannot be run; empty when nothing speaks against it."""
        ...
