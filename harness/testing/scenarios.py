"""Scenarios: a raw payload, a workspace, and where each layer has to arrive.

A scenario is a folder with a `scenario.json`; those of this project are in `fixtures/scenarios` of a checkout.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from harness.channels import telegram
from harness.errors import HarnessError
from harness.inbound import InboundMessage

FILE: Final = "scenario.json"
HERE: Final = Path("fixtures/scenarios")
"""Where a checkout keeps them, from its root."""
CHECKOUT: Final = Path(__file__).parents[2]
"""The root of the checkout that this package runs from, if it does."""
SAMPLE: Final = Path(__file__).parent / "sample" / "workspace"
CHANNELS: Final[Mapping[str, Callable[[Mapping[str, object]], InboundMessage]]] = MappingProxyType(
    {telegram.CHANNEL: telegram.from_update}
)


class ScenarioError(HarnessError):
    """A scenario is not there, or its folder is not as it should be."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario as its folder says."""

    name: str
    message: InboundMessage
    workspace: Path
    model: str
    answer: str
    """What the model says."""
    lanes: Mapping[str, str]
    """Layer to lane, by name."""
    left_out: Mapping[str, str]
    """Layer to reason."""
    absent: tuple[str, ...]
    """Texts that must not reach the model."""


def scenario_folders() -> list[Path]:
    """The folders of all scenarios that can be found from here, by name; those of the current folder come first."""
    found: dict[str, Path] = {}
    for root in (CHECKOUT / HERE, HERE):
        for path in sorted(root.glob(f"*/{FILE}")):
            found[path.parent.name] = path.parent
    return [found[name] for name in sorted(found)]


def find_scenario(name: str) -> Scenario:
    """Read the scenario of a name, or in a folder.

    Raises:
        ScenarioError: There is none, or it cannot be read.
    """
    folder = Path(name)
    if not (folder / FILE).is_file():
        known = {each.name: each for each in scenario_folders()}
        if name not in known:
            named = ", ".join(known) or "none here"
            raise ScenarioError(
                f"There is no scenario {name}; known are: {named}. A folder with a {FILE} will do, too."
            )
        folder = known[name]
    return read_scenario(folder)


def read_scenario(folder: Path) -> Scenario:
    """Read a scenario's folder.

    Raises:
        ScenarioError: A file is missing or lacks something; says what.
        PayloadError: The payload is not what its channel sends.
    """
    try:
        data: dict[str, Any] = json.loads((folder / FILE).read_text("utf-8"))
        payload: dict[str, object] = json.loads((folder / data["payload"]).read_text("utf-8"))
        workspace = SAMPLE if data["workspace"] == "sample" else folder / data["workspace"]
        return Scenario(
            name=folder.name,
            message=CHANNELS[data["channel"]](payload),
            workspace=workspace,
            model=data["model"],
            answer=data["answer"],
            lanes=data["lanes"],
            left_out=data["leftOut"],
            absent=tuple(data["absent"]),
        )
    except KeyError as error:
        raise ScenarioError(f"The scenario {folder / FILE} lacks or does not know {error}.") from None
    except OSError as error:
        raise ScenarioError(f"The scenario file {error.filename} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise ScenarioError(f"The scenario {folder} is not JSON: {error}.") from None
