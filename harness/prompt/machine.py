"""What a prompt tells of the machine: host and system, the repository, where the gateway's documentation is.

Looks at the disk; call it when something may have changed, not on every turn.
"""

import os
import platform
from pathlib import Path
from typing import Final

from harness.prompt.facts import DocsFacts, RuntimeFacts
from harness.settings.agent import AgentSettings

DOCS_INDEX: Final = "docs.json"
"""The file by which a folder is known to be the gateway's documentation (prompt-builder 12)."""


def machine_facts(settings: AgentSettings, *, model: str = "") -> RuntimeFacts:
    """Return the facts about this machine and the agent's repository."""
    repo = find_repo(settings)
    return RuntimeFacts(
        agent=settings.id,
        host=platform.node(),
        repo=str(repo) if repo else "",
        os=f"{platform.system()} {platform.release()}".strip(),
        arch=platform.machine(),
        model=model or settings.models.primary or "",
        default_model=settings.models.primary or "",
        shell=os.environ.get("SHELL", "").rpartition("/")[2],
    )


def find_repo(settings: AgentSettings) -> Path | None:
    """Return the configured repository if it is there, else the one that the workspace or the current folder is in."""
    if settings.repo_root is not None and settings.repo_root.is_dir():
        return settings.repo_root
    starts = (settings.workspace, Path.cwd())
    return next((folder for start in starts for folder in (start, *start.parents) if _is_checkout(folder)), None)


def find_docs(workspace: Path, package: Path | None = None) -> DocsFacts:
    """Return where the gateway's documentation and source are on this machine.

    Args:
        workspace: The agent's workspace, whose own `docs` comes first.
        package: The folder of the installed gateway, when it is known. Its source counts only in a Git checkout.
    """
    folders = [workspace / "docs", *([package / "docs"] if package else [])]
    docs = next((folder for folder in folders if (folder / DOCS_INDEX).is_file()), None)
    source = package if package is not None and _is_checkout(package) else None
    return DocsFacts(docs=str(docs) if docs else "", source=str(source) if source else "")


def _is_checkout(folder: Path) -> bool:
    """Whether a folder holds a Git checkout. A sandbox leaves an empty `.git` behind in folders that it guards."""
    git = folder / ".git"
    return git.is_file() or (git / "HEAD").is_file()
