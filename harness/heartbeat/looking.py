"""Whether a command does nothing but look.

Pure. A backend's own word for what a command does is not enough: Codex calls `cat X | tee F` and `find . -delete`
reading and listing (measured). So the command's text is read here, and what is not understood may do anything. What is
understood is one of a few programs that cannot act, with its output cut or counted by another.
"""

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_SHELLS: Final = frozenset(
    f"{folder}{name}" for folder in ("", "/bin/", "/usr/bin/", "/usr/local/bin/") for name in ("bash", "sh", "zsh")
)
_SCRIPT: Final = frozenset({"-c", "-lc"})

# A word: quoted text that expands nothing, and characters that mean themselves. `*`, `?` and `[` make names of files.
_WORD: Final = re.compile(r"""(?:~(?=/))?(?:'[^']*'|"[^"$`\\!]*"|[\w./:=@%+,*?\[\]-])+""")
_STEP: Final = re.compile(rf"[ \t]*(?:(?P<pipe>\|)|(?P<word>{_WORD.pattern})(?=[ \t|]|\Z))")
_PIECE: Final = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<names>[*?\[])|(?P<plain>.)""")
_NAMES: Final = "\0"
"""Stands where the shell puts names of files, which may begin with anything."""

_LINES: Final = re.compile(r"(?:[0-9]+|\$)(?:,(?:\+?[0-9]+|\$))?p")
_ANY: Final = re.compile(".*")
_OPTIONS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "cat": _ANY,
        "head": _ANY,
        "ls": _ANY,
        "tail": _ANY,
        "wc": _ANY,
        # All else that begins with `-` may run, write or delete something.
        "find": re.compile(
            r"-(?:a|and|atime|cmin|ctime|daystart|empty|iname|ipath|iregex|maxdepth|mindepth|mmin|mount|mtime|name|newer|"
            r"not|o|or|path|print|print0|prune|regex|size|type|xdev|[0-9]+[A-Za-z]?)"
        ),
        "grep": re.compile(
            r"-[0-9A-Za-z]*|--(?:after-context|before-context|color|context|count|exclude|exclude-dir|extended-regexp|"
            r"files-with-matches|fixed-strings|ignore-case|include|invert-match|line-number|max-count|no-filename|"
            r"no-messages|only-matching|recursive|with-filename|word-regexp)?(?:=.*)?"
        ),
        # `--pre` and `--hostname-bin` run programs.
        "rg": re.compile(
            r"-[0-9FHILNPSUacilnosvwx]*|-[ABCegmt][0-9A-Za-z]*|--(?:after-context|before-context|color|context|count|files|"
            r"files-with-matches|fixed-strings|glob|heading|hidden|iglob|ignore-case|invert-match|line-number|max-count|"
            r"max-depth|multiline|no-filename|no-heading|no-ignore|only-matching|smart-case|sort|type|with-filename|"
            r"word-regexp)?(?:=.*)?"
        ),
    }
)
"""The programs that only look, as long as they are given no other options than these."""
_CUTTERS: Final = frozenset({"head", "tail", "wc"})
"""What the output may be piped into."""


def only_looks(command: str) -> bool:
    """Whether a command surely changes nothing.

    Args:
        command: As a shell takes it, or with the shell itself before it: `/bin/bash -lc 'cat notes.md'`.
    """
    segments = _segments(_script(command))
    if not segments or not all(segments):
        return False
    first, *rest = segments
    return _is_harmless(first) and all(segment[0] in _CUTTERS for segment in rest)


def _script(command: str) -> str:
    """What the shell is given; empty when that is not understood."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    if len(words) == 3 and words[0] in _SHELLS and words[1] in _SCRIPT:
        return words[2]
    return command


def _segments(script: str) -> list[list[str]]:
    """The words of each program of a pipe; nothing for what is not plain words and pipes."""
    if not all(char.isprintable() or char == "\t" for char in script):
        return []
    script, segments, at = script.rstrip(" \t"), list[list[str]]([[]]), 0
    while at < len(script):
        step = _STEP.match(script, at)
        if step is None:
            return []
        at = step.end()
        if step["pipe"]:
            segments.append([])
        else:
            segments[-1].append(_PIECE.sub(_meant, step["word"]))
    return segments


def _meant(piece: re.Match[str]) -> str:
    if piece["names"]:
        return _NAMES
    return piece["single"] or piece["double"] or piece["plain"] or ""


def _is_harmless(words: list[str]) -> bool:
    program, *arguments = words
    if program == "sed":
        # Other scripts of sed write and run. After the script, what begins with `-` would still be an option.
        option, script, *files = (*arguments, "", "")
        return option == "-n" and _LINES.fullmatch(script) is not None and not any(map(_may_be_option, files))
    options = _OPTIONS.get(program)
    return options is not None and all(
        options.fullmatch(each) for each in arguments if options is not _ANY and _may_be_option(each)
    )


def _may_be_option(word: str) -> bool:
    return word.startswith(("-", _NAMES))
