"""Importing the bridge costs nothing that only the command line or an extra needs."""

import subprocess
import sys

import pytest

NOT_ASKED_FOR = {
    "typer",
    "rich",
    "pydantic_ai",
    "websockets",
    "h11",
    "codex_bridge.cli",
    "codex_bridge.wire.besides",
    "codex_bridge.wire.server_requests",
}


@pytest.mark.parametrize("module", ["codex_bridge", "codex_bridge.bridge"])
def test_importing_the_bridge_loads_neither_the_command_line_nor_an_extra(module: str) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", f"import {module}, sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert module in loaded
    assert NOT_ASKED_FOR & set(loaded) == set()
