"""`codex-bridge context`: what a turn's prompt would be made of."""

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer
from rich.console import Console
from rich.text import Text

from codex_bridge.cli.composing import Backend, Chat, Look, embedded, now, on_codex
from codex_bridge.cli.options import only
from codex_bridge.cli.setup import AgentOption, ConfigOption, WorkspaceOption, configured, hint
from codex_bridge.cli.tables import console, table
from harness.prompt.account import PromptAccount
from harness.report import PromptReport, tokens
from harness.workspace.folder import check_folder

MOST_NAMES: Final = 20
"""Skills that the short list names (prompt-builder 13.2)."""
MOST_TOOLS: Final = 30
"""Tools that the short list names."""
MOST_SIZES: Final = 30
"""Skills, and tools, that the long list shows with their sizes."""
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
    found = configured(config, agent, workspace)
    hint(found)
    check_folder(found.settings.workspace)
    look = Look(settings=found.settings, threads=found.threads, chat=chat, at=now())
    report, account = anyio.run(reported, look, harness)
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
    return found.report, found.account


def sized(units: int) -> str:
    """A size as a person reads it."""
    return f"{units:,} units (~{tokens(units):,} tokens)"


def _show(out: Console, report: PromptReport, account: PromptAccount | None, *, detail: bool) -> None:
    _heading(out, report, account)
    out.print()
    rows = [(line.name, line.fitting.value, f"{line.raw:,}", f"{line.kept:,}", line.lane) for line in report.layers]
    out.print(table("Carried", ("layer", "state", "raw", "kept", "lane"), rows))
    out.print()
    out.print(table("Left out", ("layer", "why"), [(line.name, line.reason) for line in report.left_out]))
    out.print()
    _skills(out, report, detail=detail)
    _tools(out, report, detail=detail)
    if detail:
        out.print()
        _places(out, report, account)
        tracked = (account.units if account else report.units) + report.inventory.schema_units
        out.print(f"\nTracked, schemas included: {sized(tracked)}")
    # Only a conversation that was running could say.
    out.print("Tokens of the conversation: not known before a turn.")


def _heading(out: Console, report: PromptReport, account: PromptAccount | None) -> None:
    about = report.about
    out.print(Text("Context of the next turn", style="bold"))
    out.print(Text(f"Agent: {about.agent}, conversation {about.session_key}"))
    out.print(Text(f"Workspace: {report.workspace}"))
    out.print(f"Limits: {report.limits.per_file:,} units a file, {report.limits.total:,} in all")
    out.print(f"Sandbox: {about.sandbox or 'as the gateway has it'}")
    out.print(f"Layers: {sized(report.units)}")
    if account is not None:
        out.print(
            f"System prompt ({about.source.value}): {sized(account.units)}, of these {account.files_units:,} are "
            "project context"
        )
        out.print(f"Above the cache boundary: {sized(account.stable_units)}, sha256 {account.stable_digest[:16]}")
    for notice in (*report.notices, *report.tools_left_out):
        out.print(Text(f"! {notice}", style="yellow"))


def _skills(out: Console, report: PromptReport, *, detail: bool) -> None:
    found = report.inventory.skills
    out.print(f"Skills: {len({line.name for line in found})} listed, {sized(report.inventory.skills_units)}")
    if detail and found:
        largest = sorted(found, key=lambda line: (-line.units, line.name))[:MOST_SIZES]
        out.print(table("Largest skills", ("skill", "units"), [(line.name, f"{line.units:,}") for line in largest]))
    elif found:
        out.print(Text(_named([line.name for line in found], MOST_NAMES)))


def _tools(out: Console, report: PromptReport, *, detail: bool) -> None:
    inventory = report.inventory
    out.print(f"Tools: {len(inventory.tools)} offered, listed in {sized(inventory.tool_list_units)}")
    unknown = inventory.unknown_schemas
    more = f"; the gateway has {unknown} more" if unknown else ""
    out.print(f"Tool schemas: {sized(inventory.schema_units)} beside the prompt{more}")
    if detail and inventory.tools:
        largest = sorted(inventory.tools, key=lambda line: (-(line.schema_units or 0), -line.summary_units, line.name))
        rows = [
            (line.name, f"{line.summary_units:,}", _known(line.schema_units), _known(line.properties))
            for line in largest[:MOST_SIZES]
        ]
        out.print(table("Largest tools", ("tool", "summary", "schema", "arguments"), rows))
    elif inventory.tools:
        out.print(Text(_named([line.name for line in inventory.tools], MOST_TOOLS)))


def _known(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _named(names: list[str], most: int) -> str:
    more = len(names) - most
    return "  " + ", ".join(names[:most]) + (f" … (+{more} more)" if more > 0 else "")


def _places(out: Console, report: PromptReport, account: PromptAccount | None) -> None:
    if account is None:
        lanes = [(lane, f"{units:,}", f"~{tokens(units):,}") for lane, units in report.lanes().items()]
        out.print(table("Lanes", ("lane", "units", "tokens"), lanes))
        return
    rows = [
        (line.name, "above" if line.stable else "below", f"{line.units:,}", line.digest[:8])
        for line in account.sections
    ]
    out.print(table("Sections", ("section", "boundary", "units", "sha256"), rows))


def _map(out: Console, report: PromptReport) -> None:
    largest = max((line.kept for line in report.layers), default=0)
    width = max((len(line.name) for line in report.layers), default=0)
    out.print(Text(f"{sized(report.units)}", style="bold"))
    for line in sorted(report.layers, key=lambda line: -line.kept):
        bar = "█" * max(1, round(BAR * line.kept / largest)) if line.kept else ""
        out.print(Text.assemble(line.name.ljust(width), "  ", (bar, "cyan"), f" {line.kept:,}"))
