"""How tables look in every command."""

from collections.abc import Sequence
from typing import Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH: Final = 118
"""Columns when the output is no terminal."""
NUMBERS: Final = frozenset({"size", "raw", "kept", "units", "tokens", "summary", "schema", "arguments"})


def console() -> Console:
    """A console as wide as the terminal, or wide enough for a file."""
    probe = Console(highlight=False)
    return probe if probe.is_terminal else Console(width=WIDTH, highlight=False)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> Table:
    """A table whose last column takes more lines when it is too narrow; nothing of any column is lost."""
    made = Table(title=title, title_justify="left", title_style="bold", min_width=len(title), box=None, pad_edge=False)
    *fixed, last = columns
    for index, name in enumerate(fixed):
        width = max([len(name), *(len(row[index]) for row in rows)])
        justify: Literal["left", "right"] = "right" if name in NUMBERS else "left"
        made.add_column(name, justify=justify, no_wrap=True, min_width=width, header_style="dim")
    justify = "right" if last in NUMBERS else "left"
    made.add_column(last, justify=justify, overflow="fold", min_width=len(last), header_style="dim")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made
