"""Which file may leave the machine as part of what an agent says: one rule for every way in which it can name one.

Looks at the disk, and reads and fetches nothing. An address is passed on as it is: the channel fetches it, if anybody.
"""

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Final

from harness.lean_values import dataclass
from harness.workspace.names import LOAD_ORDER, MEMORY_FOLDER

LONGEST_SOURCE: Final = 4_096
"""Characters of a path or an address; the longest path that Linux takes."""
_SHOWN: Final = 120
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)
_BOOTSTRAP: Final = frozenset(name.lower() for name in LOAD_ORDER)


@dataclass(frozen=True, slots=True)
class Sendable:
    """Something that may be sent: the real path of a file, or an address."""

    source: str
    is_address: bool = False


@dataclass(frozen=True, slots=True)
class NotSendable:
    """Why something is not sent, in one sentence that names it."""

    why: str


def sendable(
    source: str, workspace: Path, *, generated: Iterable[Path] = (), private: Iterable[Path] = ()
) -> Sendable | NotSendable:
    """Say whether a file, or what an address leads to, may be sent. Looks at the disk.

    A file has to be a regular one inside of the workspace, or of a folder of generated media, after every link is
    followed. Files and folders whose name begins with a dot never leave, nor do the files that tell the agent who it
    and its owner are, nor its memory, nor what lies in a private folder.

    Args:
        source: A path, absolute or relative to the workspace, or an http(s) address.
        workspace: The agent's folder.
        generated: Folders of what the turn's own tools made.
        private: Folders of the gateway and the backend, wherever they are.
    """
    named = source.strip()
    if not named or len(named) > LONGEST_SOURCE or not named.isprintable():
        return _no(named, "is no path and no address")
    if _ADDRESS.fullmatch(named):
        return Sendable(named, is_address=True)
    if _SCHEME.match(named):
        return _no(named, "is neither a path nor an http or https address")
    try:
        real = Path(os.path.realpath(workspace / named, strict=True))
        status = real.lstat()
    except FileNotFoundError:
        return _no(named, "is not there")
    except (OSError, ValueError):
        return _no(named, "cannot be looked at")
    if any(real.is_relative_to(os.path.realpath(folder)) for folder in private):
        return _no(named, "belongs to the gateway")
    home = Path(os.path.realpath(workspace))
    roots = [home, *(Path(os.path.realpath(folder)) for folder in generated)]
    inside = [real.relative_to(root) for root in roots if real.is_relative_to(root)]
    if not inside:
        return _no(named, "is outside the workspace")
    if not stat.S_ISREG(status.st_mode):
        return _no(named, "is no regular file")
    if status.st_nlink > 1:
        return _no(named, "is a hard link")
    if all(any(part.startswith(".") for part in below.parts) for below in inside):
        return _no(named, "is hidden")
    if real.is_relative_to(home) and _is_of_the_agent(real.relative_to(home)):
        return _no(named, "is one of the agent's own files")
    return Sendable(str(real))


def _is_of_the_agent(below: PurePath) -> bool:
    return below.name.lower() in _BOOTSTRAP or below.parts[0].lower() == MEMORY_FOLDER


def _no(named: str, why: str) -> NotSendable:
    return NotSendable(f"{named[:_SHOWN]!r} is not sent: it {why}.")
