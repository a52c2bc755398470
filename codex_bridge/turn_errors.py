"""What the error means that a turn ended with: a class, one sentence for a person, and when it may go on.

Pure. The name of `codexErrorInfo` says it, or the HTTP status that it carries; where the name is "other", as for every
broken stream and every refused request, the words do. Each name of both pinned versions has its row, and each wording
was provoked on both (`docs/measured.md`). The provider's own words, its JSON, addresses and request ids go to the log.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

from codex_bridge.failures import Trouble, by_words, told
from codex_bridge.reset_times import A_MINUTE, delay_in_text, reset_in_limits, reset_in_text
from codex_bridge.wire.besides import AccountLimits
from codex_bridge.wire.requests import TurnError
from harness.clock import format_when
from harness.errors import THE_LOG
from harness.lean_values import dataclass
from harness.turns import Failure


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of failure."""

    failure: Failure
    sentence: str
    """`{login}` stands for the command that signs the home in."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a failure."""

    failure: Failure
    sentence: str
    retry_at: float | None = None
    """When it may go on, in Unix seconds; None when nobody says."""


_CONTEXT: Final = Kind(Failure.CONTEXT, told(Trouble.OVERFLOW, ""))
_LIMIT: Final = Kind(Failure.USAGE_LIMIT, "The account's usage limit is reached.")
_QUOTA: Final = Kind(Failure.USAGE_LIMIT, "The account's quota is used up; check its plan and billing.")
_SLOWER: Final = Kind(Failure.RATE_LIMIT, "The model provider asks for a slower pace; please try again shortly.")
_OVERLOADED: Final = Kind(Failure.OVERLOADED, "The model provider is overloaded; please try again shortly.")
_INTERNAL: Final = Kind(Failure.PROVIDER, "The model provider had an internal error; please try again shortly.")
_UNREACHED: Final = Kind(Failure.OUTAGE, "The model provider could not be reached.")
_BROKEN: Final = Kind(Failure.OUTAGE, "The connection to the model provider broke off.")
_REFUSED_LOGIN: Final = Kind(Failure.LOGIN, "The model provider did not accept the login.")
_REQUEST: Final = Kind(Failure.REQUEST, "The model provider did not accept the request.")
_MODEL: Final = Kind(Failure.MODEL, "The model provider does not know this model, or not for this account.")
_IMAGE: Final = Kind(Failure.IMAGE, "The model provider cannot read a picture in this conversation.")
OTHER: Final = Kind(Failure.OTHER, "The model could not finish this turn.")
"""What is told where nobody knows."""

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "contextWindowExceeded": _CONTEXT,
        "usageLimitExceeded": _LIMIT,
        "rateLimitExceeded": _SLOWER,
        "responseTooManyFailedAttempts": Kind(
            Failure.RATE_LIMIT, "The model provider kept refusing; please try again shortly."
        ),
        "serverOverloaded": _OVERLOADED,
        "internalServerError": _INTERNAL,
        "httpConnectionFailed": _UNREACHED,
        "responseStreamConnectionFailed": _UNREACHED,
        "responseStreamDisconnected": _BROKEN,
        "unauthorized": Kind(Failure.LOGIN, "The login has expired; sign in again with `{login}`."),
        "badRequest": _REQUEST,
        "sandboxError": Kind(Failure.SANDBOX, "The sandbox for commands could not be set up."),
        "sessionBudgetExceeded": Kind(Failure.USAGE_LIMIT, "The budget of this conversation is spent."),
        "flexUnavailable": Kind(
            Failure.OVERLOADED, "The model provider has no cheap capacity at the moment; please try again later."
        ),
        "cyberPolicy": Kind(
            Failure.POLICY, "The model provider refuses this request under its rules on computer security."
        ),
        "misalignmentPolicyViolation": Kind(
            Failure.POLICY, "The model provider ended this turn under its rules of use."
        ),
        "tooManyDenials": Kind(
            Failure.POLICY, "Too much of what the agent wanted to do was declined, so the turn ended."
        ),
        "threadRollbackFailed": Kind(
            Failure.REQUEST, "Codex could not take the conversation back to an earlier point."
        ),
        "activeTurnNotSteerable": Kind(
            Failure.REQUEST, "Codex is busy with this conversation; please try again shortly."
        ),
        "other": OTHER,
        # These 0.163 does not have.
        "modelNotFound": Kind(Failure.MODEL, "The model provider does not know this model."),
        "policyCapacityUnavailable": Kind(
            Failure.OVERLOADED,
            "The model provider has no capacity for this request at the moment; try again later.",
        ),
        "bioPolicy": Kind(Failure.POLICY, "The model provider refuses this request under its rules on biology."),
        "inferenceHookDenied": Kind(Failure.POLICY, "A rule of the account's workspace denied this request."),
    }
)
"""By the name of `codexErrorInfo` (protocol reference, section 6)."""
LATER: Final = frozenset({"modelNotFound", "policyCapacityUnavailable", "bioPolicy", "inferenceHookDenied"})
"""Names that 0.163 does not have, and 0.171 has."""

_STATUSES: Final[Mapping[int, Kind]] = MappingProxyType(
    {
        400: _REQUEST,
        401: _REFUSED_LOGIN,
        402: Kind(Failure.USAGE_LIMIT, "The model provider asks for payment."),
        403: _REFUSED_LOGIN,
        404: Kind(Failure.MODEL, "The model provider does not know this model, or its address is wrong."),
        409: _REQUEST,
        413: _CONTEXT,
        422: _REQUEST,
        503: _OVERLOADED,
        529: _OVERLOADED,
    }
)
"""By the HTTP status of a failed connection, which Codex reports alike for all of them (measured)."""

_WORDS: Final[tuple[tuple[str, Kind], ...]] = (
    (
        "reason: max_output_tokens",
        Kind(Failure.LENGTH, "The answer was cut off: it is longer than the model says at once."),
    ),
    (
        "reason: content_filter",
        Kind(Failure.POLICY, "The model provider cut the answer off under its rules of use."),
    ),
    (
        r"model_not_found|\bmodel\b.{0,80}\bnot supported\b|\bmodel\b.{0,80}\bdoes not exist\b",
        _MODEL,
    ),
    (
        "missing environment variable",
        Kind(Failure.LOGIN, f"The key of the model provider is missing; {THE_LOG}."),
    ),
    (r"\brate[ _]limit", _SLOWER),
    (r"\bquota\b", _QUOTA),
    (
        "^stream disconnected before completion: "
        "(transport error|stream closed before|idle timeout|response.failed event received)",
        _BROKEN,
    ),
    ("^stream disconnected before completion: ", _INTERNAL),  # and what the provider said
    ("^connection failed: ", _UNREACHED),
    (r"^\s*\{", _REQUEST),  # the body of an answer with the status 400
)
"""Words of the errors whose name says nothing, as regular expressions; the first one counts."""
_TROUBLES: Final[Mapping[Trouble, Kind]] = MappingProxyType(
    {
        Trouble.LOGIN: Kind(Failure.LOGIN, told(Trouble.LOGIN, "{login}")),
        Trouble.DISK: Kind(Failure.DISK, told(Trouble.DISK, "{login}")),
    }
)
"""Troubles of Codex itself, which it words as in a refusal."""
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
_A_PICTURE: Final = r"\b(?:images?|image_url|image_urls|base64)\b"
_WRONG: Final = (
    r"(?:\binvalid|\bmalformed|\bcorrupt|\bunsupported|\bnot (?:a |represent a )?(?:valid|support)|\bonly support"
    r"|\bsupports? "
    r"|(?:could not|couldn't|cannot|can't|unable to|fail\w* to) (?:be )?"
    r"(?:process|decode|read|load|open|parse|fetch|download|identify|accept))"
)
_NEAR: Final = r"(?:[^.]|\.(?=\S)){0,60}"
"""Within a sentence, and not far away."""
_PICTURE: Final = re.compile(f"{_WRONG}{_NEAR}{_A_PICTURE}|{_A_PICTURE}{_NEAR}{_WRONG}")
"""How providers and Codex itself say that they cannot take a picture, in lower case (harness reference, 4.6). It stands
in the history, so every later turn fails by it as well (measured)."""
_TOO_FAST: Final = ("per minute", "per min", "per day", "rate limit", "rate_limit", "quota")
"""What speaks of tokens in time, and of no window."""
_VAGUE: Final = frozenset({"", "other", "badRequest"})
"""Names that the words of the error say more than."""
_OF_LIMITS: Final[tuple[tuple[str, Kind], ...]] = (
    ("to use codex with your chatgpt plan", Kind(Failure.USAGE_LIMIT, "The account's plan does not include Codex.")),
    ("quota exceeded", _QUOTA),
)
"""Limits that no time lifts, by the words that Codex has for them."""


def tell(
    error: TurnError | None, *, login: str, now: float, zone: str = "", limits: AccountLimits | None = None
) -> Told:
    """Say what went wrong with a turn that Codex ended.

    Args:
        error: What Codex says; None when it says nothing.
        login: The command that signs the home in.
        now: The time in Unix seconds.
        zone: IANA name of the time zone that a person is told times in; empty for UTC.
        limits: The account's limits as the server told them last, if it did.
    """
    kind = kind_of(error)
    sentence = kind.sentence.replace("{login}", login)
    message = error.message if error is not None else ""
    if kind is _LIMIT:
        at = _lifted_at(message, now, limits)
        if at is not None:
            return Told(kind.failure, f"{sentence} It is lifted {format_when(at, now, zone)}.", at)
    elif kind.failure is Failure.RATE_LIMIT and (delay := delay_in_text(message)) is not None:
        at = now + delay
        sentence = f"The model provider asks for a slower pace; please try again {format_when(at, now, zone)}."
        return Told(kind.failure, sentence, at)
    return Told(kind.failure, sentence)


def _lifted_at(message: str, now: float, limits: AccountLimits | None) -> float | None:
    """When a usage limit is lifted: the words know which one it is, and the limits know the second."""
    said = reset_in_text(message, now)
    stated = reset_in_limits(limits, now) if limits is not None else None
    if said is not None and (stated is None or not said - A_MINUTE <= stated <= said):
        return said
    return stated


def kind_of(error: TurnError | None) -> Kind:
    """The kind of a failure by the name, the status and the words of its error."""
    if error is None:
        return OTHER
    name, status = _info(error)
    by_status = _STATUSES.get(status or 0)
    message = error.message.lower()
    if by_status is not None:
        return _IMAGE if by_status is _REQUEST and _PICTURE.search(message) else by_status
    kind = KINDS.get(name)
    if kind is _LIMIT:
        return next((known for words, known in _OF_LIMITS if words in message), _LIMIT)
    if kind is not None and name not in _VAGUE:
        return kind
    if any(words in message for words in _TOO_LONG) and not any(words in message for words in _TOO_FAST):
        return _CONTEXT
    if _PICTURE.search(message):
        return _IMAGE
    of_trouble = _TROUBLES.get(by_words(message))
    found = next((known for words, known in _WORDS if re.search(words, message)), None)
    return of_trouble or found or kind or OTHER


def _info(error: TurnError) -> tuple[str, int | None]:
    """The name of `codexErrorInfo`, and the HTTP status that a variant of it carries."""
    info: object = error.codex_error_info
    if isinstance(info, dict):
        # A variant that carries data: {"httpConnectionFailed": {"httpStatusCode": 404}}.
        name, facts = next(iter(cast("dict[str, object]", info).items()), ("", None))
        status = cast("dict[str, object]", facts).get("httpStatusCode") if isinstance(facts, dict) else None
        return name, status if isinstance(status, int) else None
    return (info, None) if isinstance(info, str) else ("", None)
