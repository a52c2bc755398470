"""What came of reading one workspace file: its content, nothing there, or a refusal with its reason.

Pure values and the sentences that go with them; `harness.workspace.guard` does the reading.
"""

from dataclasses import field
from enum import Enum
from typing import NamedTuple

from harness.lean_values import dataclass
from harness.units import utf16_units

MAX_FILE_BYTES = 2 * 1024 * 1024
"""Largest file that is read at all (prompt-builder 7.1)."""


SETTLED_NS = 100_000_000
"""A file written this shortly before it was read may be written again within the same tick of the file system's
clock, and then look unchanged; so it is read once more."""


class Refusal(Enum):
    """Why a file was not read. The value completes the sentence "PATH was not read: ..."."""

    OUTSIDE = "it leads outside the workspace; copy the file into the workspace instead of linking to it"
    HARD_LINK = "it is a hard link, a second name of some other file; replace it with a copy"
    NOT_REGULAR = "it is not a regular file; put an ordinary text file in its place"
    TOO_LARGE = "it is over 2 MiB; shorten it"
    RACE = "it was changed or replaced while it was being read; it is tried again on the next turn"
    LINK_LOOP = "its links lead in a circle; remove the link"
    BAD_PATH = "its path holds a character that no file name can have; correct the path"
    UNREADABLE = "the system refused; check the path and who may read it"


class FileIdentity(NamedTuple):
    """What `stat` says about a file; it differs whenever the file was written, replaced, linked or renamed.

    A tuple, as each turn makes one for each file.
    """

    device: int
    inode: int
    links: int
    size: int
    modified_ns: int
    changed_ns: int

    def is_settled(self, now_ns: int) -> bool:
        """Say whether a further write to the file is sure to change this; see `SETTLED_NS`.

        Only the time of the last change counts, which nobody can set: a file may be dated in the future. Where the
        clock was set back, that time lies ahead, and a write now differs from it as well.
        """
        return abs(now_ns - self.changed_ns) > SETTLED_NS


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Content:
    """A file that was read."""

    text: str
    real_path: str
    """Where the bytes are, with every link followed."""
    identity: FileIdentity | None
    """None for text that a hook supplied."""
    invalid: int = 0
    """How many byte sequences were not UTF-8 and became replacement characters."""
    raw_units: int = field(init=False, repr=False, compare=False)
    """Size of `text` without trailing white space, in UTF-16 units."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "raw_units", utf16_units(self.text.rstrip()))


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing is at the path."""


MISSING = Missing()
"""The value that readers give, so that what is still missing is the very same result."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Something is at the path, but it was not read."""

    refusal: Refusal
    detail: str = ""
    """The system's own words, for `Refusal.UNREADABLE`."""

    @property
    def reason(self) -> str:
        """A clause for a person, such as "it is over 2 MiB; shorten it"."""
        what, mark, fix = self.refusal.value.partition(";")
        return f"{what}: {self.detail}{mark}{fix}" if self.detail else self.refusal.value


ReadResult = Content | Missing | Refused


def not_utf8_notice(path: str, invalid: int) -> str:
    """Say that a file holds bytes that are not text, and what to do about it."""
    places = "1 place that is not UTF-8 was" if invalid == 1 else f"{invalid} places that are not UTF-8 were"
    return f"{path}: {places} replaced by U+FFFD; save the file as UTF-8."
