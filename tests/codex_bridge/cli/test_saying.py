"""On a command line a sentence names the way to the details."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codex_bridge.cli.saying import said
from codex_bridge.failures import REFUSED
from tests.support.serving import executable

SAMPLE = Path(__file__).parents[3] / "harness" / "testing" / "sample"
HINTED = "Codex refused the request; codex-bridge -v shows the details."


def test_whoever_sees_the_log_is_told_of_it_and_anybody_else_how_to_see_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        shown = said(REFUSED)
    with caplog.at_level(logging.CRITICAL):
        hidden = said(REFUSED)
    assert (shown, hidden) == (REFUSED, HINTED)
    assert REFUSED == "Codex refused the request; the log has the details."


@pytest.mark.parametrize("verbose", [False, True])
def test_a_refused_turn_names_the_option_that_shows_why_and_that_option_shows_it(tmp_path: Path, verbose: bool) -> None:
    update = json.loads((SAMPLE / "update.json").read_text("utf-8"))
    update["message"]["text"] = "refuse a thing that nobody has seen"
    payload = tmp_path / "update.json"
    payload.write_text(json.dumps(update), "utf-8")
    words = ["turn", "--payload", str(payload), "--workspace", str(SAMPLE / "workspace"), "--loopback"]
    done = subprocess.run(
        [sys.executable, "-m", "codex_bridge", *(["-v"] if verbose else []), *words],
        capture_output=True,
        text=True,
        timeout=30,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "CODEX_BIN": str(executable(tmp_path, "codex"))},
        check=False,
    )
    assert done.returncode == 1
    assert (f"codex-bridge: {REFUSED if verbose else HINTED}" in done.stderr) is True
    assert ("a thing that nobody has seen" in done.stderr) is verbose
