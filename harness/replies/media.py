"""Which files an agent may put into a chat: one guard for directives, tools and what a turn made.

Touches the disk. A path has to lead, with every link followed, to a regular file in the workspace or in a folder of
what turns made; what is private there stays there, whatever the agent was talked into. An http(s) address is passed on
as it is and fetched by nobody here.

Between the look and the moment in which a channel reads the file, somebody may put another in its place. So what is
handed on is the path without any link, and `opened` follows none on the whole way to it: a folder or file that became
a link meanwhile is not read. What is left: whoever may write there can put other bytes into the file, as before.
"""

import os
import re
import stat
from pathlib import PurePath
from typing import BinaryIO, Final, TypeAlias
from urllib.parse import urlsplit

from harness.lean_values import dataclass

LONGEST: Final = 4096
"""Characters of a path, and of an address; no file system takes a longer one."""
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_BAD: Final = re.compile(r"[\x00-\x20\x7f]")
LARGEST: Final = 50_000_000
"""Bytes of a file; Telegram takes no more from a bot."""
LARGEST_MADE: Final = 6 * 1024 * 1024
"""Bytes of a picture that a turn made (harness reference: `mediaMaxMb` of the original is 6 by default)."""
_PICTURES: Final = (".gif", ".jpeg", ".jpg", ".png", ".webp")
_SHOWN: Final = 120
"""How much of what was named is repeated to the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRules:
    """Where files may be taken from."""

    workspace: str = ""
    """The agent's folder; empty for none."""
    made: tuple[str, ...] = ()
    """Folders in which turns leave what they made, which may lie inside of private ones."""
    most_made: int = LARGEST_MADE
    """Bytes of a file of theirs."""
    private: tuple[str, ...] = ()
    """Files and folders from which nothing goes out: stores, and homes of backends."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A file that does not go out."""

    named: str
    """What was asked for, as far as it is shown."""
    reason: str
    """Completes the sentence "NAMED was not sent: ..."."""

    @property
    def line(self) -> str:
        """One sentence for the operator."""
        return f"{self.named!r} was not sent: {self.reason}."


Checked: TypeAlias = str | Dropped
"""A path without links or an address, or why there is none."""


def checked(named: str, rules: MediaRules) -> Checked:
    """Say what goes out for a path or an address that the agent named.

    Args:
        named: The path, absolute or relative to the workspace, or the address.
        rules: Where files may be taken from.
    """
    if found := _reason(named):
        return Dropped(named[:_SHOWN], found)
    if _ADDRESS.match(named):
        return named
    path = os.path.expanduser(named)  # noqa: PTH111 - the method of a path raises for a user who does not exist
    roots = [*rules.made, *([rules.workspace] if rules.workspace else [])]
    try:
        full = os.path.join(rules.workspace or os.sep, path)  # noqa: PTH118 - a path would drop "." and more
        real = os.path.realpath(full, strict=True)
        status = os.lstat(real)
    except ValueError:
        return Dropped(named[:_SHOWN], "its path holds a character that no file name can have")
    except OSError as error:
        return Dropped(named[:_SHOWN], f"it cannot be read ({error.strerror or 'unknown error'})")
    root = next((each for each in roots if _is_in(real, os.path.realpath(each))), None)
    if root is None:
        return Dropped(named[:_SHOWN], "it leads outside the workspace; the agent has to copy the file there first")
    most = rules.most_made if root in rules.made else LARGEST
    reason = _private(real, full, root, rules) or _unfit(status) or _too_large(status.st_size, most)
    if not reason and root in rules.made:
        reason = _strange(real)
    return Dropped(named[:_SHOWN], reason) if reason else real


def opened(path: str) -> BinaryIO:
    """Open a file that `checked` gave the path of, for a channel to read.

    Raises:
        OSError: It is gone, or a link or something else than a regular file has taken its place.
    """
    *folders, name = PurePath(path).parts[1:]
    follow_nothing = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    parent = os.open(os.sep, follow_nothing | os.O_DIRECTORY)
    try:
        for folder in folders:
            child = os.open(folder, follow_nothing | os.O_DIRECTORY, dir_fd=parent)
            os.close(parent)
            parent = child
        # Without O_NONBLOCK a named pipe put in the file's place would hold us up here.
        descriptor = os.open(name, follow_nothing | os.O_NONBLOCK, dir_fd=parent)
    finally:
        os.close(parent)
    if _unfit(os.fstat(descriptor)):
        os.close(descriptor)
        raise OSError(f"{path} is not the file any more that it was.")
    return os.fdopen(descriptor, "rb")


def is_address(source: str) -> bool:
    """Whether it is for the channel to fetch."""
    return source[:8].lower().startswith(("http://", "https://"))


def _reason(named: str) -> str:
    """Why something is not looked at; empty when it is."""
    if not named.strip():
        return "no file is named"
    if len(named) > LONGEST:
        return "it is longer than any path"
    if not _ADDRESS.match(named):
        return ""
    if not is_address(named):
        return "only http and https addresses are passed on"
    if _BAD.search(named):
        return "its address holds blanks"
    try:
        parts = urlsplit(named)
    except ValueError:
        return "it is no address"
    if not parts.hostname:
        return "its address names no host"
    return "its address holds a password" if parts.username or parts.password else ""


def _private(real: str, full: str, root: str, rules: MediaRules) -> str:
    """Why a file that lies in a root stays there all the same; empty when it may go out."""
    from harness.workspace.names import LOAD_ORDER, MEMORY_FOLDER  # few turns send files

    root, is_workspace = os.path.realpath(root), root == rules.workspace
    inside = PurePath(real).relative_to(root).parts
    if any(part.startswith(".") for part in (*inside, PurePath(full).name)):
        return "it is hidden, or in a hidden folder"
    if is_workspace and inside[-1].casefold() in {name.casefold() for name in LOAD_ORDER}:
        return "it is a file of the prompt"
    if is_workspace and inside[0].casefold() == MEMORY_FOLDER and inside[-1].casefold().endswith(".md"):
        return "it is a note of the memory"
    # A workspace may lie in the folder of the gateway's state; what lies beside it there is no business of a chat.
    private = map(os.path.realpath, rules.private)
    return "it belongs to the gateway" if any(_is_in(real, at) and not _is_in(root, at) for at in private) else ""


def _unfit(status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_nlink > 1:
        return "it is a hard link, a second name of some other file"
    return "" if status.st_size else "it is empty"


def _too_large(size: int, most: int) -> str:
    return f"it has {size:,} bytes, and more than {most:,} are not sent" if size > most else ""


def _strange(real: str) -> str:
    """Why what a turn made is not what its name says; empty when it is."""
    if not real.lower().endswith(_PICTURES):
        return ""
    from harness.pictures import picture_begun

    try:
        with opened(real) as file:
            return "" if picture_begun(file.read(12)) else "its name is that of a picture, and what it holds is none"
    except OSError as error:
        return f"it cannot be read ({error.strerror or 'unknown error'})"


def is_same(one: str, other: str) -> bool:
    """Whether two files that `checked` gave the paths of hold the same, or are the same address."""
    if one == other or is_address(one) or is_address(other):
        return one == other
    from filecmp import cmp  # few turns send more than one file

    try:
        return cmp(one, other, shallow=False)
    except OSError:  # it is gone meanwhile, which is told when it is to be sent
        return False


def _is_in(path: str, folder: str) -> bool:
    return PurePath(path).is_relative_to(folder)
