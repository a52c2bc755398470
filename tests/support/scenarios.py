"""The scenarios of `fixtures/scenarios`: a raw payload, a workspace, and where each layer has to arrive."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.channels import telegram
from harness.inbound import InboundMessage

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "fixtures" / "scenarios"
WORKSPACES = {"sample": ROOT / "harness" / "testing" / "sample" / "workspace"}
CHANNELS = {"telegram": telegram.from_update}


@dataclass(frozen=True)
class Scenario:
    """One scenario as its folder says."""

    name: str
    message: InboundMessage
    workspace: Path
    model: str
    answer: str
    lanes: dict[str, str]
    left_out: dict[str, str]
    absent: list[str]


def scenarios() -> list[Scenario]:
    """All of them, by name."""
    return [_read(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]


def _read(folder: Path) -> Scenario:
    data: dict[str, Any] = json.loads((folder / "scenario.json").read_text("utf-8"))
    payload: dict[str, object] = json.loads((folder / data["payload"]).read_text("utf-8"))
    return Scenario(
        name=folder.name,
        message=CHANNELS[data["channel"]](payload),
        workspace=WORKSPACES[data["workspace"]],
        model=data["model"],
        answer=data["answer"],
        lanes=data["lanes"],
        left_out=data["leftOut"],
        absent=data["absent"],
    )
