"""How much of a workspace reaches the prompt.

Pure.
"""

from harness.config.agent_keys import AgentDefaults, AgentEntry
from harness.config.levels import first, size_of
from harness.config.root import OpenClawConfig
from harness.config.tool_keys import InternalHook
from harness.settings.files import EXTRA_FILES_HOOK, FileLimits, FileSettings, SeedOptions

BUILT_IN = FileSettings()


def files_of(values: OpenClawConfig, entry: AgentEntry) -> FileSettings:
    """Return how the workspace's files are used; the warning mode has no level of its own for an agent."""
    defaults, hooks = values.agents.defaults, values.hooks.internal
    extra = hooks.entries.get(EXTRA_FILES_HOOK) or InternalHook()
    return FileSettings(
        limits=_limits(defaults, entry),
        warning=defaults.bootstrap_prompt_truncation_warning or BUILT_IN.warning,
        injection=first(entry.context_injection, defaults.context_injection) or BUILT_IN.injection,
        seed=SeedOptions(defaults.skip_bootstrap, frozenset(defaults.skip_optional_bootstrap_files)),
        extra_files=trimmed(extra.paths or extra.patterns or extra.files) if extra.enabled is not False else (),
        hooks_enabled=hooks.enabled is not False,
    )


def _limits(defaults: AgentDefaults, entry: AgentEntry) -> FileLimits:
    """Return the limits; without a total, one file's limit above the built-in total raises it (prompt-builder 7.8)."""
    own = size_of(entry.bootstrap_max_chars, defaults.bootstrap_max_chars) or BUILT_IN.limits.per_file
    total = size_of(entry.bootstrap_total_max_chars, defaults.bootstrap_total_max_chars)
    return FileLimits(own, total or max(own, BUILT_IN.limits.total))


def trimmed(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts without white space around them, blank ones dropped."""
    return tuple(text.strip() for text in texts if text.strip())
