"""Whether a workspace has been through its first run: the state that is written down in the workspace itself.

Pure: text in, state out, and what the state becomes when a gateway finds the workspace as it is.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import cast

import orjson

from harness.lean_values import dataclass

STATE_FILE = "openclaw-workspace-state.json"
LEGACY_STATE_FILE = ".openclaw/workspace-state.json"
"""Read when the other one is absent (prompt-builder 7.12)."""

STATE_VERSION = 1

_SEEDED = "bootstrapSeededAt"
_COMPLETED = "setupCompletedAt"
_LEGACY_COMPLETED = "onboardingCompletedAt"


class SetupStateError(ValueError):
    """The text of a state file is not a state. The message completes "FILE cannot be used: ..."."""


@dataclass(frozen=True, slots=True)
class SetupState:
    """When a workspace was given its BOOTSTRAP.md, and when its set-up was done; ISO 8601, empty for never."""

    seeded_at: str = ""
    completed_at: str = ""
    other: Mapping[str, object] = field(default_factory=dict[str, object], compare=False)
    """Fields of the file that are not ours; they are written back."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found in a workspace before anything was written into it."""

    bootstrap: bool
    """Whether there is a BOOTSTRAP.md."""
    profile_changed: bool
    """Whether SOUL.md, IDENTITY.md or USER.md differs from its template."""
    other_use: bool
    """Whether there is a `memory` folder, a MEMORY.md, a skill, or a git repository."""


@lru_cache(maxsize=64)
def parse_state(text: str) -> SetupState:
    """Read the text of a state file; older field names are understood.

    Raises:
        SetupStateError: The text is not a JSON object, or a time in it is not text.
    """
    try:
        value = cast("object", orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise SetupStateError(f"it is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise SetupStateError("it is not a JSON object")
    fields = dict(cast("dict[str, object]", value))
    legacy = _time(fields, _LEGACY_COMPLETED)
    fields.pop(_LEGACY_COMPLETED, None)
    state = SetupState(_time(fields, _SEEDED), _time(fields, _COMPLETED) or legacy)
    ours = (_SEEDED, _COMPLETED, "version")
    return replace(state, other=MappingProxyType({key: fields[key] for key in fields if key not in ours}))


def format_state(state: SetupState) -> bytes:
    """Write a state as the content of its file."""
    times = {_SEEDED: state.seeded_at, _COMPLETED: state.completed_at}
    fields = {"version": STATE_VERSION, **{key: time for key, time in times.items() if time}, **state.other}
    return orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def next_state(state: SetupState, evidence: Evidence, *, now: str) -> tuple[SetupState, bool]:
    """Return what the state becomes, and whether BOOTSTRAP.md has to be written now (prompt-builder 7.12).

    A workspace that was never given a BOOTSTRAP.md gets one unless it shows signs of use. One that was given it is
    set up as soon as the file is deleted or a profile file was changed; its other signs of use may be our own doing.

    Args:
        state: The state so far.
        evidence: What was found.
        now: The time, ISO 8601.
    """
    if state.completed_at:
        return state, False
    if state.seeded_at or evidence.bootstrap:
        done = evidence.profile_changed or not evidence.bootstrap
        return SetupState(state.seeded_at or now, now if done else "", state.other), False
    if evidence.profile_changed or evidence.other_use:
        return SetupState("", now, state.other), False
    return SetupState(now, "", state.other), True


def _time(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SetupStateError(f"its {key} is {value!r} and not a time such as 2026-07-01T09:00:00Z")
    return value.strip()
