"""From a configuration to a running agent."""

from dataclasses import replace
from pathlib import Path

from codex_bridge.cli.setup import running
from harness.plain import plain_settings
from harness.turns import Outcome
from tests.support.real import message
from tests.support.serving import executable


async def test_a_turn_ends_after_the_time_that_the_configuration_gives_it(tmp_path: Path) -> None:
    """`agents.defaults.timeoutSeconds`; the fake Codex would never end the turn."""
    workspace = tmp_path / "w"
    workspace.mkdir()
    settings = replace(plain_settings(workspace), turn_timeout_seconds=0.3)
    async with running(settings, codex=executable(tmp_path, "codex"), root=tmp_path / "state") as live:
        result = await (await live.agent.receive(message("stall"))).result()
    assert (result.outcome, result.text, result.error) == (
        Outcome.FAILED, "Let me", "The turn was stopped after 0.3 s (turn deadline)."
    )  # fmt: skip
