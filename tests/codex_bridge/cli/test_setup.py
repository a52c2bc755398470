"""From a configuration to a running agent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codex_bridge.cli.setup import habits_on, running
from codex_bridge.config import LEAST_MESSAGE, CodexConfig
from codex_bridge.lanes import HABITS
from codex_bridge.sources import Remote
from harness.plain import plain_settings
from harness.turns import EndedBy, Outcome
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
        Outcome.FAILED, "Let me", "The turn was stopped after 0.3 s (agents.defaults.timeoutSeconds)."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "does", "outcome", "told"),
    [
        (
            {"turnCompletionIdleTimeoutMs": 300},
            "idle silent",
            Outcome.FAILED,
            "Codex was silent for 0.3 s, so the turn was ended (appServer.turnCompletionIdleTimeoutMs).",
        ),
        (
            {"postToolRawAssistantCompletionIdleTimeoutMs": 200},
            "idle silent run",
            Outcome.FAILED,
            "Codex was silent for 0.2 s, so the turn was ended "
            "(appServer.postToolRawAssistantCompletionIdleTimeoutMs); what it did may be incomplete, "
            "and nothing of it is run again.",
        ),
        (
            {"deadlines": {"reconnectingMs": 400}},
            "active silent retry",
            Outcome.FAILED,
            "The model provider could not be reached for 0.4 s, so the turn ended "
            "(appServer.deadlines.reconnectingMs).",
        ),
        ({"deadlines": {"answerMs": 100, "probeMs": 100}}, "mute silent say", Outcome.ANSWERED, ""),
    ],
)
async def test_a_turn_is_silent_no_longer_than_the_configuration_lets_it(
    tmp_path: Path, keys: dict[str, Any], does: str, outcome: Outcome, told: str
) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    config = CodexConfig.model_validate({"appServer": keys})
    settings, codex = plain_settings(workspace), executable(tmp_path, "silent")
    async with running(settings, codex=codex, root=tmp_path / "state", codex_config=config) as live:
        result = await (await live.agent.receive(message(does))).result()
    assert (result.outcome, result.error, result.ended_by) == (outcome, told, EndedBy.DEADLINE)


async def test_a_message_over_the_configured_ceiling_ends_the_turn_and_the_next_one_works(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    config = CodexConfig.model_validate({"appServer": {"maxMessageBytes": LEAST_MESSAGE}})
    settings, codex = plain_settings(workspace), executable(tmp_path, "codex")
    async with running(settings, codex=codex, root=tmp_path / "state", codex_config=config) as live:
        results = [
            await (await live.agent.receive(message(f"large {size}", number=str(size)))).result()
            for size in (LEAST_MESSAGE - 1000, LEAST_MESSAGE, 5)
        ]
    assert [(each.outcome, len(each.text), each.error) for each in results] == [
        (Outcome.ANSWERED, LEAST_MESSAGE - 1000, ""),
        (
            Outcome.LOST,
            0,
            "Codex stopped in the middle of this turn: message too large: the app-server sent more than 1,048,576 "
            "bytes in one message, the ceiling of appServer.maxMessageBytes.",
        ),
        (Outcome.ANSWERED, 5, ""),
    ]


def test_only_a_server_with_a_workspace_of_its_own_runs_where_the_files_of_messages_are_not() -> None:
    """`appServer.remoteWorkspaceRoot`."""
    here = Remote("ws://127.0.0.1:9")
    assert habits_on(here) == HABITS
    assert habits_on(replace(here, workdir="/srv/pell")) == replace(HABITS, shares_files=False)
