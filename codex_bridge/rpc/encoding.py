"""How a JSON value becomes bytes and back, whatever strings it holds.

The fast path is orjson. It refuses lone surrogates in both directions; text from a chat may hold one (a
message cut in the middle of an emoji by somebody's program), so both directions have a slower path that
replaces them.
"""

import json
from typing import cast

import orjson

from codex_bridge.rpc.messages import Json


def encode(value: Json) -> bytes:
    """Encode `value` as compact UTF-8 JSON on one line.

    A surrogate pair given as two code points is joined; a lone surrogate becomes U+FFFD.

    Raises:
        TypeError: `value` holds something that JSON cannot, or an integer beyond 64 bits.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_without_lone_surrogates(value))


def decode(data: bytes) -> Json:
    """Decode one JSON value.

    Raises:
        ValueError: `data` is not JSON.
    """
    try:
        decoded: Json = orjson.loads(data)
        return decoded
    except orjson.JSONDecodeError as error:
        if b"\\ud" not in data and b"\\uD" not in data:
            raise
        try:
            decoded = json.loads(data)
            return _without_lone_surrogates(decoded)
        except RecursionError:
            raise error from None


def whole_text(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _without_lone_surrogates(value: Json) -> Json:
    match value:
        case str():
            return whole_text(value)
        case list():
            return [_without_lone_surrogates(item) for item in value]
        case dict():
            # A key that is no string, which only an untyped caller can have, is left for orjson to refuse.
            return {
                whole_text(key) if isinstance(cast("object", key), str) else key: _without_lone_surrogates(item)
                for key, item in value.items()
            }
        case _:
            return value
