"""Scenarios: a raw payload, a workspace, and where each layer has to arrive.

A scenario is a folder with a `scenario.json`; those of this project are in `fixtures/scenarios` of a checkout.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from harness.channels.detect import READERS, from_payload
from harness.config.places import show_value
from harness.errors import HarnessError, PayloadError, UnsupportedPayloadError
from harness.inbound import InboundMessage
from harness.json_files import read_object
from harness.json_value import Json

FILE: Final = "scenario.json"
HERE: Final = Path("fixtures/scenarios")
"""Where a checkout keeps them, from its root."""
CHECKOUT: Final = Path(__file__).parents[2]
"""The root of the checkout that this package runs from, if it does."""
SAMPLE: Final = Path(__file__).parent / "sample" / "workspace"


class ScenarioError(HarnessError):
    """A scenario's folder is not as it should be."""


class UnknownScenarioError(ScenarioError):
    """There is no such scenario."""


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
        UnknownScenarioError: There is none.
        ScenarioError: It is not as it should be.
        PayloadError: One of its files cannot be read.
    """
    folder = Path(name)
    if not (folder / FILE).is_file():
        known = {each.name: each for each in scenario_folders()}
        if name not in known:
            named = ", ".join(known) or "none here"
            raise UnknownScenarioError(
                f"There is no scenario {name}; known are: {named}. A folder with a {FILE} will do, too."
            )
        folder = known[name]
    return read_scenario(folder)


def read_scenario(folder: Path) -> Scenario:
    """Read a scenario's folder.

    Raises:
        ScenarioError: A key is missing or wrong; names the file, the key and what it may be.
        PayloadError: A file cannot be read, or the payload is not what its channel sends.
    """
    file = folder / FILE
    data = read_object(file, "scenario")
    keys = {key: _checked(file, data, key, kind) for key, kind in _KEYS.items()}
    payload_file = folder / str(keys["payload"])
    payload = read_object(payload_file, "scenario payload")
    try:
        message = from_payload(payload, channel=str(keys["channel"]))
    except (PayloadError, UnsupportedPayloadError) as error:
        raise type(error)(f"The scenario payload {payload_file}: {error}") from None
    workspace = str(keys["workspace"])
    return Scenario(
        name=folder.name,
        message=message,
        workspace=SAMPLE if workspace == "sample" else folder / workspace,
        model=str(keys["model"]),
        answer=str(keys["answer"]),
        lanes=cast("dict[str, str]", keys["lanes"]),
        left_out=cast("dict[str, str]", keys["leftOut"]),
        absent=tuple(cast("list[str]", keys["absent"])),
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a key may be."""

    words: str
    holds: Callable[[Json], bool]


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


_TEXT: Final = _Kind("text", _is_text)
_TEXTS: Final = _Kind("a list of texts", lambda value: isinstance(value, list) and all(map(_is_text, value)))
_PAIRS: Final = _Kind(
    "an object of texts", lambda value: isinstance(value, dict) and all(map(_is_text, value.values()))
)
_KEYS: Final[Mapping[str, _Kind]] = MappingProxyType(
    {
        "channel": _Kind(" or ".join(f'"{name}"' for name in READERS), lambda value: value in list(READERS)),
        "payload": _TEXT,
        "workspace": _TEXT,
        "model": _TEXT,
        "answer": _TEXT,
        "lanes": _PAIRS,
        "leftOut": _PAIRS,
        "absent": _TEXTS,
    }
)


def _checked(file: Path, data: Mapping[str, Json], key: str, kind: _Kind) -> Json:
    if key not in data:
        raise ScenarioError(f"The scenario {file} lacks {key}, which must be {kind.words}.")
    if not kind.holds(data[key]):
        found = show_value(data[key], (key,))
        raise ScenarioError(f"In the scenario {file} {key} is {found}, but must be {kind.words}.")
    return data[key]
