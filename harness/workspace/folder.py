"""Is there a workspace at all? Everything else about it is no error: a missing file is only told."""

import os.path
from pathlib import Path

from harness.errors import WorkspaceError


def check_folder(workspace: Path) -> None:
    """Make sure that the workspace is a folder.

    Raises:
        WorkspaceError: It is not there, or is something else.
    """
    if not os.path.isdir(workspace):  # noqa: PTH112 - on every turn, and Path.is_dir costs as much again
        raise WorkspaceError(f"The workspace {workspace} is no folder; create it or name another.")
