"""What Codex's catalogue of models says of each, and the same catalogue with our turn-scoped text let in.

Pure. A model whose entry has a text of its own for the Default mode never sees ours; with that one text taken out of
the catalogue it does (protocol reference, 3.4 and 12, measured on both pinned versions).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

import orjson

from codex_bridge.rpc import Json, JsonObject

CatalogueMode: TypeAlias = Literal["auto", "patched", "untouched"]
"""`appServer.modelCatalog`: whether the server gets a patched catalogue; `auto` where the home is ours."""
MultiAgent: TypeAlias = Literal["v1", "v2"]


class UnreadableCatalogueError(ValueError):
    """What was given is no catalogue."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What one model's entry says."""

    slug: str
    honours_mode_text: bool
    """Whether it sees our text of the Default mode."""
    multi_agent: MultiAgent | None
    """Which kind of subagents it has; None where the server's features decide."""
    context_window: int | None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models that a server knows, as it was told."""

    models: Mapping[str, ModelFacts]
    source: str
    """Where it comes from, for a person."""
    patched: bool = False

    def honours_mode_text(self, model: str) -> bool:
        """Whether the model sees our text of the Default mode.

        A name that the catalogue does not have is treated as Codex treats it: our text counts (measured).
        """
        facts = self.models.get(model)
        return facts is None or facts.honours_mode_text


UNKNOWN: Final = Catalogue(MappingProxyType({}), "no catalogue")
"""Stands where no catalogue could be read."""


def entries(text: bytes) -> list[JsonObject]:
    """The models of a catalogue as Codex writes it.

    Raises:
        UnreadableCatalogueError: It is not JSON, or not of that form.
    """
    try:
        found: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnreadableCatalogueError(f"it is not JSON ({error})") from None
    models = found.get("models") if isinstance(found, dict) else None
    if not isinstance(models, list) or not models:
        raise UnreadableCatalogueError("it lists no models")
    sound = [model for model in models if isinstance(model, dict) and isinstance(model.get("slug"), str)]
    if len(sound) != len(models):
        raise UnreadableCatalogueError("a model in it has no name")
    return sound


@lru_cache(maxsize=4)
def read(text: bytes, source: str) -> Catalogue:
    """Read a catalogue.

    Raises:
        UnreadableCatalogueError: It is not JSON, or not of that form.
    """
    found = [_facts(model) for model in entries(text)]
    return Catalogue(MappingProxyType({facts.slug: facts for facts in found}), source, patched=_is_patched(text))


def patched(text: bytes) -> bytes:
    """The same catalogue, with no model's own text for the Default mode; nothing else is changed.

    The file takes the place of the server's whole catalogue, so every entry is kept as it is.

    Raises:
        UnreadableCatalogueError: It is not JSON, or not of that form.
    """
    models = entries(text)
    for model in models:
        messages = model.get("model_messages")
        modes = messages.get("collaboration_modes") if isinstance(messages, dict) else None
        if isinstance(messages, dict) and isinstance(modes, dict) and modes.get("default") is not None:
            modes["default"] = None
            if all(value is None for value in modes.values()):
                messages["collaboration_modes"] = None
    whole = cast("JsonObject", orjson.loads(text))
    return orjson.dumps({**whole, "models": models, _MARK: True})


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
