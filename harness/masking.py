"""Which parts of a text are secrets, and what stands in their place.

Pure. Used on everything of a server's stderr that we keep, on recorded requests, and on what a chat is shown of them.
"""

import re
from collections.abc import Iterable

from harness.lean_values import dataclass

MASK = "***"

_PATTERNS = re.compile(
    r"""
      \bsk-[A-Za-z0-9_-]{8,}                                # OpenAI and Anthropic keys
    | \beyJ[A-Za-z0-9_-]{6,2048}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*  # JWT
    | (?<=bot)\d{6,12}:[A-Za-z0-9_-]{30,}                   # Telegram token inside a file URL
    | \b\d{6,12}(?::|%3[Aa])[A-Za-z0-9_-]{30,}              # Telegram token alone, or percent-encoded
    | \b[MNO][A-Za-z\d_-]{22,28}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}  # Discord token
    | \bxox[abcdeoprs]-[A-Za-z0-9-]{8,}                       # Slack tokens
    | \bxapp-[A-Za-z0-9-]{8,}
    | \b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}            # GitHub tokens
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | (?<=://)[^\s/?\#"'<>]+(?=@)                            # who it is, in an address
    """,
    re.VERBOSE,
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)(?!\*)([A-Za-z0-9._~+/=-]{6,})")
_SHORTEST_SECRET = 8
"""Values shorter than this are not masked by value: they would hide ordinary words."""


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace what looks like a credential, and each of `secrets`, by three asterisks."""
    return masked(text, secrets)[0]


@dataclass(frozen=True, slots=True)
class Hidden:
    """What stands behind asterisks."""

    text: str
    in_address: bool = False
    """Whether it is the part of an address that says who somebody is, and no word by itself."""


def masked(text: str, secrets: Iterable[str] = ()) -> tuple[str, list[Hidden]]:
    """Mask a text as `mask` does; gives also what is hidden by it."""
    hidden: list[Hidden] = []
    for secret in sorted(secrets, key=len, reverse=True):  # one may begin another
        if len(secret) >= _SHORTEST_SECRET and secret in text:
            hidden += [Hidden(secret)] * text.count(secret)
            text = text.replace(secret, MASK)

    def named(found: re.Match[str]) -> str:
        hidden.append(Hidden(found[3]))
        return f"{found[1]}{found[2]}{MASK}"

    def whole(found: re.Match[str]) -> str:
        before, after = found.string[: found.start()], found.string[found.end() :]
        hidden.append(Hidden(found[0], in_address=before.endswith("://") and after.startswith("@")))
        return MASK

    return _PATTERNS.sub(whole, _BEARER.sub(named, text)), hidden
