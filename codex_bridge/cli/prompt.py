"""`codex-bridge prompt`: the system prompt of a turn, or what Codex gets in its fields, as it would be now."""

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import typer
from rich.text import Text

from codex_bridge.cli.composing import ABOVE, BELOW, WHOLE, Backend, Chat, Look, embedded, now, on_codex
from codex_bridge.cli.options import CHANNEL, apart, like, only
from codex_bridge.cli.setup import AgentOption, ConfigOption, JsonOption, WorkspaceOption, configured
from codex_bridge.cli.tables import console, table
from codex_bridge.lanes import Lane
from harness.errors import HarnessError
from harness.inbound import ChatKind
from harness.layers import LeftOut
from harness.plain import in_workspace
from harness.prompt.boundary import MARKER, split
from harness.prompt.facts import Mode
from harness.prompt.render import digest_of
from harness.testing.scenarios import FILE, UnknownScenarioError, find_scenario
from harness.units import utf16_units
from harness.workspace.folder import check_folder

HEAD: Final = 60
"""Characters of a part that the table shows."""


_OWN_CHAT: Final = "A scenario brings a workspace, a chat and its message"
RULES: Final = (
    apart("--json", "--text", why="There is one output"),
    apart("--diff", "--text", why="There is one output"),
    *(apart("--scenario", option, why=_OWN_CHAT) for option in ("--workspace", "--channel", "--for")),
    only(
        "--mode",
        "--tool",
        "--model",
        "--channel",
        deciding="--harness",
        words=(Backend.EMBEDDED,),
        why="Codex gets the same either way",
    ),
    only(
        "--channel", deciding="--for", words=(Chat.OWNER, Chat.GROUP, Chat.HEARTBEAT), why="no chat causes the others"
    ),
    like("--channel", CHANNEL, "name of a channel, which has letters, digits, - and _ only"),
    like("--tool", r"\S+", "name of a tool, which has no blanks"),
)


class PromptOptionError(HarnessError):
    """Something to compare with that is not there."""


@dataclass(frozen=True, slots=True)
class Part:
    """One section of a system prompt, or one field of Codex."""

    name: str
    place: str
    """Where it stands."""
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What the command shows of one turn."""

    backend: Backend
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...]
    text: str
    problems: tuple[str, ...]
    account: dict[str, Any]


def command(
    harness: Annotated[Backend, typer.Option("--harness", help="Which harness runs the turn.")] = Backend.EMBEDDED,
    scenario: Annotated[
        str | None, typer.Option("--scenario", help="A scenario by name or folder: its workspace, message and model.")
    ] = None,
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    chat: Annotated[Chat, typer.Option("--for", help="The turn to look at.")] = Chat.OWNER,
    channel: Annotated[str, typer.Option("--channel", help="The channel of the chat.")] = "telegram",
    mode: Annotated[
        Mode | None, typer.Option("--mode", help="How much of the prompt; by default what the turn would get.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model, instead of the configured one.")] = None,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", help="A tool that is offered; several times for several.")
    ] = None,
    diff: Annotated[
        str | None,
        typer.Option("--diff", help="Compare with another scenario, workspace folder, or file that holds a prompt."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the prompt itself and nothing else.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the prompt of an agent's next turn: its sections with sizes, the cache boundary, what is left out.

    With --diff, exits with 1 when the two prompts differ.
    """
    found = configured(config, agent, workspace)
    look = Look(
        settings=found.settings,
        threads=found.threads,
        at=now(),
        chat=chat,
        channel=channel.strip().lower(),
        mode=mode,
        model=model or "",
        tools=tuple(tool or ()),
    )
    whole = look if scenario is None else of_scenario(look, scenario)
    shown = anyio.run(compose, whole, harness)
    if diff is not None:
        raise typer.Exit(_diff(shown.text, _other(diff, look, whole, harness), diff, as_json=as_json))
    if as_json:
        print(json.dumps(as_data(shown), ensure_ascii=False, indent=2))
    elif text:
        print(shown.text)
    else:
        _show(shown)


def of_scenario(look: Look, name: str) -> Look:
    """The same look at a scenario's workspace, message and model.

    Raises:
        ScenarioError: There is no such scenario.
    """
    found = find_scenario(name)
    return replace(
        look,
        settings=in_workspace(look.settings, found.workspace),
        chat=Chat.GROUP if found.message.chat.kind is ChatKind.GROUP else Chat.OWNER,
        channel=found.message.channel,
        message=found.message,
        model=look.model or found.model,
    )


async def compose(look: Look, backend: Backend) -> Shown:
    """Compose the turn as it would be now.

    Raises:
        WorkspaceError: The workspace is not there.
    """
    check_folder(look.settings.workspace)
    if backend is Backend.CODEX:
        found = await on_codex(look)
        plan = found.lanes
        fields = (
            (Lane.NATIVE, plan.agents_text or ""),
            (Lane.THREAD_DEVELOPER, plan.thread_developer),
            (Lane.TURN_DEVELOPER, plan.turn_developer or ""),
            (Lane.TURN_ADDED, "\n\n".join(plan.turn_added.values())),
            (Lane.TURN_NAMED, "\n\n".join(plan.turn_named.values())),
            (Lane.TURN_ONCE, "\n\n".join(plan.turn_once.values())),
            (Lane.TURN_CONTEXT, plan.turn_context),
            (Lane.TURN_INPUT, plan.turn_input),
        )
        parts = tuple(Part(lane.name.lower(), lane.value, text) for lane, text in fields if text)
        whole = "\n\n".join(f"=== {part.place} ===\n{part.text}" for part in parts)
        return Shown(backend, parts, plan.left_out, whole, (), found.report.as_data())
    inside = await embedded(look)
    made = inside.made
    halves = split(made.prompt.text) is not None
    parts = tuple(
        Part(each.name, (ABOVE if each.stable else BELOW) if halves else WHOLE, each.text)
        for each in made.prompt.sections
    )
    account = inside.account.as_data()
    return Shown(backend, parts, inside.composition.left_out, made.prompt.text, made.problems, account)


def as_data(shown: Shown) -> dict[str, object]:
    """What `--json` prints."""
    return {
        "harness": shown.backend.value,
        "units": utf16_units(shown.text),
        "parts": [
            {"name": part.name, "place": part.place, "units": utf16_units(part.text), "hash": digest_of(part.text),
             "text": part.text}
            for part in shown.parts
        ],
        "leftOut": [
            {"layer": each.name.value, "source": each.source, "reason": each.reason} for each in shown.left_out
        ],
        "problems": list(shown.problems),
        "account": shown.account,
        "text": shown.text,
    }  # fmt: skip


def _show(shown: Shown) -> None:
    out = console()
    rows: list[Sequence[str | Text]] = []
    for part in shown.parts:
        if part.place == BELOW and not any(row[0] == MARKER for row in rows):
            rows.append((MARKER, "", "", ""))
        last = part.place if shown.backend is Backend.CODEX else _head(part.text)
        rows.append((part.name, f"{utf16_units(part.text):,}", digest_of(part.text)[:8], last))
    last_column = "where" if shown.backend is Backend.CODEX else "text"
    out.print(table("Prompt", ("part", "units", "sha256", last_column), rows))
    out.print(f"\n{utf16_units(shown.text):,} units in all. --text prints it.\n")
    out.print(table("Left out", ("layer", "why"), [(each.name.value, each.reason) for each in shown.left_out]))
    for problem in shown.problems:
        out.print(Text(f"! {problem}", style="yellow"))


def _diff(ours: str, theirs: str, name: str, *, as_json: bool) -> int:
    lines = list(
        difflib.unified_diff(theirs.splitlines(), ours.splitlines(), fromfile=name, tofile="this prompt", lineterm="")
    )
    if as_json:
        print(json.dumps({"same": not lines, "with": name, "diff": lines}, ensure_ascii=False, indent=2))
    else:
        print("\n".join(lines) if lines else "The two prompts are the same.")
    return 1 if lines else 0


def _other(name: str, asked: Look, whole: Look, backend: Backend) -> str:
    """The text to compare with: of a file, of another scenario as asked, or of the same turn in another workspace."""
    path = Path(name)
    if path.is_file():
        try:
            return path.read_text("utf-8")
        except UnicodeDecodeError:
            raise PromptOptionError(f"The file {path} to compare with is not UTF-8 text.") from None
        except OSError as error:
            raise PromptOptionError(
                f"The file {path} to compare with cannot be read: {error.strerror or error}."
            ) from None
    folder = path.is_dir() and not (path / FILE).is_file()
    other = replace(whole, settings=in_workspace(whole.settings, path.absolute())) if folder else _named(name, asked)
    return anyio.run(compose, other, backend).text


def _named(name: str, look: Look) -> Look:
    try:
        return of_scenario(look, name)
    except UnknownScenarioError as error:
        raise PromptOptionError(f"{error} Nor is it a workspace folder or a file with a prompt.") from None


def _head(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= HEAD else flat[: HEAD - 1] + "…"
