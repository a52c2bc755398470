"""What a check of the configuration found, one value for each thing that a person should know.

Pure. A finding stops nothing, but for a `NotServed` that says so: the rest of the configuration is in force. Each
`place` is written as in `agents.list[0].bootstrapMaxChars`.
"""

from dataclasses import dataclass
from typing import assert_never


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that nothing here reads; it is kept as written."""

    place: str
    suggestion: str | None = None
    """The known key that was probably meant, with its whole place."""


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A known key with a value that it cannot have."""

    place: str
    found: str
    """The value as JSON, shortened; `(hidden)` where it may be a secret."""
    allowed: str
    """The values that the key can have, in words."""
    in_force: str
    """A clause that says what counts instead."""


@dataclass(frozen=True, slots=True)
class UnsetVariable:
    """A `${NAME}` reference to an environment variable that is missing or empty."""

    place: str
    variable: str


@dataclass(frozen=True, slots=True)
class DoubledKey:
    """A key that stands twice in one object; the last one counts."""

    place: str


@dataclass(frozen=True, slots=True)
class NoEffect:
    """A valid value that another rule overrules."""

    place: str
    reason: str
    """A clause that says why."""


@dataclass(frozen=True, slots=True)
class StaleFile:
    """The file cannot be read at the moment, so the configuration of its last good state stays in force."""

    place: str
    """The file."""
    reason: str
    """The sentence of the error."""


@dataclass(frozen=True, slots=True)
class NotServed:
    """A known key with a wish that this version does not fulfil."""

    place: str
    instead: str
    """A clause that says what holds, and what to do."""
    refused: bool = False
    """Whether no turn starts as long as it is set."""


ConfigFinding = UnknownKey | WrongValue | UnsetVariable | DoubledKey | NoEffect | StaleFile | NotServed
"""Everything that `doctor` can say about a configuration."""


def describe(finding: ConfigFinding) -> str:
    """Say a finding in one sentence."""
    match finding:
        case UnknownKey(place, None):
            return f"{place} is not a key that anything here reads; it is kept as written."
        case UnknownKey(place, suggestion):
            return f"{place} is not a known key; did you mean {suggestion}?"
        case WrongValue(place, found, allowed, in_force):
            return f"{place} is {found}, but must be {allowed}; {in_force}."
        case UnsetVariable(place, variable):
            return (
                f"{place} refers to the environment variable {variable}, which is not set; set it, or write the value."
            )
        case DoubledKey(place):
            return f"{place} is written twice; the last one counts, so remove the other."
        case NoEffect(place, reason):
            return f"{place} has no effect: {reason}."
        case NotServed(place, instead, True):
            return f"{place} is set and cannot be kept yet, so no turn starts: {instead}."
        case NotServed(place, instead):
            return f"{place} is set and not served yet: {instead}."
        case StaleFile(reason=reason):
            return f"{reason.rstrip('.')}; the last good configuration stays in force."
        case _:
            assert_never(finding)
