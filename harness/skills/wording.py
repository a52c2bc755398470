"""Every sentence about skills that a model reads.

Pure. Which of them a turn carries is decided in `catalogue`.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from harness.lean_values import dataclass

NAMES_IN_NOTE: Final = 3
"""A note may not grow with the number of machines."""


@dataclass(frozen=True, slots=True)
class ReadTool:
    """The model loads a skill's file with a tool."""

    name: str = "read"
    """The tool's name in the letter case in which the model knows it."""


@dataclass(frozen=True, slots=True)
class Shell:
    """The model loads a skill's file with a shell command, because it has no tool that reads files."""

    command: str = "cat"


Loading = ReadTool | Shell
"""How the model of this turn opens a file."""


RELATIVE_PATHS: Final = (
    "A relative path in a skill file starts at the folder of that file; "
    "make it a full path before using it in a command."
)
"""What stands before the list also where a prompt says by itself how skills are used."""


def introduction(loading: Loading, *, descriptions: bool) -> str:
    """Write the lines that stand before the list.

    Args:
        loading: How the model opens a file.
        descriptions: Whether the list has descriptions; without them the names must do.
    """
    if descriptions:
        first = "Each skill listed here holds instructions for one kind of task."
        matches = "its description fits the task"
    else:
        first = "Each skill listed here holds instructions for one kind of task; descriptions are left out for space."
        matches = "its name fits the task"
    return (
        f"{first}\n"
        f"When {matches}, {_load(loading)} and follow it.\n"
        "When a skill's version differs from the one in an earlier turn, load its file again before using it.\n"
        f"{RELATIVE_PATHS}"
    )


def _load(loading: Loading) -> str:
    match loading:
        case ReadTool(name):
            return f"load the skill's file with `{name}` from the exact location given"
        case Shell(command):
            return (
                f"print the skill's file from the exact location given with a shell command (`{command}`; "
                "leave a leading ~ outside of quotes)"
            )
        case _:
            assert_never(loading)


def compact_note(check_command: str) -> str:
    """Say that all skills are listed, without descriptions."""
    return f"⚠️ Skill descriptions are left out so that every skill fits. `{check_command}` shows them."


def truncated_note(included: int, total: int, *, compact: bool, check_command: str) -> str:
    """Say that some skills are not listed at all."""
    form = " (compact format, descriptions left out)" if compact else ""
    return f"⚠️ Skills truncated: included {included} of {total}{form}. `{check_command}` shows what is missing."


def remote_note(nodes: Sequence[str], how: str) -> str:
    """Say that skills for macOS run on another machine.

    Args:
        nodes: Names of the connected Macs.
        how: How a command gets there, such as "`exec` with host set to node".
    """
    shown = ", ".join(_one_line(name) for name in nodes[:NAMES_IN_NOTE])
    more = f" and {len(nodes) - NAMES_IN_NOTE} more" if len(nodes) > NAMES_IN_NOTE else ""
    return f"A Mac is connected ({shown}{more}). Run the commands of skills that need macOS there: {how}."


def _one_line(name: str) -> str:
    return " ".join(name.replace("<", "(").replace(">", ")").split())
