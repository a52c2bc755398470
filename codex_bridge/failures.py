"""What a failure means: what becomes of the conversation, and one short sentence for a person.

Pure. The server has one code for nearly every refusal, so this is the one place that reads its words; each of them was
provoked on both pinned versions (`docs/measured.md`). The provider's own words go to the log.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from codex_bridge.errors import (
    BinaryNotFoundError,
    CallTimeoutError,
    CodexError,
    ConnectionLostError,
    NotSignedInError,
    OverloadedError,
    RpcError,
    ServerTooOldError,
    TransportError,
    UnreadableAnswerError,
)
from harness.errors import THE_LOG
from harness.turns import Failure


class Trouble(Enum):
    """What can go wrong between a conversation and its answer."""

    GONE = "Codex does not have the thread"
    UNREADABLE = "Codex has the thread and cannot read it"
    WRITER = "another process has the thread open"
    BUSY = "the thread, or a database of Codex, is busy for the moment"
    LOGIN = "the login is missing, expired or refused"
    DISK = "Codex cannot write"
    OVERFLOW = "the conversation is too long for the model"
    CONNECTION = "the server went away"
    SILENCE = "the server does not answer"
    OTHER = "anything else"


class Rule(Enum):
    """What becomes of the conversation (spec 4)."""

    FRESH = "go on in a fresh thread that is told what was said before"
    ASIDE = "answer on a thread of its own, and keep the one that is bound"
    AGAIN = "keep the thread, and try once more"
    KEEP = "keep the thread, and say what to do"


RULES: Final[Mapping[Trouble, Rule]] = MappingProxyType(
    {
        Trouble.GONE: Rule.FRESH,
        Trouble.UNREADABLE: Rule.FRESH,
        Trouble.WRITER: Rule.KEEP,
        Trouble.BUSY: Rule.AGAIN,
        Trouble.LOGIN: Rule.KEEP,
        Trouble.DISK: Rule.KEEP,
        Trouble.OVERFLOW: Rule.FRESH,
        Trouble.CONNECTION: Rule.AGAIN,
        Trouble.SILENCE: Rule.KEEP,
        # A thread that cannot be loaded for a reason that nobody knows may be sound: it is neither used nor let go.
        Trouble.OTHER: Rule.ASIDE,
    }
)
"""The rule of each trouble."""

_WORDS: Final[tuple[tuple[Trouble, tuple[str, ...]], ...]] = (
    # The order counts: what the disk refuses is told in longer sentences that also name a thread.
    (
        Trouble.DISK,
        (
            "no space left on device",
            "read-only file system",
            "permission denied",
            "input/output error",
            "disk quota exceeded",
            "too many open files",
            "disk i/o error",
            "database or disk is full",
            "attempt to write a readonly database",
            "unable to open database file",
        ),
    ),
    (
        Trouble.BUSY,
        ("database is locked", "database table is locked", "activeturnnotsteerable", "draining", "is closing; retry"),
    ),
    (Trouble.WRITER, ("already has an active writer",)),
    (
        Trouble.LOGIN,
        ("access token could not be refreshed", "failed to refresh token", "unauthorized (401)", "sign in again"),
    ),
    (
        Trouble.UNREADABLE,
        (
            "failed to read session metadata",
            "failed to read thread",
            "failed to open thread history",
            "file is not a database",
            "database disk image is malformed",
        ),
    ),
    (
        Trouble.GONE,
        (
            "no rollout found",
            "thread not found",
            "thread not loaded",
            "missing source rollout",
            "is archived",
            # A thread keeps its provider, and one that is configured no longer takes it along.
            "which is no longer configured",
            "model provider `",
            "invalid thread id",
            "invalid session id",
        ),
    ),
)
"""Words of a refusal, in lower case, by what they mean."""
_CLASS_OF_TROUBLE: Final[Mapping[Trouble, Failure]] = {
    Trouble.GONE: Failure.REQUEST,
    Trouble.UNREADABLE: Failure.DISK,
    Trouble.WRITER: Failure.REQUEST,
    Trouble.BUSY: Failure.REQUEST,
    Trouble.LOGIN: Failure.LOGIN,
    Trouble.DISK: Failure.DISK,
    Trouble.OVERFLOW: Failure.CONTEXT,
    Trouble.CONNECTION: Failure.SERVER,
    Trouble.SILENCE: Failure.SERVER,
}
_SAID: Final[Mapping[Trouble, str]] = {
    Trouble.GONE: "Codex no longer has this conversation.",
    Trouble.UNREADABLE: "Codex cannot read this conversation any more.",
    Trouble.WRITER: (
        "Another process, a gateway or codex-bridge, has this conversation open; close it there and try again."
    ),
    Trouble.BUSY: "Codex is busy with this conversation; please try again shortly.",
    Trouble.LOGIN: "The login has expired or is not accepted; sign in again with `{login}`.",
    Trouble.DISK: "Codex cannot write to its disk; make room, or give its folder back its rights, and try again.",
    Trouble.OVERFLOW: "The conversation no longer fits into the model's window.",
    Trouble.SILENCE: "Codex does not answer at the moment; please try again shortly.",
}
_REFUSALS: Final[tuple[tuple[str, str], ...]] = (
    ("failed to load configuration", f"Codex cannot read its configuration; {THE_LOG}."),
    ("requires experimentalapi", "This Codex does not offer what the bridge needs; update it."),
)
"""Refusals that say nothing of the conversation, by words in them."""
SHUTTING_DOWN: Final = "The gateway is shutting down."
REFUSED: Final = f"Codex refused the request; {THE_LOG}."


def trouble_of(error: CodexError) -> Trouble:
    """What an error of a call means for the conversation it was made for."""
    match error:
        case OverloadedError():
            return Trouble.BUSY
        case RpcError(message=message):
            return by_words(message)
        case NotSignedInError():
            return Trouble.LOGIN
        case ConnectionLostError(detail=detail):
            # A server that cannot begin its work says why in its last words, and dies.
            found = by_words(detail)
            return found if found in (Trouble.DISK, Trouble.LOGIN) else Trouble.CONNECTION
        case CallTimeoutError():
            return Trouble.SILENCE
        case _:
            return Trouble.OTHER


def call_failure(error: Exception | None) -> Failure:
    """The class of the error of a call, or of the loss of the server; None stands for a server that was closed."""
    match error:
        case None | TransportError():
            found = trouble_of(error) if error is not None else Trouble.CONNECTION
            return _CLASS_OF_TROUBLE.get(found, Failure.SERVER)
        case BinaryNotFoundError() | ServerTooOldError() | UnreadableAnswerError():
            return Failure.SERVER
        case RpcError():
            return _CLASS_OF_TROUBLE.get(trouble_of(error), Failure.REQUEST)
        case CodexError():
            return _CLASS_OF_TROUBLE.get(trouble_of(error), Failure.OTHER)
        case _:
            return Failure.OTHER


def told(trouble: Trouble, login: str) -> str:
    """One sentence about a trouble, with the fix where there is one; empty where the trouble alone says nothing."""
    return _SAID.get(trouble, "").replace("{login}", login)


def refusal(error: RpcError, login: str) -> str:
    """Say what a refused request means; the server's own words, which may be pages long, go to the log."""
    message = error.message.lower()
    known = next((told for words, told in _REFUSALS if words in message), REFUSED)
    return told(trouble_of(error), login) or known


def by_words(message: str) -> Trouble:
    """What the words of a refusal, or of a failed turn, mean for its conversation."""
    folded = message.lower()
    return next((trouble for trouble, phrases in _WORDS if any(words in folded for words in phrases)), Trouble.OTHER)
