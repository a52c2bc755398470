"""Reads a shell's command that is one simple command and nothing else, in every shell the same.

Pure. Whatever a shell might take for more than words is refused, also where some shell would not: the result decides
what runs without asking anybody.
"""

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
"""What stands for itself without quotes in bash, dash and zsh alike."""
_SINGLE: Final = re.compile(r"'([^']*)'")
_DOUBLE: Final = re.compile(r'"((?:[^"\\$`!]|\\["\\$`])*)"')
_IN_DOUBLE: Final = re.compile(r'\\(["\\$`])')
_ESCAPED: Final = re.compile(r"\\([!-~])")
_RESERVED: Final = frozenset(
    {
        "case", "coproc", "do", "done", "elif", "else", "end", "esac", "fi", "for", "foreach", "function", "if", "in",
        "nocorrect", "noglob", "repeat", "select", "then", "time", "until", "while",
    }
)  # fmt: skip
"""Words that mean something else to a shell in the first place; those with signs are no plain words."""


def simple_argv(command: str) -> tuple[str, ...] | None:
    """Return the words of a command; None unless it is one simple command.

    There are no operators, substitutions, redirections, patterns, braces, tildes, comments or leading assignments in
    it, no line ends, and nothing that cannot be seen.
    """
    if not command.isprintable():
        return None
    words: list[str] = []
    at = 0
    while at < len(command):
        if command[at] == " ":
            at += 1
            continue
        read = _word(command, at, first=not words)
        if read is None:
            return None
        word, at = read
        words.append(word)
    return tuple(words) or None


def _word(command: str, at: int, *, first: bool) -> tuple[str, int] | None:
    """The word that begins here, and where it ends."""
    begin, parts = at, list[str]()
    while at < len(command) and command[at] != " ":
        for pattern in (_PLAIN, _SINGLE, _DOUBLE, _ESCAPED):
            if found := pattern.match(command, at):
                break
        else:
            return None
        text = found[1] if pattern is not _PLAIN else found[0]
        if pattern is _PLAIN and first and "=" in text:
            return None  # an assignment, or what zsh looks up
        parts.append(_IN_DOUBLE.sub(r"\1", text) if pattern is _DOUBLE else text)
        at = found.end()
    if command[begin] == "=" or (first and command[begin:at] in _RESERVED):
        return None
    word = "".join(parts)
    return None if first and not word else (word, at)
