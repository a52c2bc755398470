"""Is there a workspace at all? Everything else about it is no error: a missing file is only told."""

from pathlib import Path

from harness.errors import WorkspaceError


def check_folder(workspace: Path) -> None:
    """Make sure that the workspace is a folder.

    Raises:
        WorkspaceError: It is not there, or is something else.
    """
    if not workspace.is_dir():
        raise WorkspaceError(f"The workspace {workspace} is no folder; create it or name another.")
