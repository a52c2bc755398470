"""The catalogue of models as Codex writes it: read, and with our turn-scoped text let in.

Pure. A model whose entry has a text of its own for the Default mode never sees ours; with that one text taken out of
the catalogue it does (protocol reference, 3.4 and 12, measured on both pinned versions).

A catalogue is two thirds of a megabyte, nearly all of it the models' own instructions, and as Python values several
times that. So it is cut into its models first and one of them is parsed at a time, and what is not changed stays as it
was, byte for byte.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from codex_bridge.catalogue import Catalogue, ModelFacts
from codex_bridge.rpc import Json, JsonObject

if TYPE_CHECKING:
    from mmap import mmap

Text: TypeAlias = "bytes | mmap"
"""A catalogue as it is written; that of a file need not be in memory as a whole."""


class UnreadableCatalogueError(ValueError):
    """What was given is no catalogue."""


def read(text: Text, source: str) -> Catalogue:
    """Read a catalogue.

    Raises:
        UnreadableCatalogueError: It is not JSON, or not of that form.
    """
    found = [_facts(model) for _, model in _models(text)]
    models = MappingProxyType({facts.slug: facts for facts in found})
    return Catalogue(models, source, patched=text.find(_MARK) >= 0, digest=sha256(text).hexdigest())


def patched(text: Text, facts: list[ModelFacts]) -> Iterator[bytes | memoryview]:
    """The same catalogue, with no model's own text for the Default mode; nothing else is changed.

    The file takes the place of the server's whole catalogue, so every entry is kept as it is. Gives the new one in
    pieces, to be written one after the other, and adds to `facts` meanwhile what it says of each model.

    Raises:
        UnreadableCatalogueError: It is not JSON, or not of that form; some pieces may have been given by then.
    """
    view, copied = memoryview(text), text.find(b"{") + 1
    yield view[:copied]
    if text.find(_MARK) < 0:
        yield b'"%b":true,' % _MARK
    for span, model in _models(text):
        if _let_in(model):
            yield view[copied : span.start]
            yield orjson.dumps(model)
            copied = span.stop
        facts.append(_facts(model))
    yield view[copied:]


_MARK: Final = b"patched_by_openclaw_codex_bridge"
"""Member by which our own file is known."""
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_QUOTE, _OPENING, _LIST = ord('"'), b"[{", ord("[")


def _spans(text: Text) -> Iterator[slice]:
    """Where each entry of the list `models` of the outermost object stands."""
    depth, start, within, last = 0, 0, False, b""
    for token in _TOKEN.finditer(text):
        mark = text[token.start()]
        if mark == _QUOTE:
            if depth == 1:
                last = token[0]  # before a list or an object, this is the name of the member
        elif mark in _OPENING:
            depth += 1
            if depth == 2:
                within = mark == _LIST and last == b'"models"'
            elif depth == 3:
                start = token.start()
        else:
            if depth == 3 and within:
                yield slice(start, token.end())
            depth -= 1


def _models(text: Text) -> Iterator[tuple[slice, JsonObject]]:
    spans = list(_spans(text))
    view = memoryview(text)
    edges = zip([0, *(span.stop for span in spans)], [*(span.start for span in spans), len(text)], strict=True)
    whole = _parsed(b"0".join(view[start:stop] for start, stop in edges))
    models = whole.get("models") if isinstance(whole, dict) else None
    if not isinstance(models, list) or not models:
        raise UnreadableCatalogueError("it lists no models")
    for span in spans:
        model = _parsed(view[span])
        if not isinstance(model, dict) or not isinstance(model.get("slug"), str):
            raise UnreadableCatalogueError("a model in it has no name")
        yield span, model
    if models != [0] * len(spans):
        raise UnreadableCatalogueError("a model in it has no name")


def _parsed(text: bytes | memoryview) -> Json:
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnreadableCatalogueError(f"it is not JSON ({error})") from None
    return found


def _let_in(model: JsonObject) -> bool:
    """Take a model's own text for the Default mode away; tells whether it had one."""
    messages = model.get("model_messages")
    modes = messages.get("collaboration_modes") if isinstance(messages, dict) else None
    if not isinstance(messages, dict) or not isinstance(modes, dict) or modes.get("default") is None:
        return False
    modes["default"] = None
    if all(value is None for value in modes.values()):
        messages["collaboration_modes"] = None
    return True


def _facts(model: JsonObject) -> ModelFacts:
    messages = model.get("model_messages")
    modes = messages.get("collaboration_modes") if isinstance(messages, dict) else None
    own = modes.get("default") if isinstance(modes, dict) else None
    kind, window = model.get("multi_agent_version"), model.get("context_window")
    return ModelFacts(
        slug=str(model["slug"]),
        honours_mode_text=own is None,
        multi_agent="v1" if kind == "v1" else "v2" if kind == "v2" else None,
        context_window=window if isinstance(window, int) else None,
    )
