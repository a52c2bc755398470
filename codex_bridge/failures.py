"""What to tell a person about a failed turn: one short sentence, without the provider's JSON.

Pure. The provider's own words go to the log.
"""

from collections.abc import Mapping
from typing import Final, cast

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
OTHER: Final = "The model could not finish this turn."


def sentence(error: TurnError | None) -> str:
    """Say what went wrong."""
    info: object = error.codex_error_info if error else None
    if isinstance(info, dict):
        # A variant that carries data: {"httpConnectionFailed": {...}}.
        info = next(iter(cast("dict[str, object]", info)), None)
    return _SENTENCES.get(info, OTHER) if isinstance(info, str) else OTHER
