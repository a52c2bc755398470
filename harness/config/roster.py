"""Which agents a configuration has, which of them is the default, and where each keeps its workspace.

Pure.
"""

import re
from pathlib import Path

from harness.config.agent_keys import AgentEntry
from harness.config.root import OpenClawConfig
from harness.config.surroundings import Surroundings

MAIN = "main"
"""The agent of a configuration that names none."""
LONGEST_ID = 64
NOT_IN_AN_ID = re.compile(r"[^a-z0-9_-]+")


def agent_id_of(text: str | None) -> str:
    """Bring an agent's id to its one form: lower case, with `-` for anything but letters, digits, `_` and `-`."""
    plain = NOT_IN_AN_ID.sub("-", (text or "").strip().lower()).strip("-")
    return plain[:LONGEST_ID].rstrip("-") or MAIN


def agent_ids(values: OpenClawConfig) -> tuple[str, ...]:
    """Return the ids of all agents in the order of the file; `main` alone when it names none."""
    return tuple(dict.fromkeys(agent_id_of(entry.id) for entry in values.agents.list)) or (MAIN,)


def default_agent_id(values: OpenClawConfig) -> str:
    """Return the first agent marked `default`, else the first of the list, else `main`."""
    entries = values.agents.list
    chosen = next((entry for entry in entries if entry.default), entries[0] if entries else AgentEntry())
    return agent_id_of(chosen.id)


def entry_of(values: OpenClawConfig, agent_id: str) -> AgentEntry | None:
    """Return the first entry of an agent, or None when the list does not name it."""
    wanted = agent_id_of(agent_id)
    return next((entry for entry in values.agents.list if agent_id_of(entry.id) == wanted), None)


def workspace_of(values: OpenClawConfig, agent_id: str, surroundings: Surroundings) -> Path:
    """Return the workspace of an agent (prompt-builder 14).

    Its own `workspace`; else for the default agent the shared `workspace` or the machine's default; else a folder
    with the agent's id in the shared workspace, or `workspace-<id>` in the state directory.
    """
    entry = entry_of(values, agent_id)
    own = ((entry.workspace if entry else None) or "").strip()
    shared = (values.agents.defaults.workspace or "").strip()
    wanted = agent_id_of(agent_id)
    if own:
        return surroundings.path(own)
    if wanted == default_agent_id(values):
        return surroundings.path(shared) if shared else surroundings.default_workspace
    return surroundings.path(shared) / wanted if shared else surroundings.state_dir / f"workspace-{wanted}"
