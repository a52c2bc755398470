"""Which settings of Codex keep an agent's web searches to what its configuration allows.

Pure. Measured on 0.163 and 0.171: they are obeyed in the `config` of thread/start and thread/resume, and by themselves
both versions search an index that the provider keeps.
"""

from typing import Final

from harness.settings.agent import SearchSettings

_TOOL: Final = "tools.web_search"


def search_config(search: SearchSettings) -> dict[str, object]:
    """The settings for thread/start and thread/resume; none where Codex's own ways are wanted."""
    if not search.enabled:
        return {"web_search": "disabled"}
    chosen: dict[str, object] = {
        "web_search": search.mode,
        f"{_TOOL}.allowed_domains": list(search.allowed_domains),
        f"{_TOOL}.context_size": search.context_size,
        f"{_TOOL}.location": dict(search.location),
    }
    return {name: value for name, value in chosen.items() if value}
