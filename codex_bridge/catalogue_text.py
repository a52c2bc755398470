"""The catalogue of models as Codex writes it: read, and with our turn-scoped text let in.

Pure. A model whose entry has a text of its own for the Default mode never sees ours; with that one text taken out of
the catalogue it does (protocol reference, 3.4 and 12, measured on both pinned versions).
"""

from types import MappingProxyType
from typing import Final

import orjson

from codex_bridge.catalogue import Catalogue, ModelFacts
from codex_bridge.rpc import Json, JsonObject


class UnreadableCatalogueError(ValueError):
    """What was given is no catalogue."""


def _whole(text: bytes) -> JsonObject:
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnreadableCatalogueError(f"it is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise UnreadableCatalogueError("it lists no models")
    return found


def _entries(whole: JsonObject) -> list[JsonObject]:
    models = whole.get("models")
    if not isinstance(models, list) or not models:
        raise UnreadableCatalogueError("it lists no models")
    sound = [model for model in models if isinstance(model, dict) and isinstance(model.get("slug"), str)]
    if len(sound) != len(models):
        raise UnreadableCatalogueError("a model in it has no name")
    return sound


def read(text: bytes, source: str) -> Catalogue:
    """Read a catalogue.

    Raises:
        UnreadableCatalogueError: It is not JSON, or not of that form.
    """
    found = [_facts(model) for model in _entries(_whole(text))]
    return Catalogue(MappingProxyType({facts.slug: facts for facts in found}), source, patched=_is_patched(text))


def patched(text: bytes) -> tuple[bytes, list[ModelFacts]]:
    """The same catalogue, with no model's own text for the Default mode; nothing else is changed.

    The file takes the place of the server's whole catalogue, so every entry is kept as it is. Gives what the new one
    says of each model as well: it is a megabyte, and read once.

    Raises:
        UnreadableCatalogueError: It is not JSON, or not of that form.
    """
    whole = _whole(text)
    models = _entries(whole)
    for model in models:
        messages = model.get("model_messages")
        modes = messages.get("collaboration_modes") if isinstance(messages, dict) else None
        if isinstance(messages, dict) and isinstance(modes, dict) and modes.get("default") is not None:
            modes["default"] = None
            if all(value is None for value in modes.values()):
                messages["collaboration_modes"] = None
    return orjson.dumps({**whole, _MARK: True}), list(map(_facts, models))


_MARK: Final = "patched_by_openclaw_codex_bridge"
"""Member by which our own file is known."""


def _is_patched(text: bytes) -> bool:
    return _MARK.encode() in text


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
