"""The form that a tool server wants to have filled in: as questions, and the answers as the content that it gets.

Pure. A form of MCP is flat: texts, numbers, yes or no, and choices, by a small part of JSON Schema. What is not that
cannot be asked in a chat. Nothing is filled in that nobody said.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final, TypeAlias, cast
from urllib.parse import urlsplit

from codex_bridge.rpc import Json, JsonObject
from harness.asks import Choice, Question
from harness.lean_values import dataclass

Read: TypeAlias = Callable[[tuple[str, ...]], Json]
"""Makes the value of a field of the words for it; raises ValueError with what it must be."""

_WHOLE: Final = re.compile(r"[+-]?\d{1,15}")
_NUMBER: Final = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")
_MAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    question: Question
    required: bool
    read: Read


@dataclass(frozen=True, slots=True)
class Form:
    """What a tool server asks for; without fields it only wants to be told yes or no."""

    fields: tuple[Field, ...] = ()

    @property
    def questions(self) -> tuple[Question, ...]:
        """Each field as a question of its own."""
        return tuple(each.question for each in self.fields)

    def content(self, words: Mapping[str, tuple[str, ...]]) -> JsonObject:
        """The content that the server gets.

        Raises:
            ValueError: An answer is missing, or does not fit; says which and why in one sentence.
        """
        content: JsonObject = {}
        for each in self.fields:
            question, given = each.question, tuple(filter(str.strip, words.get(each.question.id, ())))
            if not given:
                if each.required:
                    raise ValueError(f"{question.header or question.id} was not answered.")
                continue
            try:
                content[question.id] = each.read(given)
            except ValueError as error:
                raise ValueError(f"{question.header or question.id} must be {error}.") from None
        return content


def form_of(schema: Json) -> Form | None:
    """Read a `requestedSchema`; None for one that cannot be asked as questions."""
    if schema is None:
        return Form()
    if not isinstance(schema, Mapping):
        return None
    properties, required = schema.get("properties", {}), schema.get("required") or []
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return None
    named = cast("Mapping[str, Json]", properties)
    fields = [_field(name, shape, required=name in required) for name, shape in named.items()]
    if not all(isinstance(each, str) and each in named for each in required):
        return None
    return Form(tuple(each for each in fields if each is not None)) if None not in fields else None


def _field(name: str, shape: Json, *, required: bool) -> Field | None:
    if not isinstance(shape, Mapping):
        return None
    found = _kind(shape)
    if found is None:
        return None
    read, labels, in_words = found
    title, description = shape.get("title"), shape.get("description")
    header = title if isinstance(title, str) else ""
    text = description if isinstance(description, str) else header or name
    return Field(Question(name, text, header, tuple(map(Choice, labels)), in_words), required, read)


def _kind(shape: Mapping[str, Json]) -> tuple[Read, tuple[str, ...], bool] | None:
    """How a field is read, what can be chosen for it, and whether other words are taken."""
    match shape.get("type"):
        case "boolean":
            return _truth, ("true", "false"), False
        case "integer":
            return lambda words: _number(words, shape, whole=True), (), True
        case "number":
            return lambda words: _number(words, shape, whole=False), (), True
        case "string":
            options = _options(shape)
            if options is None:
                return lambda words: _text(words, shape), (), True
            return (lambda words: _chosen(words[0], options), tuple(options), False) if options else None
        case "array":
            items = shape.get("items")
            several = (_options(items) if isinstance(items, Mapping) else None) or {}
            return (lambda words: _several(words, several, shape), tuple(several), True) if several else None
        case _:
            return None


def _options(shape: Mapping[str, Json]) -> dict[str, Json] | None:
    """What can be chosen, by what it is called; None where anything can be said, and empty where nobody can tell."""
    titled = shape.get("oneOf", shape.get("anyOf"))
    if isinstance(titled, list):
        named = [(each.get("title"), each.get("const")) for each in titled if isinstance(each, Mapping)]
        whole = len(named) == len(titled) and all(isinstance(value, str) for _, value in named)
        return {str(title or value): value for title, value in reversed(named)} if whole else {}
    values, names = shape.get("enum"), shape.get("enumNames")
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        return {}
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return {str(label): value for label, value in zip(labels, values, strict=True)}


def _chosen(word: str, options: Mapping[str, Json]) -> Json:
    if word.strip() not in options:
        raise ValueError(f"one of {', '.join(options)}")
    return options[word.strip()]


def _several(words: tuple[str, ...], options: Mapping[str, Json], shape: Mapping[str, Json]) -> Json:
    parts = [words[0]] if len(words) == 1 and words[0].strip() in options else ",".join(words).split(",")
    values = [_chosen(each, options) for each in dict.fromkeys(part.strip() for part in parts)]
    if not _limit(shape, "minItems", 0) <= len(values) <= _limit(shape, "maxItems", math.inf):
        raise ValueError("another number of choices")
    return values


def _truth(words: tuple[str, ...]) -> Json:
    word = words[0].strip().casefold()
    if word not in ("true", "false"):
        raise ValueError("true or false")
    return word == "true"


def _number(words: tuple[str, ...], shape: Mapping[str, Json], *, whole: bool) -> Json:
    word = words[0].strip()
    if not (_WHOLE if whole else _NUMBER).fullmatch(word) or not word.isascii():
        raise ValueError("a whole number" if whole else "a number")
    value = int(word) if whole or _WHOLE.fullmatch(word) else float(word)
    low, high = _limit(shape, "minimum", -math.inf), _limit(shape, "maximum", math.inf)
    if not low <= value <= high:
        raise ValueError(f"at least {low:g}" if value < low else f"at most {high:g}")
    return value


def _text(words: tuple[str, ...], shape: Mapping[str, Json]) -> Json:
    text = ", ".join(words)
    if not _limit(shape, "minLength", 0) <= len(text) <= _limit(shape, "maxLength", math.inf):
        raise ValueError("longer" if len(text) < _limit(shape, "minLength", 0) else "shorter")
    match shape.get("format"):
        case "email" if not _MAIL.fullmatch(text.strip()):
            raise ValueError("a mail address")
        case "uri" if not urlsplit(text.strip()).scheme:
            raise ValueError("an address with its scheme")
        case "date" if not _parses(date.fromisoformat, text):
            raise ValueError("a day such as 2031-05-06")
        case "date-time" if not _parses(datetime.fromisoformat, text):
            raise ValueError("a time such as 2031-05-06T07:08:09Z")
        case _:
            return text


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text.strip())
    except ValueError:
        return False
    return True


def _limit(shape: Mapping[str, Json], name: str, otherwise: float) -> float:
    value = shape.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
