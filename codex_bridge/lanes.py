"""Which prompt layer travels in which app-server field.

Pure: a composition in, the text of each field out. Nothing else may put prompt text into a request.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from codex_bridge.wording import DEFAULT_MODE, PERSONA_INTRO, RUNTIME, TOOLS_INTRO
from harness.layers import Composition, Layer, LayerName, LeftOut


class Lane(Enum):
    """A field of the protocol, by the place it has there."""

    NATIVE = "Codex reads it from the working directory"
    THREAD_DEVELOPER = "thread/start · developerInstructions"
    TURN_DEVELOPER = "turn/start · collaborationMode.settings.developer_instructions"
    TURN_INPUT = "turn/start · input"


LANE_OF: Final[Mapping[LayerName, Lane]] = {
    LayerName.AGENTS: Lane.NATIVE,
    LayerName.TOOLS: Lane.THREAD_DEVELOPER,
    LayerName.SOUL: Lane.TURN_DEVELOPER,
    LayerName.IDENTITY: Lane.TURN_DEVELOPER,
    LayerName.USER: Lane.TURN_DEVELOPER,
    LayerName.USER_TEXT: Lane.TURN_INPUT,
}
"""The routing policy. A layer that is missing here cannot be sent.

Subagents inherit developerInstructions and not the collaboration text (protocol reference, 3.6), so what only
the main voice should hear goes with each turn.
"""

_FRAMES: Final = re.compile(r"<(?=/?collaboration_mode>)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Placed:
    """A layer and the lane it travels in."""

    layer: Layer
    lane: Lane


@dataclass(frozen=True, slots=True)
class LanePlan:
    """What each field of the requests will hold."""

    thread_developer: str
    """For thread/start and thread/resume; the same bytes as long as the workspace and the bridge are."""
    turn_developer: str | None
    """For each turn/start; None makes Codex use its own text of the mode."""
    turn_input: str
    placed: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]


def plan(composition: Composition) -> LanePlan:
    """Route every layer of a turn.

    Raises:
        KeyError: A layer has no row in `LANE_OF`.
    """
    placed = tuple(Placed(layer, LANE_OF[layer.name]) for layer in composition.layers)
    tools = _in(placed, Lane.THREAD_DEVELOPER)
    persona = _in(placed, Lane.TURN_DEVELOPER)
    return LanePlan(
        thread_developer=_joined([RUNTIME, *_files(TOOLS_INTRO, tools)]),
        turn_developer=_joined([DEFAULT_MODE, *_files(PERSONA_INTRO, persona)]) if persona else None,
        turn_input="\n\n".join(layer.text for layer in _in(placed, Lane.TURN_INPUT)),
        placed=placed,
        left_out=composition.left_out,
    )


def _in(placed: Iterable[Placed], lane: Lane) -> list[Layer]:
    return [each.layer for each in placed if each.lane is lane]


def _files(intro: str, layers: list[Layer]) -> list[str]:
    if not layers:
        return []
    return [
        intro,
        *(f"## {layer.name.value.removeprefix('workspace/')}\n\n{_unframed(layer.text)}" for layer in layers),
    ]


def _unframed(text: str) -> str:
    # Codex does not escape the frame it puts around our text (protocol reference, 3.4).
    return _FRAMES.sub("&lt;", text)


def _joined(sections: list[str]) -> str:
    return "\n\n".join(sections)
