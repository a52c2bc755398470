"""`codex-bridge setup`: a workspace with the files that an agent begins with."""

import json

import anyio
import typer
from rich.text import Text

from codex_bridge.cli.setup import AgentOption, ConfigOption, JsonOption, WorkspaceOption, configured
from codex_bridge.cli.tables import console
from codex_bridge.home import made_dir, state_dir
from codex_bridge.lanes import HABITS
from harness.gather import Gatherer
from harness.settings.agent import AgentSettings
from harness.workspace.names import BOOTSTRAP
from harness.workspace.seeding import Seeded


def command(
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the agent's folder and write the files that are missing in it. What is there stays as it is."""
    settings = configured(config, agent, workspace).settings
    seeded = anyio.run(Gatherer(settings, HABITS).prepare, made_dir(state_dir()))
    if as_json:
        print(json.dumps(as_data(settings, seeded), ensure_ascii=False, indent=2))
        return
    out = console()
    for name in seeded.created:
        out.print(Text.assemble(("written  ", "green"), name), soft_wrap=True)
    for name in seeded.removed:
        out.print(Text.assemble(("removed  ", "yellow"), f"{name}, as the agent knows who it is"), soft_wrap=True)
    for notice in seeded.notices:
        out.print(Text(f"! {notice.text}", style="yellow"), soft_wrap=True)
    out.print(Text(_what_now(settings, seeded)), soft_wrap=True)
    raise typer.Exit(0)


def as_data(settings: AgentSettings, seeded: Seeded) -> dict[str, object]:
    """What `--json` prints."""
    return {
        "workspace": str(settings.workspace),
        "written": list(seeded.created),
        "removed": list(seeded.removed),
        "firstRun": bool(seeded.state.seeded_at) and not seeded.state.completed_at,
        "notices": [notice.text for notice in seeded.notices],
    }


def _what_now(settings: AgentSettings, seeded: Seeded) -> str:
    where = f"The workspace {settings.workspace}"
    if settings.files.seed.skip_bootstrap:
        return f"{where} is there; no file was written, since agents.defaults.skipBootstrap is set."
    if BOOTSTRAP in seeded.created:
        return f"{where} is ready. In the first conversation the agent asks who it is to be, as {BOOTSTRAP} says."
    if seeded.created:
        return f"{where} is complete again."
    return f"{where} lacks nothing."
