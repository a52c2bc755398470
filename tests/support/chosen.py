"""Which Codex binary the suite runs on: that of the wheel, or the one that CODEX_BRIDGE_TEST_CODEX names."""

import os
import subprocess
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

from codex_bridge import binary, home
from codex_bridge.binary import CodexBinary, find_codex
from codex_bridge.errors import BinaryNotFoundError

VARIABLE: Final = "CODEX_BRIDGE_TEST_CODEX"
_PERSONS: Final = (binary.VARIABLE, home.STATE_VARIABLE, "CODEX_HOME")


def forget_the_person(environ: MutableMapping[str, str]) -> None:
    """Take out what somebody has set for the Codex and the gateway of their own, or it would settle what is tested."""
    for name in [each for each in environ if each in _PERSONS or each.startswith("OPENCLAW_")]:
        del environ[name]


def chosen() -> CodexBinary:
    """The binary under test.

    Raises:
        BinaryNotFoundError: There is none.
    """
    named = os.environ.get(VARIABLE, "").strip()
    return find_codex(Path(named) if named else None)


def header() -> str:
    """For the head of a run: the binary under test and its version."""
    try:
        codex = chosen()
        asked = subprocess.run([codex.path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (BinaryNotFoundError, OSError, subprocess.SubprocessError) as error:
        return f"codex: {error}"
    return f"codex: {asked.stdout.strip()}, {codex.path} ({codex.source})"
