"""Which commands there are, and how an error reaches a person.

Exit codes: 0 done; 1 the turn ended without an answer, a check failed, or a file could not be used; 2 the input is
wrong; 3 Codex cannot be used (missing, too old, not signed in, does not start).
"""

import logging
import os
import sys
from io import TextIOWrapper
from typing import Annotated, Final

import typer

from codex_bridge.cli import (
    context,
    demo,
    doctor,
    heartbeat,
    lanes,
    login,
    new_workspace,
    prompt,
    skills,
    status,
    turn,
)
from codex_bridge.cli.options import ruled
from codex_bridge.errors import CodexError
from codex_bridge.home import AgentIdError
from harness.errors import HarnessError

FAILED: Final = 1
BAD_INPUT: Final = 2
NO_CODEX: Final = 3

app = typer.Typer(
    name="codex-bridge",
    help="Runs an agent gateway's turns on a local Codex.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo", cls=ruled())(demo.command)
app.command("turn", cls=ruled())(turn.command)
app.command("setup", cls=ruled())(new_workspace.command)
app.command("login", cls=ruled(*login.RULES))(login.command)
app.command("context", cls=ruled(*context.RULES))(context.command)
app.command("prompt", cls=ruled(*prompt.RULES))(prompt.command)
app.command("status", cls=ruled())(status.command)
app.command("heartbeat", cls=ruled(*heartbeat.RULES))(heartbeat.command)
app.command("doctor", cls=ruled())(doctor.command)
app.add_typer(skills.app, name="skills")
app.add_typer(lanes.app, name="lanes")


@app.callback()
def common(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the bridge's log on stderr.")] = False,
) -> None:
    """Runs an agent gateway's turns on a local Codex."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.CRITICAL, format="%(levelname)s %(name)s: %(message)s"
    )


def run() -> None:
    """Run the command line and leave with its exit code; every expected error is one sentence on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal of another encoding still shows the rest
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where an error can still be told
    except OSError as error:
        # What is still unsaid goes nowhere, or Python would try once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = error.filename or "The output cannot be written"
        sys.exit(_complain(f"{what}: {error.strerror or error}.", FAILED))
    except (HarnessError, AgentIdError) as error:
        sys.exit(_complain(str(error), BAD_INPUT))
    except CodexError as error:
        sys.exit(_complain(str(error), NO_CODEX))


def _complain(sentence: str, code: int) -> int:
    print(f"codex-bridge: {sentence}", file=sys.stderr)
    return code
