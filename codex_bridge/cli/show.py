"""How the demo looks, to a person and to a program."""

from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from codex_bridge.cli.saying import said
from codex_bridge.cli.tables import console, table
from codex_bridge.lanes import Lane
from codex_bridge.rpc import Json
from codex_bridge.turn import SentRequest
from harness.units import utf16_units

if TYPE_CHECKING:
    from codex_bridge.cli.demo import Demonstration

HEAD: Final = 64
"""Characters of a text that a table shows."""
SHORT: Final = 48
"""A value up to this long stands on its field's line."""

_SHORT: Final = {
    Lane.NATIVE: "(left to Codex)",
    Lane.THREAD_DEVELOPER: "developerInstructions",
    Lane.TURN_DEVELOPER: "collaborationMode",
    Lane.TURN_ADDED: "additionalContext",
    Lane.TURN_NAMED: "additionalContext, untrusted",
    Lane.TURN_QUOTED: "additionalContext, untrusted",
    Lane.TURN_ONCE: "additionalContext, once",
    Lane.TURN_CONTEXT: "input, quoted files",
    Lane.TURN_INPUT: "input",
}


def demonstration(demo: "Demonstration") -> None:
    """Print it for a person."""
    out = console()
    out.print(f"A Telegram message on Codex {demo.codex} ({demo.binary}), with a loopback model.\n")
    out.print(Text(f"{demo.message.sender.name}: {demo.message.text}\n", style="bold"))
    for request in demo.sent:
        _print_sent(out, demo, request)
    for each in demo.lanes.left_out:
        out.print(f"  left out: {each.name.value}, {each.reason}", style="dim")
    out.print()
    out.print(_received(demo))
    out.print()
    out.print(_layers(demo))
    out.print()
    out.print(Text("Reply, scripted, streamed in " + f"{len(demo.pieces)} pieces:", style="bold"))
    out.print(Text("|".join(demo.pieces)))
    out.print()
    if demo.as_promised:
        out.print("Every layer reached the model once, in its lane, and the reply came back whole.", style="green")
    else:
        out.print("Something is not where it belongs; see the last column above.", style="bold red")
        if demo.result.error:
            out.print(said(demo.result.error), style="red")


def as_data(demo: "Demonstration") -> dict[str, Json]:
    """The same for a program."""
    return {
        "codex": {"version": demo.codex, "source": demo.binary},
        "message": {"key": demo.message.key, "text": demo.message.text},
        "sent": [{"method": each.method, "params": each.to_wire()} for each in demo.sent],
        "leftOut": [{"layer": each.name.value, "reason": each.reason} for each in demo.lanes.left_out],
        "received": [
            {"item": part.item, "part": part.part, "kind": part.kind, "role": part.role,
             "units": utf16_units(part.text), "text": part.text}
            for part in demo.received.parts()
        ],
        "layers": [
            {"layer": each.layer.name.value, "lane": each.lane.value, "units": each.layer.units,
             "seenAt": [f"{part.item}.{part.part}" for part in each.seen], "problem": each.verdict}
            for each in demo.sightings
        ],
        "reply": {"text": demo.result.text, "pieces": list(demo.pieces), "outcome": demo.result.outcome.value},
        "asPromised": demo.as_promised,
    }  # fmt: skip


def _print_sent(console: Console, demo: "Demonstration", request: SentRequest) -> None:
    console.print(Text(f"Sent: {request.method}", style="bold"))
    for field, value in _fields(request.to_wire()):
        if len(value) <= SHORT and "\n" not in value:
            console.print(Text.assemble("  ", field, ("  " + value, "dim")), overflow="ellipsis", no_wrap=True)
            continue
        held = _layers_in(demo, value)
        size = f"{utf16_units(value)} units" + (f", holds {held}" if held else "")
        console.print(Text.assemble("  ", field, f"  ({size})"), overflow="ellipsis", no_wrap=True)
        console.print(Text.assemble("      ", _head(value)), style="dim", overflow="ellipsis", no_wrap=True)
    console.print()


def _fields(params: Json, prefix: str = "") -> list[tuple[str, str]]:
    """Every value of a request with its dotted place, texts as they are."""
    match params:
        case dict():
            places = {key: f"{prefix}.{key}" if prefix else key for key in params}
            return [row for key, value in params.items() for row in _fields(value, places[key])]
        case list():
            return [row for index, value in enumerate(params) for row in _fields(value, f"{prefix}[{index}]")]
        case _:
            return [(prefix, str(params))]


def _received(demo: "Demonstration") -> Table:
    return table(
        f"What the model received ({demo.received.model}; from the recorded request)",
        ("order", "role", "size", "holds", "text"),
        [
            (
                f"{part.item}.{part.part}",
                part.role or part.kind,
                str(utf16_units(part.text)),
                _layers_in(demo, part.text) or "Codex's own",
                _head(part.text),
            )
            for part in demo.received.parts()
        ],
    )


def _layers_in(demo: "Demonstration", text: str) -> str:
    names = [each.layer.name.value.rpartition("/")[2] for each in demo.sightings if each.layer.text in text]
    return ", ".join(names)


def _layers(demo: "Demonstration") -> Table:
    return table(
        "Each layer",
        ("layer", "sent as", "size", "seen at", "verdict"),
        [
            (
                each.layer.name.value,
                _SHORT[each.lane],
                str(each.layer.units),
                ", ".join(f"{part.item}.{part.part}" for part in each.seen),
                Text(each.verdict, style="bold red") if each.verdict else Text("in its lane", style="green"),
            )
            for each in demo.sightings
        ],
    )


def _head(text: str) -> Text:
    flat = " ".join(text.split())
    return Text(flat if len(flat) <= HEAD else flat[: HEAD - 1] + "…")
