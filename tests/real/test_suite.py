"""What the suite runs on is no matter of the machine."""

import os
import subprocess
import sys
from pathlib import Path

from codex_bridge.binary import CodexBinary

ROOT = Path(__file__).parent.parent.parent


def head(**variables: str) -> str:
    """What a run says of the binary before it begins."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests/real/test_suite.py"],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("codex: ")]
    return line


def test_a_run_names_its_binary_which_a_persons_own_setting_does_not_change(codex: CodexBinary, tmp_path: Path) -> None:
    other = tmp_path / "codex"
    other.write_text("#!/bin/sh\necho codex-cli 9.9.9\n")
    other.chmod(0o755)
    persons = {"CODEX_BIN": str(other), "OPENCLAW_CODEX_APP_SERVER_BIN": str(other)}
    ours = head(**persons)
    assert ours.startswith("codex: codex-cli 0.1")
    assert ours.endswith(f", {codex.path} ({codex.source})")
    assert head(CODEX_BRIDGE_TEST_CODEX=str(other)) == f"codex: codex-cli 9.9.9, {other} (the path given)"
