"""How a place in a configuration tree is written: `agents.list[0].skills`, `models["a/b"].alias`.

Pure.
"""

import json
import re

from harness.json_value import Json

Place = tuple[str | int, ...]
"""The keys and indexes that lead from the root to a value."""

PLAIN_KEY = re.compile(r"[A-Za-z0-9_$<>-]+\Z")
SECRET_KEY = re.compile(r"(key|token|secret|password|passphrase|credentials?|cookie|authorization)\Z", re.IGNORECASE)
SECRET_FOLDERS = frozenset({"env", "headers"})
"""Every value directly under these keys may be a secret."""

HIDDEN = "(hidden)"
"""Stands for a value that may be a secret."""
SHOWN_CHARACTERS = 60
"""A found value is shown up to this many characters; our choice, enough to recognise it."""


def write_place(place: Place) -> str:
    """Write `place` as a person would; the root is `the configuration`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif PLAIN_KEY.match(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text or "the configuration"


def is_secret(place: Place) -> bool:
    """Say whether a value at `place` must not be shown."""
    names = [part for part in place if isinstance(part, str)]
    return bool(names) and (bool(SECRET_KEY.search(names[-1])) or bool(SECRET_FOLDERS.intersection(names[:-1])))


def show_value(value: object, place: Place) -> str:
    """Write a found value as JSON, shortened, and hidden when it may be a secret."""
    if is_secret(place) and isinstance(value, str | int | float) and not isinstance(value, bool):
        return HIDDEN
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def value_at(tree: Json, place: Place) -> Json:
    """Return the value at `place`, or None when nothing is there."""
    for part in place:
        if isinstance(tree, dict) and isinstance(part, str):
            tree = tree.get(part)
        elif isinstance(tree, list) and isinstance(part, int) and 0 <= part < len(tree):
            tree = tree[part]
        else:
            return None
    return tree
