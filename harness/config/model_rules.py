"""Which model an agent runs on, and by which names it is known.

Pure.
"""

from harness.config.agent_keys import AgentDefaults, AgentEntry, AgentOverrides, ModelChoice, ModelEntry
from harness.config.levels import first
from harness.settings.agent import ModelSettings


def models_of(defaults: AgentDefaults, entry: AgentEntry) -> ModelSettings:
    """Return the models of an agent; one that only names its model keeps the shared fallbacks."""
    own, shared = _choice(entry), _choice(defaults)
    known = {**(defaults.models or {}), **(entry.models or {})}
    return ModelSettings(
        primary=own.primary or shared.primary,
        fallbacks=first(own.fallbacks, shared.fallbacks) or (),
        aliases=_aliases(known),
        harness_ids=_harness_ids(known),
        thinking=entry.thinking_default or defaults.thinking_default,
        reasoning=entry.reasoning_default or defaults.reasoning_default,
        fast_mode=first(entry.fast_mode_default, defaults.fast_mode_default),
    )


def _choice(level: AgentOverrides) -> ModelChoice:
    if isinstance(level.model, str):
        return ModelChoice.model_construct(primary=level.model)
    return level.model or ModelChoice()


def _aliases(known: dict[str, ModelEntry]) -> dict[str, str]:
    named = {(entry.alias or "").strip(): model for model, entry in known.items()}
    return {alias: named[alias] for alias in sorted(named) if alias}


def _harness_ids(known: dict[str, ModelEntry]) -> dict[str, str]:
    chosen = {model: entry.agent_runtime.id for model, entry in known.items() if entry.agent_runtime}
    return {model: harness for model, harness in chosen.items() if harness}
