"""Importing the bridge costs nothing that only the command line or an extra needs."""

from pathlib import Path

import pytest

from tests.support.imports import asked_for_by

NOT_ASKED_FOR = {
    "typer",
    "rich",
    "pydantic_ai",
    "websockets",
    "h11",
    "codex_bridge.cli",
    "codex_bridge.wire.besides",
    "codex_bridge.wire.server_requests",
    "harness.settings",
}


@pytest.mark.parametrize("module", ["codex_bridge", "codex_bridge.bridge"])
def test_importing_the_bridge_asks_for_neither_the_command_line_nor_an_extra(module: str) -> None:
    asked = asked_for_by(module)
    assert module in asked
    assert NOT_ASKED_FOR & asked == set()


def test_an_import_that_is_guarded_is_noticed_where_the_extra_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guarded.py").write_text("try:\n    import an_extra_of_nobody.part\nexcept ImportError:\n    pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert asked_for_by("guarded") >= {"guarded", "an_extra_of_nobody"}
