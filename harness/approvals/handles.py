"""Names for asks that nobody can guess, each for one answer.

Pure but for the randomness, which is given. A handle stands in the card alone; what is kept is its digest.
"""

import hmac
from base64 import b32encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final, TypeVar

from harness.asks import ApprovalAsked, ApprovalKind, Ask

BYTES: Final = 16
"""128 bits, and 26 letters that are safe to copy, within the 64 bytes of a button together with what it says."""
LENGTH: Final = 26
Held = TypeVar("Held")


def new_handle(random_bytes: Callable[[int], bytes]) -> str:
    """A new handle."""
    return b32encode(random_bytes(BYTES)).decode().rstrip("=").lower()


def digest_of_handle(handle: str) -> str:
    """What is kept of a handle."""
    return sha256(handle.lower().encode("utf-8", "replace")).hexdigest()


def held_by(held: Mapping[str, Held], digest: str) -> Held | None:
    """What is kept under a digest, compared in a time that tells nothing of how near another one is."""
    found = None
    for known, each in held.items():
        if hmac.compare_digest(known, digest):
            found = each
    return found


def digest_of_ask(ask: Ask) -> str:
    """What an answer is bound to: exactly this, in this conversation."""
    what = ask.what
    parts = [ask.identity, ask.session_key, ask.thread, what.agent, type(what).__name__]
    if isinstance(what, ApprovalAsked):
        # The changes of files are no part of their request: a gateway that is new knows them no more, and the name of
        # the ask holds for them.
        text = "" if what.kind is ApprovalKind.FILES else what.text
        parts += [what.kind.value, text, what.script, what.cwd]
    else:
        parts += [what.text, what.asker, what.address]
        for each in what.questions:
            parts += [each.id, each.text, each.header, *(choice.label for choice in each.choices)]
    framed = "".join(f"{len(each)}:{each}" for each in parts)
    return sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()
