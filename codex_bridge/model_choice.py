"""Which model and effort of the configuration a turn on Codex asks for.

Pure (harness reference 2.5, 2.6).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness.settings.agent import ModelSettings

OWN_PROVIDERS: Final = frozenset({"openai", "codex", "openai-codex"})
"""Names of providers under which a model is one of Codex's own."""
EFFORTS: Final[Mapping[str, str]] = MappingProxyType(
    # The models of today refuse "minimal", which costs a second request on every turn (harness reference 2.5).
    {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
)
"""Codex's effort for a level of thinking; a level that is not here leaves the effort to the model."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What to ask Codex for."""

    model: str | None = None
    """None: Codex's own choice."""
    effort: str | None = None
    """None: the model's own."""
    problem: str = ""
    """One sentence when the configuration wants a model that Codex does not run; empty when all is well."""


def model_choice(models: ModelSettings) -> ModelChoice:
    """Settle the model that an agent's configuration names, by its id or by an alias."""
    effort = EFFORTS.get((models.thinking or "").strip().lower())
    named = (models.primary or "").strip()
    whole = models.aliases.get(named, named).strip()
    provider, slash, model = whole.partition("/")
    if not slash:
        return ModelChoice(whole or None, effort)
    if provider.strip().lower() in OWN_PROVIDERS and model.strip():
        return ModelChoice(model.strip(), effort)
    problem = (
        f"The configured model {whole} is no model of Codex, which answers with its own choice; "
        "name one such as openai/gpt-5.5 in agents.defaults.model, or give --model."
    )
    return ModelChoice(None, effort, problem)
