"""What a search of the notes comes to.

Pure values.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RefusedNote:
    """A note that was not read."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers a question."""

    path: str
    """Relative to the workspace."""
    first_line: int
    last_line: int
    text: str
    score: float
    """The share of the question's words that the passage holds, rare words counting more; over 0, up to 1."""

    @property
    def source(self) -> str:
        """Where the passage stands, as `path#Lfirst-Llast`."""
        lines = f"L{self.first_line}"
        return f"{self.path}#{lines}" + (f"-L{self.last_line}" if self.last_line > self.first_line else "")


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    hits: tuple[Hit, ...]
    """Best first."""
    notes: int
    """How many notes were searched."""
    refused: tuple[RefusedNote, ...]
    """The notes that could not be."""
