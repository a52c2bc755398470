"""How large the prompt of an agent's last turn was: noted by `turn`, shown by `status`."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from codex_bridge.turn import CodexTurn
from harness.report import Source, tokens

FILE: Final = "last-prompt.json"


class LastPrompt(BaseModel):
    """The sizes of one prompt that was sent, in UTF-16 units."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, defer_build=True)

    at: str
    """ISO 8601."""
    session_key: str
    model: str
    layers: dict[str, int]
    """By the layer's name."""
    lanes: dict[str, int]
    """By the field that carried them."""

    @property
    def units(self) -> int:
        """All layers together."""
        return sum(self.layers.values())

    def as_data(self) -> dict[str, object]:
        """As JSON data."""
        return {
            "source": Source.RUN.value,
            **self.model_dump(by_alias=True),
            "units": self.units,
            "tokens": tokens(self.units),
        }


def prompt_of(turn: CodexTurn, at: str) -> LastPrompt:
    """Measure the prompt of a turn that was sent."""
    layers: dict[str, int] = {}
    lanes: dict[str, int] = {}
    for placed in turn.lanes.placed:
        name, lane = placed.layer.name.value, placed.lane.value
        layers[name] = layers.get(name, 0) + placed.layer.units
        lanes[lane] = lanes.get(lane, 0) + placed.layer.units
    model = turn.thread.model if turn.thread is not None else turn.request.model or ""
    return LastPrompt(at=at, session_key=turn.request.session_key, model=model, layers=layers, lanes=lanes)


@dataclass(frozen=True, slots=True)
class LastPrompts:
    """The note in one agent's folder."""

    folder: Path

    def keep(self, note: LastPrompt) -> None:
        """Keep the sizes of a turn that was sent, readable by the owner alone.

        A disk that is full costs the note and no answer.
        """
        new = self.folder / f".{FILE}.{os.getpid()}"
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(note.model_dump_json(by_alias=True))
            new.replace(self.folder / FILE)
        except OSError:
            with suppress(OSError):
                new.unlink()

    def read(self) -> LastPrompt | None:
        """The note; None when there is none that can be read."""
        try:
            return LastPrompt.model_validate_json((self.folder / FILE).read_bytes())
        except (OSError, ValidationError):
            return None
