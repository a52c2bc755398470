"""How the ids of allowed senders are shown.

Pure.
"""

import hmac
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from harness.prompt.hygiene import literal
from harness.settings.agent import OwnerSettings

DIGITS: Final = 12
"""Hexadecimal digits of a hash that are shown (prompt-builder 11.7)."""


def owner_ids(owners: Iterable[str], settings: OwnerSettings) -> list[str]:
    """Return the ids as the prompt shows them, blank ones dropped.

    With display "hash" an id becomes the beginning of its HMAC-SHA256 under the secret, or of its plain SHA-256 when
    there is no secret.
    """
    found = [clean for each in owners if (clean := literal(each).strip())]
    if settings.display != "hash":
        return found
    key = (settings.secret or "").strip().encode("utf-8", "surrogatepass")
    return [_hash(each.encode(), key) for each in found]


def _hash(owner: bytes, key: bytes) -> str:
    digest = hmac.new(key, owner, sha256).hexdigest() if key else sha256(owner).hexdigest()
    return digest[:DIGITS]
