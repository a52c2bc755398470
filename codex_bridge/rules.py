"""Whether Codex may read the rules of a workspace by itself, or must get a copy.

Touches the disk. A turn is composed from the AGENTS.md that the guard judged, and Codex reads what stands there when
the thread is opened. In between, and while a message waits for its turn, a command of the model can put another file
there: a link to the memory, say, for a group's conversation.
"""

import os.path
from enum import Enum
from pathlib import Path
from typing import Final

from harness.layers import Composition, LayerName
from harness.workspace.guard import Candidate, TransientReadError, inspect, load
from harness.workspace.names import AGENTS
from harness.workspace.reads import Content


class Unfit(Enum):
    """Rules that Codex must not read."""

    UNFIT = "another file, or one that the guard does not let be read"


UNFIT: Final = Unfit.UNFIT
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


def found_rules(workspace: Path, composition: Composition) -> str | Unfit | None:
    """AGENTS.md as Codex would read it now; None when there is none.

    It may have been edited since the composition was made. A link may lead to the memory since then.
    """
    path = workspace / AGENTS
    if is_overridden(workspace):
        return UNFIT
    if not os.path.lexists(path):
        return None
    judged, text = composition.get(LayerName.AGENTS), _text_of(path)
    same = judged is not None and judged.text == text
    return UNFIT if text is None or (path.is_symlink() and not same) else text


def finds_none(workspace: Path) -> bool:
    """Whether Codex would find no rules in the workspace now."""
    return not is_overridden(workspace) and not os.path.lexists(workspace / AGENTS)


def _text_of(path: Path) -> str | None:
    """The file's text as a layer holds it; None when the guard would not let it be read."""
    root = os.path.realpath(path.parent)
    try:
        found = inspect(root, str(path))
        read = load(root, found) if isinstance(found, Candidate) else found
    except TransientReadError:
        return None
    return read.text.strip() if isinstance(read, Content) else None
