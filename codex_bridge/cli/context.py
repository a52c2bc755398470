"""`codex-bridge context`: what a turn's prompt would be made of."""

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer
from rich.console import Console
from rich.text import Text

from codex_bridge.cli.composing import Backend, Chat, Look, embedded, on_codex
from codex_bridge.cli.options import only
from codex_bridge.cli.setup import AgentOption, ConfigOption, WorkspaceOption, configured
from codex_bridge.cli.tables import console, table
from harness.prompt.account import PromptAccount, account_of
from harness.report import LayerLine, PromptReport, tokens
from harness.workspace.folder import check_folder

MOST_NAMES: Final = 20
"""Skills that the short list names (prompt-builder 13.2)."""
MOST_SIZES: Final = 30
"""Skills that the long list shows with their sizes."""
BAR: Final = 50
"""Columns of the longest bar."""


class View(Enum):
    """How to show the report."""

    LIST = "list"
    DETAIL = "detail"
    JSON = "json"
    MAP = "map"


RULES: Final = (only("--png", deciding="view", words=(View.MAP,), why="it draws the map"),)


def command(
    view: Annotated[View, typer.Argument(help="How to show it.")] = View.LIST,
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    chat: Annotated[Chat, typer.Option("--for", help="The turn to look at.")] = Chat.OWNER,
    png: Annotated[Path | None, typer.Option("--png", help="With map: write a picture instead.")] = None,
    harness: Annotated[Backend, typer.Option("--harness", help="Which harness runs the turn.")] = Backend.CODEX,
) -> None:
    """Show what the prompt of an agent's next turn is made of, with sizes, lanes and what is left out."""
    settings = configured(config, agent, workspace).settings
    check_folder(settings.workspace)
    report, account = anyio.run(reported, Look(settings=settings, chat=chat), harness)
    match view:
        case View.JSON:
            system = {} if account is None else {"systemPrompt": account.as_data()}
            print(json.dumps(report.as_data() | system, ensure_ascii=False, indent=2))
        case View.MAP if png is not None:
            from codex_bridge.cli.treemap import draw

            draw(report, png)
            print(f"Wrote {png}.")
        case View.MAP:
            _map(console(), report)
        case View.LIST | View.DETAIL:
            _show(console(), report, account, detail=view is View.DETAIL)


async def reported(look: Look, backend: Backend) -> tuple[PromptReport, PromptAccount | None]:
    """Compose the turn as it would be now; on the gateway's own harness with the account of its system prompt."""
    if backend is Backend.CODEX:
        return (await on_codex(look)).report, None
    found = await embedded(look)
    return found.report, account_of(found.made.prompt, (*found.made.agent.files, *found.made.turn.files))


def sized(units: int) -> str:
    """A size as a person reads it."""
    return f"{units:,} units (~{tokens(units):,} tokens)"


def _show(out: Console, report: PromptReport, account: PromptAccount | None, *, detail: bool) -> None:
    out.print(Text("Context of the next turn", style="bold"))
    out.print(f"Workspace: {report.workspace}")
    out.print(f"Limits: {report.limits.per_file:,} units a file, {report.limits.total:,} in all")
    out.print(f"Layers: {sized(report.units)}")
    if account is not None:
        out.print(f"System prompt: {sized(account.units)}, of these {account.files_units:,} are project context")
        out.print(f"Above the cache boundary: {sized(account.stable_units)}, sha256 {account.stable_digest[:16]}")
    for notice in report.notices:
        out.print(Text(f"! {notice}", style="yellow"))
    out.print()
    rows = [(line.name, _state(line), f"{line.raw:,}", f"{line.kept:,}", line.lane) for line in report.layers]
    out.print(table("Carried", ("layer", "state", "raw", "kept", "lane"), rows))
    out.print()
    out.print(table("Left out", ("layer", "why"), [(line.name, line.reason) for line in report.left_out]))
    out.print()
    _skills(out, report, detail=detail)
    if detail:
        out.print()
        lanes = [(lane, f"{units:,}", f"~{tokens(units):,}") for lane, units in report.lanes().items()]
        out.print(table("Lanes", ("lane", "units", "tokens"), lanes))


def _state(line: LayerLine) -> str:
    return "cut" if line.cut else "whole"


def _skills(out: Console, report: PromptReport, *, detail: bool) -> None:
    total = sum(line.units for line in report.skills)
    out.print(f"Skills: {len(report.skills)} listed, {sized(total)}")
    if detail:
        largest = sorted(report.skills, key=lambda line: (-line.units, line.name))[:MOST_SIZES]
        out.print(table("Largest skills", ("skill", "units"), [(line.name, f"{line.units:,}") for line in largest]))
        return
    names = [line.name for line in report.skills[:MOST_NAMES]]
    more = len(report.skills) - len(names)
    if names:
        out.print("  " + ", ".join(names) + (f" … (+{more} more)" if more > 0 else ""))


def _map(out: Console, report: PromptReport) -> None:
    largest = max((line.kept for line in report.layers), default=0)
    width = max((len(line.name) for line in report.layers), default=0)
    out.print(Text(f"{sized(report.units)}", style="bold"))
    for line in sorted(report.layers, key=lambda line: -line.kept):
        bar = "█" * max(1, round(BAR * line.kept / largest)) if line.kept else ""
        out.print(Text.assemble(line.name.ljust(width), "  ", (bar, "cyan"), f" {line.kept:,}"))
