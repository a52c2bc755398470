"""Folders for runs that leave nothing behind: `codex-bridge demo` and `codex-bridge lanes verify`."""

import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Final

from codex_bridge.home import StateFolderError, made_dir

PREFIX: Final = "codex-bridge-run-"
"""How the name of each such folder begins; a folder of another name is somebody else's."""
LEFT_BEHIND: Final = 3600.0
"""Seconds after which a run's folder belongs to nobody any more; a run takes a few."""


@contextmanager
def scratch(parent: Path) -> Generator[Path]:
    """Give a run a folder below `parent` that only the owner may enter, and sweep away what killed runs left there.

    Not in the system's temporary folder, which Codex complains about for a home. `parent` itself and all else that is
    in it may be a person's, and stay as they are.

    Raises:
        StateFolderError: No folder can be made there.
    """
    made_dir(parent)
    try:
        _sweep(parent)
        run = tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent)
    except OSError as error:
        raise StateFolderError(parent, error.strerror or str(error)) from error
    with run as folder:
        yield Path(folder)


def _sweep(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # another run sweeps as well
            found = folder.lstat()
            if S_ISDIR(found.st_mode) and time.time() - found.st_mtime > LEFT_BEHIND:
                shutil.rmtree(folder, ignore_errors=True)
