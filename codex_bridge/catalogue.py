"""What Codex's catalogue of models says of each, as far as we act on it.

Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from harness.lean_values import dataclass

CatalogueMode: TypeAlias = Literal["auto", "patched", "untouched"]
"""`appServer.modelCatalog`: whether the server gets a patched catalogue; `auto` where the home is ours."""
MultiAgent: TypeAlias = Literal["v1", "v2"]


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
    digest: str = ""
    """Of the text that a server gets or has; empty where none could be read."""
    told_at: float = 0.0
    """When the binary told it, in Unix seconds; 0 where nobody keeps that."""

    def honours_mode_text(self, model: str) -> bool:
        """Whether the model sees our text of the Default mode.

        A name that the catalogue does not have is treated as Codex treats it: our text counts (measured).
        """
        facts = self.models.get(model)
        return facts is None or facts.honours_mode_text


UNKNOWN: Final = Catalogue(MappingProxyType({}), "no catalogue")
"""Stands where no catalogue could be read."""
