"""What a shell is to run, out of the call of the shell that Codex shows: `/bin/bash -lc 'git status'`.

Pure. Codex runs each command of the model by a shell, and quotes what it shows as a shell would have to be given it, in
single or in double quotes (both seen). Only a shell of the system counts: the model may name another program.
"""

import re
from typing import Final

_SHELL: Final = re.compile(r"/(?:usr/(?:local/)?|opt/homebrew/)?bin/(?:ba|da|z)?sh")
_FLAGS: Final = ("-c", "-lc")
_PARTS: Final = re.compile(
    r"""
    '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`]|\\.)*)"
    | \\(?P<escaped>.)
    | (?P<plain>[^\s'"\\$`|&;<>()*?\[\]{}~#!]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE: Final = re.compile(r'\\([$`"\\])')


def script_of(command: str) -> str:
    """Return what the shell of a command is to run; a command that is no such call as it stands.

    Empty for a call of which cannot be said for certain what the shell gets.
    """
    words = _words(command)
    if words is None:
        return ""
    if len(words) == 3 and words[1] in _FLAGS and _SHELL.fullmatch(words[0]):
        return words[2]
    return command


def _words(command: str) -> list[str] | None:
    """The words of a quoted command; None where it is more than quoted words."""
    words: list[str] = []
    at = 0
    while at < len(command):
        if command[at] == " ":
            at += 1
            continue
        parts: list[str] = []
        while at < len(command) and command[at] != " ":
            found = _PARTS.match(command, at)
            if found is None:
                return None
            at = found.end()
            double = found["double"]
            if double is not None:
                parts.append(_IN_DOUBLE.sub(r"\1", double.replace("\\\n", "")))
            else:
                parts.append(found["single"] or found["escaped"] or found["plain"] or "")
        words.append("".join(parts))
    return words or None
