"""Which files of a workspace match a glob such as `packages/*/AGENTS.md`.

Touches the disk, but lists a folder again only when it changed, so repeating a search costs one `stat` per folder.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.workspace.names import LOAD_ORDER
from harness.workspace.reads import SETTLED_NS

MOST_FOLDERS = 5_000
"""Folders that one search may look into."""

MOST_ALTERNATIVES = 256
"""Patterns that the braces of one glob may stand for."""

_SKIPPED = frozenset({"node_modules"})
"""Folders that `**` does not enter, besides hidden ones."""


class TooWideError(ValueError):
    """A glob stands for more than may be searched."""


@dataclass(frozen=True, slots=True)
class _Listing:
    times_ns: tuple[int, int]
    """When the folder was modified and when it was changed: the first can be set by anybody, the second cannot."""
    settled: bool
    folders: tuple[str, ...]
    """Names of the folders below, links to folders included."""
    plain_folders: frozenset[str]
    """Those of them that are no links."""
    files: tuple[str, ...]


def is_glob(pattern: str) -> bool:
    """Whether `pattern` stands for anything but itself."""
    return any(character in pattern for character in "*?[{")


def alternatives(pattern: str) -> list[str]:
    """Write out the braces of a glob: `a/{b,c}` is `a/b` and `a/c`.

    Raises:
        TooWideError: More than `MOST_ALTERNATIVES` patterns result.
    """
    pending, done = [pattern], list[str]()
    while pending:
        if len(pending) + len(done) > MOST_ALTERNATIVES:
            raise TooWideError(f"its braces stand for more than {MOST_ALTERNATIVES} patterns")
        current = pending.pop(0)
        close = current.find("}")
        start = current.rfind("{", 0, close) if close >= 0 else -1
        if start < 0:
            done.append(current)
            continue
        before, after = current[:start], current[close + 1 :]
        pending = [f"{before}{choice}{after}" for choice in current[start + 1 : close].split(",")] + pending
    return done


class Globber:
    """Searches folders and remembers their listings.

    Args:
        now_ns: The time in nanoseconds since the epoch, on the file system's clock.
    """

    def __init__(self, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._now_ns = now_ns
        self._listings: OrderedDict[str, _Listing] = OrderedDict()
        self._looked = 0

    def find(self, root: str, pattern: str) -> list[str]:
        """Return the paths below `root` that match, sorted, with `/` between their parts.

        `**` stands for any number of folders, hidden ones, links and `node_modules` excepted; at the end of a pattern
        it stands for all prompt files in them. The other wildcards do not match a leading dot.

        Raises:
            TooWideError: The search would look into more than `MOST_FOLDERS` folders.
        """
        self._looked = 0
        found: set[str] = set()
        for alternative in alternatives(pattern):
            segments = [part for part in alternative.split("/") if part not in ("", ".")]
            found.update(self._match(root, "", segments))
        return sorted(found)

    def _match(self, root: str, prefix: str, segments: list[str]) -> Iterator[str]:
        if not segments:
            return
        first, rest = segments[0], segments[1:]
        listing = self._listing(f"{root}/{prefix}")
        if first == "**":
            if rest:
                yield from self._match(root, prefix, rest)
            else:
                yield from (f"{prefix}{name}" for name in listing.files if name in LOAD_ORDER)
            for name in listing.folders:
                if name in listing.plain_folders and not name.startswith(".") and name not in _SKIPPED:
                    yield from self._match(root, f"{prefix}{name}/", segments)
        elif rest:
            for name in listing.folders:
                if _fits(name, first):
                    yield from self._match(root, f"{prefix}{name}/", rest)
        else:
            yield from (f"{prefix}{name}" for name in listing.files if _fits(name, first))

    def _listing(self, folder: str) -> _Listing:
        self._looked += 1
        if self._looked > MOST_FOLDERS:
            raise TooWideError(f"it looks into more than {MOST_FOLDERS} folders")
        known = self._listings.get(folder)
        try:
            status = os.stat(folder)  # noqa: PTH116 - per folder and turn; a Path costs more
            times_ns = status.st_mtime_ns, status.st_ctime_ns
            if known is not None and known.settled and known.times_ns == times_ns:
                return known
            known = _list(folder, times_ns, settled=abs(self._now_ns() - status.st_ctime_ns) > SETTLED_NS)
        except OSError:
            # A folder that cannot be listed matches nothing, which the caller reports as such.
            return _Listing((0, 0), False, (), frozenset(), ())
        self._listings[folder] = known
        self._listings.move_to_end(folder)
        if len(self._listings) > 2 * MOST_FOLDERS:
            self._listings.popitem(last=False)
        return known


def _list(folder: str, times_ns: tuple[int, int], *, settled: bool) -> _Listing:
    with os.scandir(folder) as entries:
        rows = sorted((entry.name, _is_folder(entry), entry.is_symlink()) for entry in entries)
    return _Listing(
        times_ns=times_ns,
        settled=settled,
        folders=tuple(name for name, is_folder, _ in rows if is_folder),
        plain_folders=frozenset(name for name, is_folder, is_link in rows if is_folder and not is_link),
        files=tuple(name for name, is_folder, _ in rows if not is_folder),
    )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether a name leads to a folder; a link in a circle, or into a place closed to us, hides no neighbour."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _fits(name: str, segment: str) -> bool:
    return (segment.startswith(".") or not name.startswith(".")) and fnmatchcase(name, segment)
