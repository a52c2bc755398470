"""What is remembered of a chat's conversation on a backend.

Pure values.
"""

from harness.lean_values import dataclass


@dataclass(frozen=True, slots=True)
class Holds:
    """What a conversation was told: digests of texts of the workspace, empty for nothing or for not known."""

    context: str = ""
    """Of the quoted files."""
    rules: str = ""
    """Of the rules file that the backend reads by itself."""
    developer: str = ""
    """Of the instructions that hold for the conversation."""
    tools: str = ""
    """Of the tools that were registered with it; empty for none."""
    heard: int = 0
    """The number of the last row of the chat's transcript that it knows."""
    said: str = ""
    """Names, with blanks between, under which it was told what holds until something else is said under them."""
    ended: str = ""
    """How its last turn was really ended, for the next one to say; empty for one that came to its end."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a conversation was begun with and cannot change; empty texts are not known."""

    cwd: str = ""
    """The folder it works in."""
    model: str = ""
    """The model at its begin; a turn may name another one."""
    provider: str = ""
    """Who runs the model."""
    account: str = ""
    """A digest of the account it was begun under."""
    loading: str = ""
    """How its tools are offered to the model."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A chat's conversation on a backend."""

    backend: str
    session_key: str
    conversation: str
    """The backend's own id, a Codex thread id for instance."""
    holds: Holds = Holds()
    basis: Basis = Basis()


@dataclass(frozen=True, slots=True)
class Listed:
    """A binding as a person looks at it."""

    binding: Binding
    used_at: float
    """Unix seconds of the last turn; 0 when none is known."""
    exchanges: int
    """How many are kept of the chat."""
