"""Did the model see each layer where it belongs? Looked up in a recorded request, never in what we meant to send.

Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from codex_bridge.entries import MESSAGE_KEY, NAMED_KEY, ONCE_KEY, QUOTED_KEY, TURN_KEY
from codex_bridge.lanes import Lane, Placed
from codex_bridge.loopback.recorder import Part, RecordedRequest
from codex_bridge.wording import BLOCK_INTRO, CONTEXT_INTRO
from harness.layers import Layer


@dataclass(frozen=True, slots=True)
class Sighting:
    """A layer, the lane that it was sent in, and where the model saw it."""

    layer: Layer
    lane: Lane
    seen: tuple[Part, ...]

    @property
    def verdict(self) -> str:
        """Empty when the model saw the layer once and in its place; else what is wrong, as a clause."""
        match self.seen:
            case ():
                return "the model never saw it"
            case (part,):
                found = place(part)
                return "" if found is self.lane else f"the model saw it as {found.name if found else part.kind}"
            case _:
                return f"the model saw it {len(self.seen)} times"


_UNTRUSTED: Final = {NAMED_KEY: Lane.TURN_NAMED, QUOTED_KEY: Lane.TURN_QUOTED, MESSAGE_KEY: Lane.TURN_MESSAGE}


def place(part: Part) -> Lane | None:
    """The lane whose text Codex puts where `part` stands; None for what is Codex's own.

    Known by its frame and role (protocol reference, 3.1): the mode text in its tags, AGENTS.md under its heading
    in a user message, the quoted files under ours, what else a developer message holds, what else a user said.
    """
    if part.role == "developer":
        if part.text.startswith(f"<{TURN_KEY}_"):
            return Lane.TURN_ADDED
        if part.text.startswith(f"<{ONCE_KEY}_"):
            return Lane.TURN_ONCE
        return Lane.TURN_DEVELOPER if part.text.startswith("<collaboration_mode>") else Lane.THREAD_DEVELOPER
    if part.role == "user":
        if part.text.startswith("# AGENTS.md instructions"):
            return Lane.NATIVE
        for key, lane in _UNTRUSTED.items():
            if part.text.startswith(f"<external_{key}_"):
                return lane
        if part.text.startswith(BLOCK_INTRO):
            return Lane.TURN_BLOCK
        return Lane.TURN_CONTEXT if part.text.startswith(CONTEXT_INTRO) else Lane.TURN_INPUT
    return next((lane for key, lane in _UNTRUSTED.items() if part.name.startswith(f"{key}_")), None)


def sightings(placed: Iterable[Placed], request: RecordedRequest) -> list[Sighting]:
    """Look for the whole text of each layer in everything that the request holds."""
    parts = request.parts()
    return [
        Sighting(each.layer, each.lane, tuple(part for part in parts if each.layer.text in part.text))
        for each in placed
    ]
