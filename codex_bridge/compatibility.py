"""Whether a chat's thread fits what its next turn needs, and what becomes of it if not.

Pure. The checks stand in the order of the harness reference, 7.2, as far as we have what they compare. Its first, the
runtime, is for us the account and the provider: the server's version is none, since both pinned versions resume each
other's threads (measured), and another Codex home is another backend. MCP servers, the web search, variables and the
model are no checks either: a thread takes all of them in when it is loaded (measured, decision 0007). What is not known
of a thread never speaks against it.
"""

from typing import Final, Literal, TypeAlias

from harness.lean_values import dataclass
from harness.store.bound import Basis, Binding

NOTHING: Final = Basis()
"""Nothing is known."""
UNKNOWN: Final = "unknown"
"""Stands for a digest of a thread that somebody else began."""
InstructionChange: TypeAlias = Literal["tell", "rotate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the next turn needs of a thread. Empty texts: anything fits."""

    basis: Basis = NOTHING
    tools: str = ""
    """Of the tools of this turn; empty for a turn without any."""
    rules: str = ""
    """Of the rules, as `Holds.rules`."""
    developer: str = ""
    """Of the instructions, as `Holds.developer`."""
    on_change: InstructionChange = "tell"
    """What an edit of rules or instructions means: the thread is told, or lets go."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Go on with the thread."""


@dataclass(frozen=True, slots=True)
class Rotate:
    """Go on in a fresh thread that is told what was said before."""

    reason: str
    """A sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Transient:
    """Run this turn in a thread of its own, and keep the chat's."""

    reason: str
    """A sentence for the operator."""


Decision: TypeAlias = Keep | Rotate | Transient


def decide(binding: Binding | None, wanted: Wanted) -> Decision:
    """Say what becomes of a chat's thread; None is a chat without one, which nothing speaks against."""
    if binding is None:
        return Keep()
    return _by_basis(binding.basis, wanted.basis) or _by_tools(binding, wanted) or _by_texts(binding, wanted) or Keep()


def _by_basis(held: Basis, wanted: Basis) -> Decision | None:
    """Checks 1 and 7: under whose account and with whom the thread runs, and in which folder."""
    if _differ(held.account, wanted.account):
        return Rotate("The home is signed in to another account, so this conversation goes on in a new thread.")
    if _differ(held.provider, wanted.provider):
        return Rotate("The model's provider has changed, so this conversation goes on in a new thread.")
    if _differ(held.cwd, wanted.cwd):
        return Rotate("The workspace is another folder now, so this conversation goes on in a new thread.")
    return None


def _by_tools(binding: Binding, wanted: Wanted) -> Decision | None:
    """Checks 10 and 11: how tools are offered, and which."""
    held = binding.holds.tools
    if _differ(binding.basis.loading, wanted.basis.loading):
        return Rotate("The agent's tools are offered in another way now, so this conversation goes on in a new thread.")
    if held in (wanted.tools, UNKNOWN):
        return None
    if not wanted.tools:
        return Transient("This turn has no tools, so it runs in a thread of its own; the conversation keeps its own.")
    return Rotate("The agent's tools have changed, so this conversation goes on in a new thread.")


def _by_texts(binding: Binding, wanted: Wanted) -> Decision | None:
    """A choice of the operator's, for which the reference has no check."""
    held = binding.holds
    if wanted.on_change == "rotate" and (
        _differ(held.rules, wanted.rules) or _differ(held.developer, wanted.developer)
    ):
        return Rotate("The agent's instructions have changed, so this conversation goes on in a new thread.")
    return None


def _differ(held: str, wanted: str) -> bool:
    return bool(held) and bool(wanted) and held not in (wanted, UNKNOWN)
