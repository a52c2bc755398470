"""What an agent reads of the gateway's configuration through its `gateway` tool: the answer of `config.get`.

Pure. Secrets are hidden, and an answer that would fill the conversation is refused with what to ask for instead
(prompt-builder 11.8).
"""

import json
from typing import Final

from harness.config.places import HIDDEN, Place, is_secret, write_place
from harness.config.suggest import near_key
from harness.errors import HarnessError
from harness.gateway_guard import JsonObject, config_hash, pieces_of
from harness.json_value import Json, children
from harness.units import utf16_units

LONGEST_ANSWER: Final = 12_000
"""UTF-16 units of an answer (prompt-builder 11.8)."""
MOST_NAMED: Final = 20
"""Places that a refusal names; our choice."""


class ConfigAnswerError(HarnessError):
    """A question about the configuration that gets no answer."""


def config_answer(config: JsonObject, path: str = "") -> str:
    """Answer `config.get`: JSON with the `path`, its `value`, and the `hash` that a change has to name.

    Args:
        config: The configuration as written.
        path: Such as `agents.list[0].model` or `models["a/b"].alias`; an agent of the list also by its id, as in
            `agents.list[pell]`. Empty for the whole.

    Raises:
        ConfigAnswerError: Nothing is there, or the answer would be too long; names what can be asked for.
        ConfigChangeError: The configuration is no sound JSON.
    """
    known = config_hash(config)
    place, value = _found(config, path)
    answer = {"path": write_place(place) if place else "", "value": _hidden(value, place), "hash": known}
    text = json.dumps(answer, ensure_ascii=False)
    units = utf16_units(text)
    if units > LONGEST_ANSWER:
        below = [write_place((*place, key)) for key, _ in children(value)]
        raise ConfigAnswerError(
            f"The answer would have {units:,} characters, and {LONGEST_ANSWER:,} are the most; ask for one of: "
            f"{_listed(below)}."
        )
    return text


def _found(config: JsonObject, path: str) -> tuple[Place, Json]:
    place: Place = ()
    value: Json = config
    for piece, _ in pieces_of(path):
        key = _key(value, piece)
        if key is None:
            raise ConfigAnswerError(_nothing(place, value, piece))
        place, value = (*place, key), dict(children(value))[key]
    return place, value


def _key(value: Json, piece: str) -> str | int | None:
    """The key or index below `value` that a piece of a path means."""
    if isinstance(value, dict):
        return piece if piece in value else None
    if not isinstance(value, list):
        return None
    named = (number for number, each in enumerate(value) if isinstance(each, dict) and each.get("id") == piece)
    # No file has a list of a billion; a longer number is no index, and Python would refuse to read the longest.
    index = int(piece) if piece.isascii() and piece.isdecimal() and len(piece) < 10 else -1
    return next(named, index if 0 <= index < len(value) else None)


def _nothing(place: Place, value: Json, piece: str) -> str:
    shown = json.dumps(piece[:60])
    where = write_place(place) if place else "the configuration"
    keys = [str(key) for key, _ in children(value)]
    near = near_key(piece, keys) if len(piece) <= 60 else None
    if near is not None:
        return f"There is no {shown} in {where}; did you mean {near}?"
    return f"There is no {shown} in {where}; it has {_listed(keys) if keys else 'nothing below it'}."


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(name[:80] for name in names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _hidden(value: Json, place: Place) -> Json:
    if isinstance(value, dict):
        return {key: _hidden(below, (*place, key)) for key, below in value.items()}
    if isinstance(value, list):
        return [_hidden(below, (*place, number)) for number, below in enumerate(value)]
    plain = value is None or isinstance(value, bool) or value == ""
    return value if plain or not is_secret(place) else HIDDEN
