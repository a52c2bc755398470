"""Where an agent's heartbeats are remembered: one small file, its owner's alone.

Touches the disk and blocks: call it from a thread.
"""

import os
from pathlib import Path
from typing import cast

import orjson

from harness.errors import StoreError
from harness.heartbeat.state import HeartbeatState, read_state
from harness.json_value import Json


def load_state(path: Path) -> HeartbeatState:
    """Read what is remembered; nothing, where there is no file yet.

    Raises:
        StoreError: There is one, and it cannot be used.
    """
    try:
        stored: object = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return HeartbeatState()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from error
    except orjson.JSONDecodeError as error:
        raise StoreError(f"{path} is not JSON ({error}); heartbeats begin without it.") from error
    if not isinstance(stored, dict):
        raise StoreError(f"{path} is not a JSON object; heartbeats begin without it.")
    return read_state(cast("dict[str, Json]", stored))


def save_state(path: Path, state: HeartbeatState) -> None:
    """Write it down, whole or not at all.

    Raises:
        StoreError: It cannot be written; what was there is unchanged.
    """
    fresh = path.with_name(f"{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(fresh, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(orjson.dumps(state.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error
