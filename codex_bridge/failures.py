"""What to tell a person about a failed turn: one short sentence, without the provider's JSON.

Pure. The provider's own words go to the log.
"""

from collections.abc import Mapping
from typing import Final, cast

from codex_bridge.errors import RpcError
from codex_bridge.wire.requests import TurnError

_SENTENCES: Final[Mapping[str, str]] = {
    "contextWindowExceeded": "The conversation no longer fits into the model's window.",
    "usageLimitExceeded": "The account's usage limit is reached.",
    "rateLimitExceeded": "The model provider asks for a slower pace; please try again shortly.",
    "responseTooManyFailedAttempts": "The model provider kept refusing; please try again shortly.",
    "serverOverloaded": "The model provider is overloaded; please try again shortly.",
    "internalServerError": "The model provider had an internal error; please try again shortly.",
    "httpConnectionFailed": "The model provider could not be reached.",
    "responseStreamConnectionFailed": "The model provider could not be reached.",
    "responseStreamDisconnected": "The connection to the model provider broke off.",
    "unauthorized": "The model provider did not accept the login.",
    "badRequest": "The model provider did not accept the request.",
    "sandboxError": "The sandbox for commands could not be set up.",
}
"""By the name of `codexErrorInfo` (protocol reference, section 6)."""
_BY_STATUS: Final[Mapping[int, str]] = {
    401: "The model provider did not accept the login.",
    402: "The model provider asks for payment.",
    403: "The model provider did not accept the login.",
    404: "The model provider does not know this model, or its address is wrong.",
}
"""By the HTTP status of a failed connection, which Codex reports alike for all of them (measured)."""
_REFUSALS: Final[tuple[tuple[str, str], ...]] = (
    (
        "already has an active writer",
        "Another process, a gateway or codex-bridge, has this conversation open; close it there and try again.",
    ),
    ("failed to load configuration", "Codex cannot read its configuration; the log has the details."),
    ("requires experimentalApi", "This Codex does not offer what the bridge needs; update it."),
    ("draining", "Codex is shutting down; please try again shortly."),
)
"""What the server's refusals mean, by words in them: it has one code for nearly all (protocol reference, 1.2)."""
OTHER: Final = "The model could not finish this turn."
REFUSED: Final = "Codex refused the request; the log has the details."


def sentence(error: TurnError | None) -> str:
    """Say what went wrong."""
    info: object = error.codex_error_info if error else None
    if isinstance(info, dict):
        # A variant that carries data: {"httpConnectionFailed": {"httpStatusCode": 404}}.
        variants = cast("dict[str, object]", info)
        info, facts = next(iter(variants.items()), (None, None))
        status = cast("dict[str, object]", facts).get("httpStatusCode") if isinstance(facts, dict) else None
        if isinstance(status, int) and status in _BY_STATUS:
            return _BY_STATUS[status]
    return _SENTENCES.get(info, OTHER) if isinstance(info, str) else OTHER


def refusal(error: RpcError) -> str:
    """Say what a refused request means; the server's own words, which may be pages long, go to the log."""
    return next((told for words, told in _REFUSALS if words in error.message), REFUSED)
