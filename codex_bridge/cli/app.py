"""Which commands there are, and how an error reaches a person.

Exit codes: 0 done; 1 the turn ended without an answer, a check failed, or a file could not be used; 2 the input is
wrong; 3 Codex cannot be used (missing, too old, not signed in, does not start).
"""

import logging
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated, Final

import typer

from codex_bridge.cli import (
    context,
    demo,
    doctor,
    heartbeat,
    job,
    lanes,
    login,
    new_workspace,
    prompt,
    skills,
    status,
    threads,
    turn,
)
from codex_bridge.cli.options import ruled
from codex_bridge.cli.saying import said
from codex_bridge.errors import AdoptionError, CodexError
from codex_bridge.home import AgentIdError
from harness.errors import HarnessError

FAILED: Final = 1
BAD_INPUT: Final = 2
NO_CODEX: Final = 3

STOPPED: Final = 130
"""As shells have it for a program that Ctrl-C ended."""
NAME: Final = "codex-bridge"

_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]
"""Words that no command knows; typer names only this one of its children."""

app = typer.Typer(
    name=NAME,
    help="Runs an agent gateway's turns on a local Codex.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo", cls=ruled())(demo.command)
app.command("turn", cls=ruled(*turn.RULES))(turn.command)
app.command("setup", cls=ruled())(new_workspace.command)
app.command("login", cls=ruled(*login.RULES))(login.command)
app.command("context", cls=ruled(*context.RULES))(context.command)
app.command("prompt", cls=ruled(*prompt.RULES))(prompt.command)
app.command("status", cls=ruled())(status.command)
app.command("job", cls=ruled(*job.RULES))(job.command)
app.command("heartbeat", cls=ruled(*heartbeat.RULES))(heartbeat.command)
app.command("doctor", cls=ruled())(doctor.command)
app.add_typer(skills.app, name="skills")
app.add_typer(lanes.app, name="lanes")
app.add_typer(threads.app, name="threads")


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
            code: object = app(prog_name=NAME, standalone_mode=False)
        finally:
            sys.stdout.flush()  # here, where an error can still be told
        sys.exit(code if isinstance(code, int) else 0)
    except _UsageError as error:
        sys.exit(_refuse(error))
    except typer.Abort:
        sys.exit(_complain("Stopped.", STOPPED))
    except OSError as error:
        # What is still unsaid goes nowhere, or Python would try once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = error.filename or "The output cannot be written"
        sys.exit(_complain(f"{what}: {error.strerror or error}.", FAILED))
    except (HarnessError, AgentIdError, AdoptionError) as error:
        sys.exit(_complain(str(error), BAD_INPUT))
    except CodexError as error:
        sys.exit(_complain(str(error), NO_CODEX))


def _refuse(error: Exception) -> int:
    """Say in one sentence what is wrong with the words behind the command; without any, show what there is."""
    sentence = str(getattr(error, "message", "")) if _shows_help(error) else _sentence(error)
    if _shows_help(error):
        print(sentence)
        return BAD_INPUT
    where = getattr(getattr(error, "ctx", None), "command_path", NAME)
    return _complain(f"{sentence.rstrip('.')}; see {where} --help.", BAD_INPUT)


def _shows_help(error: Exception) -> bool:
    return str(getattr(error, "message", "")).startswith("Usage:")


def _sentence(error: Exception) -> str:
    told: Callable[[], str] = getattr(error, "format_message", error.__str__)
    return " ".join(told().replace("Value error, ", "").split())


def _complain(sentence: str, code: int) -> int:
    print(f"{NAME}: {said(sentence)}", file=sys.stderr)
    return code
