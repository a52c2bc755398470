"""Importing the bridge costs nothing that only the command line or an extra needs."""

import subprocess
import sys
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


TURNS = """
import sys
from dataclasses import replace
from pathlib import Path

import anyio

from tests.support.odd_tools import tool
from tests.support.turns import harness_on_fake, words


async def main(folder):
    async with harness_on_fake(folder) as harness:
        turn = harness.start(replace(words("echo Yes."), tools=(tool("message"),)))
        print((await turn.result()).text, turn.tools.names, "jsonschema_rs" in sys.modules)
        called = anyio.Event()

        async def note(arguments):
            called.set()
            await anyio.sleep_forever()

        call = replace(words(f"call {folder / 'told'}", chat="b"), tools=(replace(tool("message"), call=note),))
        harness.start(call)
        await called.wait()
        print("called", "jsonschema_rs" in sys.modules)


anyio.run(main, Path(sys.argv[1]))
"""


def test_a_gateway_in_which_no_tool_is_called_does_without_what_checks_arguments(tmp_path: Path) -> None:
    """The first call brings it along, and with it 7 MB, of which 1 MB is the process's own."""
    command = [sys.executable, "-c", TURNS, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["Yes. ('message',) False", "called True"]


def test_an_import_that_is_guarded_is_noticed_where_the_extra_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guarded.py").write_text("try:\n    import an_extra_of_nobody.part\nexcept ImportError:\n    pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert asked_for_by("guarded") >= {"guarded", "an_extra_of_nobody"}
