"""What a client process is told, what it reports, and what is said between it and the stand-in model.

Imported by every client, so it imports next to nothing itself: its cost would be counted as theirs.
"""

import re
from typing import Final, TypedDict

MODEL: Final = "gpt-5.5"
PIECE: Final = "piece "
"""One delta: 6 bytes (peers, section 3)."""
SHORT_PIECES: Final = 3
"""Deltas in the answer of a short turn."""

_ASKED = re.compile(r"Answer in (\d+) pieces\.")


class ProviderFields(TypedDict):
    """The fields of a `codex_bridge.providers.Provider`."""

    id: str
    name: str
    base_url: str
    token_variable: str
    token: str
    request_retries: int | None
    stream_retries: int | None


class Job(TypedDict):
    """One run of one client."""

    command: list[str]
    """The app-server's program and arguments, the same for every client."""
    env: dict[str, str]
    """The app-server's environment."""
    home: str
    """Its CODEX_HOME: a fresh copy of a warmed one."""
    workspace: str
    provider: ProviderFields
    update: dict[str, object]
    """A Telegram update, for the client that reads one."""
    warmups: int
    turns: int
    """Measured short turns; with 0, neither they nor the warm-ups nor the deltas are run."""
    deltas: int


class Sample(TypedDict):
    """What one run measured: seconds of wall or client CPU, and bytes."""

    first_turn: float
    """Wall from nothing to the end of the first turn, app-server start included, imports not."""
    turn_wall: float
    """Per short turn."""
    turn_cpu: float
    deltas_wall: float
    """For the whole long turn."""
    deltas_cpu: float
    peak_memory: int


def ask(pieces: int) -> str:
    """The message to which the stand-in answers in so many deltas."""
    return f"Answer in {pieces} pieces."


def asked_pieces(text: str) -> int:
    """How many deltas `text` asks for."""
    found = _ASKED.search(text)
    return int(found[1]) if found else SHORT_PIECES
