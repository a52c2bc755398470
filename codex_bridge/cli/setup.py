"""What the commands share: their options, and how to get from them to a running agent."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from codex_bridge.binary import find_codex
from codex_bridge.bridge import CodexHarness, CodexSettings, CodexTurn, codex_harness
from codex_bridge.home import Home, agent_dir, own_home, private_dir, state_dir, user_codex_home
from codex_bridge.process import Launch
from codex_bridge.providers import Provider
from harness.agent import Agent
from harness.store.bindings import bindings_at

LOOPBACK_MODEL: Final = "gpt-5.5"
"""The model that the stand-in plays: the one the prompt snapshots are pinned to."""

AgentOption = Annotated[str, typer.Option("--agent", help="The agent's id; each agent has a Codex home of its own.")]
CodexOption = Annotated[
    Path | None, typer.Option("--codex", help="The Codex binary, instead of CODEX_BIN, the wheel or PATH.")
]
HomeOption = Annotated[
    str,
    typer.Option(
        "--codex-home",
        help="'own' for the agent's own Codex home, 'user' for yours and its login, or a folder.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print data for programs.")]


@dataclass(frozen=True)
class Running:
    """An agent that can take messages."""

    agent: Agent[CodexTurn]
    harness: CodexHarness
    launch: Launch


def home_named(name: str, agent: str, root: Path) -> Home:
    """The Codex home that `--codex-home` names."""
    match name:
        case "own":
            return own_home(root, agent)
        case "user":
            return Home(user_codex_home(), owned=False)
        case _:
            return Home(Path(name).expanduser().absolute(), owned=False)


@asynccontextmanager
async def running(
    workspace: Path,
    *,
    agent: str = "main",
    codex: Path | None = None,
    codex_home: str = "own",
    provider: Provider | None = None,
    model: str | None = None,
    root: Path | None = None,
) -> AsyncGenerator[Running]:
    """Run an agent for as long as the block lasts.

    Raises:
        CodexError: Codex cannot be used; see `CodexHarness.ready`.
        StoreError: The state folder cannot be used.
    """
    root = state_dir() if root is None else root
    launch = Launch(find_codex(codex), home_named(codex_home, agent, root), provider)
    folder = private_dir(agent_dir(root, agent))
    async with (
        bindings_at(folder / "bridge.sqlite") as bindings,
        codex_harness(CodexSettings(launch, agent=agent), bindings) as harness,
    ):
        await harness.ready()
        yield Running(Agent(harness, Path(os.path.abspath(workspace)), id=agent, model=model), harness, launch)  # noqa: ASYNC240, PTH100 - touches no disk
