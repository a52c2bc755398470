"""What is read as one simple command is just that to real shells, and everything else is refused."""

import shlex
import shutil
import subprocess
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.simple_command import simple_argv

SHELLS = [shell for shell in ("bash", "dash", "zsh") if shutil.which(shell)]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", ("git", "status")),
        ("  git   log --format=%h  ", ("git", "log", "--format=%h")),
        (
            "git commit -m 'a; b && c | d > e `f` $g (h) # i'",
            ("git", "commit", "-m", "a; b && c | d > e `f` $g (h) # i"),
        ),
        ('echo "it\'s \\"so\\" \\\\ \\$x"', ("echo", 'it\'s "so" \\ $x')),
        ("echo it\\'s '' \"\"", ("echo", "it's", "", "")),
        ("'git' st\"at\"us", ("git", "status")),
        ("\\ls", ("ls",)),
        ("echo 'größer 🙂'", ("echo", "größer 🙂")),
        ("/bin/bash -lc 'git status && rm -r x'", ("/bin/bash", "-lc", "git status && rm -r x")),
        ("make CC=gcc", ("make", "CC=gcc")),
    ],
)
def test_a_simple_command_is_read_word_by_word(command: str, words: tuple[str, ...]) -> None:
    assert simple_argv(command) == words


@pytest.mark.parametrize(
    "command",
    [
        "", "   ", "''", "git status; rm x", "git status & rm x", "git status && rm x", "git status || rm x",
        "git status | sh", "git status\nrm x", "git status\rrm x", "git status\u2028rm x", "git status\x00",
        "git $(rm x)", "git `rm x`", 'git "$(rm x)"', 'git "`rm x`"', "git ${x}", "git $x", 'git "$x"', "git $'x'",
        "git > x", "git < x", "git 2>&1", "git << x", "git <(rm x)", "(git)", "{ git; }", "git {a,b}", "git *", "git ?",
        "git [a]", "git ~", "git ~/x", "git HEAD~1", "git HEAD^", "git # x", "git a#b", "A=b git", "A= git", "A+=b git",
        "a[0]=b", "! git", "git !x", 'git "!x"', "if git", "time git", "while git", "function git", "coproc git",
        "noglob git", "=git", "git =ls", "git 'x", 'git "x', "git x\\", 'git "x\\n"', "git \u00a0x", "git 'x\u200by'",
        "git\tx", "größer", "git \x1b[1m", "gіt status", "git\u202e",
    ],
)  # fmt: skip
def test_everything_that_a_shell_might_take_for_more_is_refused(command: str) -> None:
    assert simple_argv(command) is None


def run(shell: str, command: str) -> list[str]:
    """The words that a shell passes on, with a command of ours in the place of the first one."""
    done = subprocess.run(
        [shell, "-c", f"printf '%s\\0' {command}"], capture_output=True, timeout=10, check=True, text=True
    )
    return done.stdout.split("\0")[:-1]


PIECES = st.sampled_from(
    ["a", "git", "-x", "=", "~", "'", '"', "\\", "$", "`", " ", "  ", ";", "|", "&", "<", ">", "(", ")", "{", "}", ",",
     "*", "?", "[", "]", "#", "!", "%", "^", "@", ":", ".", "/", "+", "é", "$x", "$(a)", "'a b'", '"a b"', "\\ ", "if"]
)  # fmt: skip


@cache
def batch(shell: str, commands: tuple[str, ...]) -> list[list[str]]:
    script = "\n".join(f"printf '%s\\0' x {each}; printf '\\n'" for each in commands)
    done = subprocess.run([shell, "-c", script], capture_output=True, timeout=20, check=True, text=True)
    return [line.split("\0")[1:-1] for line in done.stdout.split("\n")[:-1]]


@pytest.mark.parametrize("shell", SHELLS)
@given(commands=st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=60))
@settings(max_examples=25, deadline=None)
def test_real_shells_read_the_same_words(shell: str, commands: list[str]) -> None:
    read = {each: words for each in commands if (words := simple_argv(each)) is not None}
    assert batch(shell, tuple(read)) == [list(each) for each in read.values()]


@given(words=st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), min_size=1, max_size=5))
@example(words=["git", "it's", 'say "x"', "$HOME", "`x`", "a\\b"])
def test_what_python_quotes_is_read_back_or_refused(words: list[str]) -> None:
    read = simple_argv(shlex.join(words))
    assert read in (None, tuple(words))
    if all(each.isprintable() for each in words) and words[0] and words[0].isalnum() and words[0].isascii():
        reserved = {"if", "in", "do", "fi"}
        assert words[0] in reserved or any(each.startswith("=") for each in words) or read == tuple(words)
