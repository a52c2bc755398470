"""Whether Codex may read the rules of a workspace by itself, or must get a copy.

Touches the disk. A turn is composed from the AGENTS.md that the guard judged, and Codex reads what stands there when
the thread is opened. In between, and while a message waits for its turn, a command of the model can put another file
there: a link to the memory, say, for a group's conversation.
"""

import os.path
from pathlib import Path
from typing import Final

from harness.layers import Composition, LayerName
from harness.workspace.guard import Candidate, TransientReadError, inspect, load
from harness.workspace.names import AGENTS
from harness.workspace.reads import Content

OVERRIDE: Final = "AGENTS.override.md"
"""Codex's own name for a file that takes the place of AGENTS.md (measured, `docs/measured.md`)."""


def is_overridden(workspace: Path) -> bool:
    """Whether Codex would read another file for the rules of a workspace than AGENTS.md."""
    # A link that leads nowhere counts: it may lead somewhere by the time Codex looks.
    return os.path.lexists(f"{workspace}/{OVERRIDE}")  # on every turn, and another Path costs more than the look


def must_be_copied(workspace: Path, composition: Composition) -> bool:
    """Whether Codex would find other rules in the workspace now than those that the turn was composed from."""
    judged = composition.get(LayerName.AGENTS)
    return is_overridden(workspace) or (judged is not None and _text_of(workspace / AGENTS) != judged.text)


def _text_of(path: Path) -> str | None:
    """The file's text as a layer holds it; None when the guard would not let it be read."""
    root = os.path.realpath(path.parent)
    try:
        found = inspect(root, str(path))
        read = load(root, found) if isinstance(found, Candidate) else found
    except TransientReadError:
        return None
    return read.text.strip() if isinstance(read, Content) else None
