"""How a snapshot is written into a session's record and read back."""

from functools import cache
from typing import TYPE_CHECKING

from harness.skills.snapshot import SkillSnapshot

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class SavedSnapshotError(ValueError):
    """A record does not hold a snapshot; the list must be written anew."""


# Importing pydantic and building the adapter take long, so both wait for the first session that is saved.
@cache
def _adapter() -> "TypeAdapter[SkillSnapshot]":
    from pydantic import TypeAdapter

    return TypeAdapter(SkillSnapshot)


def dump_snapshot(snapshot: SkillSnapshot) -> bytes:
    """Write a snapshot as JSON."""
    return _adapter().dump_json(snapshot)


def load_snapshot(saved: bytes) -> SkillSnapshot:
    """Read a snapshot back.

    Raises:
        SavedSnapshotError: The record is damaged or of another version of this package.
    """
    try:
        return _adapter().validate_json(saved)
    except ValueError as error:
        detail = " ".join(str(error).splitlines()[1:3]) or str(error)
        raise SavedSnapshotError(
            f"The saved skills snapshot is not usable ({detail}); it is made anew on the next turn."
        ) from error
