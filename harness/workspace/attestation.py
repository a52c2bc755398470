"""Whether a workspace that is empty now was full a short while ago, so that it is not silently filled anew.

Touches the disk: a small marker per workspace in the gateway's state folder, outside the workspace.
"""

import hashlib
import os
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import orjson

from harness.errors import WorkspaceError

RECENT = timedelta(hours=24)
"""How long a marker counts (prompt-builder 7.12)."""

_REFRESH = timedelta(hours=1)
_MARKER_BYTES = 2048


class WorkspaceVanishedError(WorkspaceError):
    """A workspace that was in use a short while ago is empty.

    Attributes:
        workspace: Its path.
        attested_at: When it was last seen in use.
        marker: The file that remembers this.
    """

    def __init__(self, workspace: str, attested_at: datetime, marker: str) -> None:
        super().__init__(
            f"The workspace {workspace} is empty, but it was in use at {attested_at.isoformat()}. "
            f"Mount or restore the folder; to start afresh instead, delete {marker}."
        )
        self.workspace = workspace
        self.attested_at = attested_at
        self.marker = marker


def marker_path(state_dir: str, workspace: str) -> Path:
    """Return where the marker of a workspace is kept."""
    digest = hashlib.sha256(os.path.realpath(workspace).encode("utf-8", "surrogateescape")).hexdigest()
    return Path(state_dir, "workspace-attestations", f"{digest}.attested")


def attested_at(state_dir: str, workspace: str) -> datetime | None:
    """Return when the workspace was last seen in use; None when there is no usable marker."""
    with suppress(OSError, ValueError):
        with marker_path(state_dir, workspace).open("rb") as file:
            data = file.read(_MARKER_BYTES + 1)
        value = cast("object", orjson.loads(data)) if len(data) <= _MARKER_BYTES else None
        if isinstance(value, dict):
            at = datetime.fromisoformat(str(cast("dict[str, object]", value).get("attestedAt")))
            return at if at.tzinfo is not None else None
    return None


def refuse_if_vanished(state_dir: str, workspace: str, *, now: datetime) -> None:
    """Check an empty workspace against its marker.

    Raises:
        WorkspaceVanishedError: It was in use within the last `RECENT`.
    """
    at = attested_at(state_dir, workspace)
    if at is not None and now - at < RECENT:
        raise WorkspaceVanishedError(workspace, at, str(marker_path(state_dir, workspace)))


def attest(state_dir: str, workspace: str, *, now: datetime) -> None:
    """Remember that the workspace is in use now; a marker less than an hour old is left alone.

    Raises:
        OSError: The marker could not be written.
    """
    at = attested_at(state_dir, workspace)
    if at is not None and timedelta(0) <= now - at < _REFRESH:
        return
    marker = marker_path(state_dir, workspace)
    marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = marker.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(orjson.dumps({"attestedAt": now.isoformat()}))
    fresh.replace(marker)
