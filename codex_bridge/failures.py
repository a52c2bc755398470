"""What a failure means: what becomes of the conversation, and one short sentence for a person.

Pure. The server has one code for nearly every refusal, so this is the one place that reads its words; each of them was
provoked on both pinned versions (`docs/measured.md`). The provider's own words go to the log.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, cast

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
from codex_bridge.wire.requests import TurnError
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
_TOO_LONG: Final = (
    "context window",
    "context length",
    "context size",
    "context_length",
    "context_size",
    "context_window",
    "context limit",
    "context overflow",
    "maximum context",
    "maximum prompt length",
    "maximum number of tokens",
    "maximum number of input tokens",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "input length",
    "too many input tokens",
    "too many tokens",
    "request_too_large",
    "reduce the length of the messages",
    "string_above_max_length",
)
"""How providers and local servers say that a conversation does not fit, in lower case; Codex passes their words on as
"other"; 0.171 names `context_length_exceeded` itself."""
_TOO_FAST: Final = ("per minute", "per min", "per day", "rate limit", "rate_limit", "quota")
"""What speaks of tokens in time, and of no window."""

SENTENCES: Final[Mapping[str, str]] = {
    "contextWindowExceeded": "The conversation no longer fits into the model's window.",
    "usageLimitExceeded": "The account's usage limit is reached.",
    "rateLimitExceeded": "The model provider asks for a slower pace; please try again shortly.",
    "responseTooManyFailedAttempts": "The model provider kept refusing; please try again shortly.",
    "serverOverloaded": "The model provider is overloaded; please try again shortly.",
    "internalServerError": "The model provider had an internal error; please try again shortly.",
    "httpConnectionFailed": "The model provider could not be reached.",
    "responseStreamConnectionFailed": "The model provider could not be reached.",
    "responseStreamDisconnected": "The connection to the model provider broke off.",
    "unauthorized": "The login has expired; sign in again with `{login}`.",
    "badRequest": "The model provider did not accept the request.",
    "sandboxError": "The sandbox for commands could not be set up.",
    "sessionBudgetExceeded": "The budget of this conversation is spent.",
    "flexUnavailable": "The model provider has no cheap capacity at the moment; please try again later.",
    "cyberPolicy": "The model provider refuses this request under its rules on computer security.",
    "misalignmentPolicyViolation": "The model provider ended this turn under its rules of use.",
    "tooManyDenials": "Too much of what the agent wanted to do was declined, so the turn ended.",
    "threadRollbackFailed": "Codex could not take the conversation back to an earlier point.",
    "activeTurnNotSteerable": "Codex is busy with this conversation; please try again shortly.",
    "modelNotFound": "The model provider does not know this model.",
    "policyCapacityUnavailable": "The model provider has no capacity for this request at the moment; try again later.",
    "bioPolicy": "The model provider refuses this request under its rules on biology.",
    "inferenceHookDenied": "A rule of the account's workspace denied this request.",
}
"""By the name of `codexErrorInfo` (protocol reference, section 6)."""
FAILURES: Final[Mapping[str, Failure]] = {
    "contextWindowExceeded": Failure.CONTEXT,
    "usageLimitExceeded": Failure.USAGE_LIMIT,
    "rateLimitExceeded": Failure.RATE_LIMIT,
    "responseTooManyFailedAttempts": Failure.RATE_LIMIT,
    "serverOverloaded": Failure.OVERLOADED,
    "internalServerError": Failure.PROVIDER,
    "httpConnectionFailed": Failure.OUTAGE,
    "responseStreamConnectionFailed": Failure.OUTAGE,
    "responseStreamDisconnected": Failure.OUTAGE,
    "unauthorized": Failure.LOGIN,
    "badRequest": Failure.REQUEST,
    "sandboxError": Failure.SANDBOX,
    "sessionBudgetExceeded": Failure.USAGE_LIMIT,
    "flexUnavailable": Failure.OVERLOADED,
    "cyberPolicy": Failure.POLICY,
    "misalignmentPolicyViolation": Failure.POLICY,
    "tooManyDenials": Failure.POLICY,
    "threadRollbackFailed": Failure.REQUEST,
    "activeTurnNotSteerable": Failure.REQUEST,
    "modelNotFound": Failure.MODEL,
    "policyCapacityUnavailable": Failure.OVERLOADED,
    "bioPolicy": Failure.POLICY,
    "inferenceHookDenied": Failure.POLICY,
    "other": Failure.OTHER,
}
"""The class of each name of `codexErrorInfo`, before the status and the words are looked at."""
_CLASS_BY_STATUS: Final[Mapping[int, Failure]] = {
    401: Failure.LOGIN,
    402: Failure.USAGE_LIMIT,
    403: Failure.LOGIN,
    404: Failure.MODEL,
    413: Failure.CONTEXT,
}
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
LATER: Final = frozenset({"modelNotFound", "policyCapacityUnavailable", "bioPolicy", "inferenceHookDenied"})
"""Names that 0.163 does not have, and 0.171 has."""
_BY_STATUS: Final[Mapping[int, str]] = {
    401: "The model provider did not accept the login.",
    402: "The model provider asks for payment.",
    403: "The model provider did not accept the login.",
    404: "The model provider does not know this model, or its address is wrong.",
    413: "The conversation no longer fits into the model's window.",
}
"""By the HTTP status of a failed connection, which Codex reports alike for all of them (measured)."""
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
}
_REFUSALS: Final[tuple[tuple[str, str], ...]] = (
    ("failed to load configuration", f"Codex cannot read its configuration; {THE_LOG}."),
    ("requires experimentalapi", "This Codex does not offer what the bridge needs; update it."),
)
"""Refusals that say nothing of the conversation, by words in them."""
OTHER: Final = "The model could not finish this turn."
REFUSED: Final = f"Codex refused the request; {THE_LOG}."


def trouble_of(error: CodexError) -> Trouble:
    """What an error of a call means for the conversation it was made for."""
    match error:
        case OverloadedError():
            return Trouble.BUSY
        case RpcError(message=message):
            return _by_words(message)
        case NotSignedInError():
            return Trouble.LOGIN
        case ConnectionLostError(detail=detail):
            # A server that cannot begin its work says why in its last words, and dies.
            found = _by_words(detail)
            return found if found in (Trouble.DISK, Trouble.LOGIN) else Trouble.CONNECTION
        case CallTimeoutError():
            return Trouble.SILENCE
        case _:
            return Trouble.OTHER


def turn_trouble(error: TurnError | None) -> Trouble:
    """What the error of a turn that Codex began and ended means for its conversation."""
    if error is None:
        return Trouble.OTHER
    name, status = _info(error)
    if name == "contextWindowExceeded" or status == 413:
        return Trouble.OVERFLOW
    if name == "unauthorized" or status in (401, 403):
        return Trouble.LOGIN
    message = error.message.lower()
    if name in ("", "other", "badRequest") and _is_too_long(message):
        return Trouble.OVERFLOW
    found = _by_words(message)
    return found if found in (Trouble.LOGIN, Trouble.DISK) else Trouble.OTHER


def turn_failure(error: TurnError | None) -> Failure:
    """The class of the error of a turn that Codex began and ended."""
    if error is None:
        return Failure.OTHER
    name, status = _info(error)
    by_words = _CLASS_OF_TROUBLE.get(turn_trouble(error))
    return _CLASS_BY_STATUS.get(status or 0) or by_words or FAILURES.get(name, Failure.OTHER)


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


def sentence(error: TurnError | None, login: str) -> str:
    """Say what went wrong with a turn that Codex ended. `login` is the command that signs its home in."""
    if error is None:
        return OTHER
    name, status = _info(error)
    known = _BY_STATUS.get(status or 0) or SENTENCES.get(name)
    return (known or _SAID.get(turn_trouble(error), OTHER)).replace("{login}", login)


def told(trouble: Trouble, login: str) -> str:
    """One sentence about a trouble, with the fix where there is one; empty where the trouble alone says nothing."""
    return _SAID.get(trouble, "").replace("{login}", login)


def refusal(error: RpcError, login: str) -> str:
    """Say what a refused request means; the server's own words, which may be pages long, go to the log."""
    message = error.message.lower()
    known = next((told for words, told in _REFUSALS if words in message), REFUSED)
    return told(trouble_of(error), login) or known


def _info(error: TurnError) -> tuple[str, int | None]:
    """The name of `codexErrorInfo`, and the HTTP status that a variant of it carries."""
    info: object = error.codex_error_info
    if isinstance(info, dict):
        # A variant that carries data: {"httpConnectionFailed": {"httpStatusCode": 404}}.
        name, facts = next(iter(cast("dict[str, object]", info).items()), ("", None))
        status = cast("dict[str, object]", facts).get("httpStatusCode") if isinstance(facts, dict) else None
        return name, status if isinstance(status, int) else None
    return (info, None) if isinstance(info, str) else ("", None)


def _is_too_long(message: str) -> bool:
    """Whether a provider's words say that a conversation does not fit into the model's window."""
    return any(words in message for words in _TOO_LONG) and not any(words in message for words in _TOO_FAST)


def _by_words(message: str) -> Trouble:
    folded = message.lower()
    return next((trouble for trouble, phrases in _WORDS if any(words in folded for words in phrases)), Trouble.OTHER)
