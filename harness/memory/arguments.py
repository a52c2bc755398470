"""What the memory tools take, and what a call's arguments mean.

Pure. A model may write a number as text, or point to lines the way a citation does; what still cannot be read is
answered with a sentence that says what is wrong.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.json_value import Json
from harness.tools import strange_argument

DEFAULT_RESULTS = 6
MOST_RESULTS = 50
MOST_LINES = 5_000
"""The most lines of one call (prompt-builder 14, `memoryGetDefaultLines`)."""

SEARCH_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "The words to look for."},
        "maxResults": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_RESULTS,
            "description": f"How many passages to return; {DEFAULT_RESULTS} unless told.",
        },
        "minScore": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "Leave out passages that hold a smaller share of the words.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
GET_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "MEMORY.md or memory/NAME.md."},
        "from": {"type": "integer", "minimum": 1, "description": "The first line; 1 unless told."},
        "lines": {"type": "integer", "minimum": 1, "maximum": MOST_LINES, "description": "How many lines."},
    },
    "required": ["path"],
    "additionalProperties": False,
}
_RANGE = re.compile(r"(?P<path>.+?)#L?(?P<first>[0-9]{1,9})(?:-L?(?P<last>[0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class SearchCall:
    """A call of `memory_search`."""

    query: str
    max_results: int
    min_score: float


@dataclass(frozen=True, slots=True)
class GetCall:
    """A call of `memory_get`; lines count from 1."""

    path: str
    first_line: int
    lines: int


def read_search(arguments: Mapping[str, Json]) -> SearchCall | str:
    """Return the call, or the sentence that says what is wrong with it."""
    query = arguments.get("query")
    if problem := strange_argument("memory_search", SEARCH_SCHEMA, arguments):
        return problem
    if not isinstance(query, str) or not query.strip():
        return "query must hold the words to look for."
    results = _number(arguments.get("maxResults"), DEFAULT_RESULTS)
    if results is None:
        return f"maxResults must be a number from 1 to {MOST_RESULTS}."
    score = _number(arguments.get("minScore"), 0)
    if score is None:
        return "minScore must be a number from 0 to 1."
    return SearchCall(query, int(max(1, min(results, MOST_RESULTS))), score)


def read_get(arguments: Mapping[str, Json], *, default_lines: int) -> GetCall | str:
    """Return the call, or the sentence that says what is wrong with it."""
    path = arguments.get("path")
    if problem := strange_argument("memory_get", GET_SCHEMA, arguments):
        return problem
    if not isinstance(path, str) or not path.strip():
        return "path must name a note: MEMORY.md or memory/NAME.md."
    first, lines = 1, default_lines
    if cited := _RANGE.fullmatch(path.strip()):
        path, first = cited["path"], int(cited["first"])
        lines = int(cited["last"]) - first + 1 if cited["last"] else lines
    given_first = _number(arguments.get("from"), first)
    given_lines = _number(arguments.get("lines"), lines)
    if given_first is None or given_lines is None:
        return "from and lines must be numbers, 1 or more."
    return GetCall(path, max(1, int(given_first)), int(max(1, min(given_lines, MOST_LINES))))


def _number(value: Json, default: int) -> float | None:
    """Read a number, or the default where null or nothing was given; None for anything else."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= 1e9 else None
