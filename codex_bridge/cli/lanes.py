"""`codex-bridge lanes`: where the layers of a prompt travel, proven on the installed binary."""

import json
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.text import Text

from codex_bridge.binary import find_codex
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.cli.options import ruled
from codex_bridge.cli.scratch import scratch
from codex_bridge.cli.setup import LOOPBACK_MODEL, CodexOption, JsonOption
from codex_bridge.cli.tables import console, table
from codex_bridge.home import state_dir
from codex_bridge.verify import Cell, Observer, Row, Verification, verify

app = typer.Typer(help="Where the layers of a prompt travel.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Where the layers of a prompt travel."""


@app.command("verify", cls=ruled())
def verify_command(
    model: Annotated[str, typer.Option("--model", help="The model that is asked for; a stand-in plays it.")] = (
        LOOPBACK_MODEL
    ),
    catalogue: Annotated[
        CatalogueMode, typer.Option("--catalogue", help="auto, patched or untouched, as appServer.modelCatalog.")
    ] = "auto",
    codex: CodexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run sentinels through the real binary and show which layer reached whom. Exits with 1 when one did not."""
    with scratch(state_dir() / "verify") as folder:
        found = anyio.run(_run, codex, folder, model, catalogue)
    if as_json:
        print(json.dumps(found.as_data(), indent=2))
    else:
        _show(found)
    raise typer.Exit(0 if found.holds else 1)


async def _run(codex: Path | None, folder: Path, model: str, catalogue: CatalogueMode) -> Verification:
    return await verify(find_codex(codex), folder, model=model, catalogue=catalogue)


def _show(found: Verification) -> None:
    out = console()
    out.print(f"Codex {found.codex}, model {found.model}, catalogue: {found.catalogue}.")
    honoured = ", ".join(f"{name} {str(value).lower()}" for name, value in found.honours.items())
    out.print(f"Expected by what the server is taken to honour: {honoured}.")
    out.print("Seen in the requests that the model got:\n")
    rows = [(row.value, *(_shown(found.cells.get((row, observer))) for observer in Observer)) for row in Row]
    out.print(table("Lanes", ("layer", *(observer.value for observer in Observer)), rows))
    out.print()
    for problem in found.problems:
        out.print(Text(f"! {problem}", style="bold red"))
    if found.holds:
        out.print("Every layer was seen where it should be, and nowhere else.", style="green")
    else:
        out.print("Something is not where it belongs; see the marked cells.", style="bold red")


def _shown(cell: Cell | None) -> Text:
    if cell is None:
        return Text("not seen", style="bold red")
    places = ", ".join(dict.fromkeys(cell.seen))
    text = "-" if not cell.seen else places if len(cell.seen) == 1 else f"{places} x {len(cell.seen)}"
    if cell.as_expected:
        return Text(text)
    least, most = cell.least, cell.most
    return Text(f"{text} (not {least if least == most else f'{least} to {most}'})", style="bold red")
