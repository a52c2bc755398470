"""What a JSON5 text says, or where it stops making sense.

Pure. The JSON5 library needs about 13 us for each character, so a text that is JSON apart from comments, bare keys,
single quotes and trailing commas (nearly every configuration) is brought to JSON with one expression and read by the
standard library; the JSON5 library reads the rest, and names every fault.
"""

import json
import re
from collections.abc import Iterable

from harness.json_value import Json, children

DEEPEST = 64
"""Objects and lists may stand this deep in each other; our choice, five times what the known keys need."""

TOKEN = re.compile(
    r"""
      (?P<string> "(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*' )
    | (?P<comment> //[^\n\r\u2028\u2029]* | /\*.*?\*/ )
    | (?P<key> [A-Za-z_$][\w$]*+ (?= \s*: ) )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
COMMA = re.compile(r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<first>[\[{]\s*,)|,(?=\s*[}\]])')


class Json5Error(ValueError):
    """A text is not JSON5; the message says where and why, without naming the text."""

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}, column {column}: {reason}")
        self.reason = reason
        """A clause without the place, such as `',' is not expected here`."""
        self.line = line
        """1-based, or None when the fault has no place in the text."""
        self.column = column
        """1-based, in characters."""


class NotedObject(dict[str, Json]):
    """An object that remembers which of its keys stood twice in the text."""

    doubled: tuple[str, ...] = ()


def parse_json5(text: str, *, longest: int | None = None) -> Json:
    """Read a JSON5 text; a byte order mark is skipped and an empty text is an empty object.

    Objects are `NotedObject` values.

    Args:
        text: The text.
        longest: From how many characters on a text is refused that only the slow JSON5 library could read.

    Raises:
        Json5Error: With line, column and reason.
    """
    text = text.removeprefix("\ufeff")
    try:
        tree = _parse_fast(text)
    except (ValueError, RecursionError):
        if longest is not None and len(text) > longest:
            raise Json5Error(f"it is longer than {longest} characters and not plain JSON") from None
        tree = _parse_whole(text)
    if _depth(tree) > DEEPEST:
        raise Json5Error(f"objects and lists stand more than {DEEPEST} deep in each other; flatten them")
    return tree


def _parse_fast(text: str) -> Json:
    plain = TOKEN.sub(_as_json, text)
    plain = COMMA.sub(_without_trailing, plain)
    if not plain.strip():
        return NotedObject()
    tree: Json = json.loads(plain, object_pairs_hook=_noted)
    return tree


def _as_json(found: re.Match[str]) -> str:
    if found["string"] is not None:
        inside = found["string"][1:-1]
        if found["string"][0] == '"':
            return found[0]
        if "\\" in inside or '"' in inside:
            raise ValueError("only the JSON5 library reads escapes and other quotes in single quotes")
        return f'"{inside}"'
    # A comment may be all that keeps two words apart.
    return " " if found["comment"] is not None else f'"{found[0]}"'


def _without_trailing(found: re.Match[str]) -> str:
    if found["first"] is not None:
        raise ValueError("a comma before the first item")
    return found["string"] or ""


def _noted(items: Iterable[tuple[str, Json]]) -> NotedObject:
    pairs = list(items)
    noted = NotedObject(pairs)
    if len(noted) < len(pairs):
        keys = [key for key, _ in pairs]
        noted.doubled = tuple(key for key in noted if keys.count(key) > 1)
    return noted


def _parse_whole(text: str) -> Json:
    # Imported here: 2 to 13 ms that a plain file, or none, does not need.
    import json5

    try:
        tree, message, at = json5.parse(text, object_pairs_hook=_noted)
    except RecursionError as error:
        raise Json5Error(f"objects and lists stand more than {DEEPEST} deep in each other; flatten them") from error
    except ValueError as error:
        raise Json5Error(f"it is not JSON5 ({error})", line=1, column=1) from error
    if message is None:
        found: Json = tree
        return found
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    raise Json5Error(_reason(text, at), line=line, column=column)


def _reason(text: str, at: int) -> str:
    if at >= len(text):
        return "the text ends too early; a closing bracket or quote is missing"
    if text[at] in "\r\n":
        return "the line ends inside a string; close its quote"
    return f"{text[at]!r} is not expected here; check the comma, quote or bracket before it"


def _depth(tree: Json) -> int:
    depth, level = 0, [tree]
    while level := [node for node in level if isinstance(node, dict | list)]:
        depth += 1
        level = [child for node in level for _, child in children(node)]
    return depth
