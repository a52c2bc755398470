"""A command that is said only to look changes nothing, however it is written."""

import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.heartbeat.looking import only_looks

LOOKS = (
    "cat HEARTBEAT.md",
    "cat  A\tB | head -5 ",
    "cat 'a;b > c' \"it's\"",
    "cat memory/*.md ~/notes/today.md",
    "head -c 10 'my file.md' | wc -c",
    "tail -n 3 A",
    "ls",
    "ls -la *",
    "wc -l *.md",
    "sed -n 1,5p A",
    "sed -n '$p' A B | tail -1",
    "sed -n '3,+4p' A",
    "rg -n -i 'x|y' --glob '*.md' .",
    "rg --files -tpy | head -20",
    "grep -rn --include='*.md' 'x y' memory",
    "find . -maxdepth 2 -type f -name '*.md' -mtime -1 | wc -l",
    "cat Küche.md",
)
ACTS = (
    "find . -name X -delete",
    "cat X | tee F",
    "ls | xargs -n1 touch",
    "cat A | sort -o F",
    "sed -n 1,5p A | sed 'w F'",
    "awk '{print > \"F\"}'",
    "find . -fprint F",
    "cat A | uniq - F",
    "rg --pre cmd x",
    "rg --pre=cmd x",
    "rg --hostname-bin=cmd x",
    "fd -x rm",
    "cat A > F",
    "cat A >> F",
    "cat A 2>/dev/null",
    "cat < A",
    "cat A; rm F",
    "cat A & rm F",
    "cat A && rm F",
    "cat A || rm F",
    "cat A |& tee F",
    "cat A\nrm F",
    "cat A\rrm F",
    "cat A \\\n; rm F",
    "cat $(rm F)",
    "cat `rm F`",
    'cat "$(rm F)"',
    'cat "`rm F`"',
    "cat $X",
    'cat "${X:=y}"',
    "cat <(rm F)",
    "cat A | while read x",
    "sed -i 1,5p A",
    "sed -n 1,5p -i A",
    "sed -n 1,5p *",
    "sed -n 'w F' A",
    "sed -n '1e rm F' A",
    "sed -n",
    "sed 1,5p A",
    "find . -exec rm {} +",
    "find . -ok rm {} +",
    "find . -fls F",
    "find *",
    "find . ''*",
    "rg x ?-pre",
    "rg x [-]*",
    "X=1 cat A",
    "~/cat A",
    "./cat A",
    "cat A | ./head",
    "cat A | cat",
    "cat {A,B}",
    "cat a~/b",
    "cat A # B",
    "cat ~other/A",
    "cat 'A",
    'cat "A',
    "cat A |",
    "| cat A",
    "",
    " ",
    "python3 look.py",
    "date",
)
NESTED = (
    "/bin/bash -lc 'cat A' x",
    "/bin/bash -lc",
    "/bin/bash -lxc 'cat A'",
    "/tmp/bash -lc 'cat A'",
    "./bash -lc 'cat A'",
    "env bash -lc 'cat A'",
    "/bin/bash -lc \"/bin/bash -lc 'cat A'\"",
    "pwsh -c 'cat A'",
)


def in_shell(command: str) -> tuple[str, ...]:
    """The command as Codex tells of it, and as it stands."""
    return (command, *(f"{shell} {shlex.quote(command)}" for shell in ("/bin/bash -lc", "bash -c", "/bin/zsh -lc")))


@pytest.mark.parametrize("command", LOOKS)
def test_a_command_that_only_looks_is_known(command: str) -> None:
    assert [only_looks(each) for each in in_shell(command)] == [True] * 4


@pytest.mark.parametrize("command", ACTS)
def test_a_command_that_may_act_is_not_taken_for_a_look(command: str) -> None:
    assert [only_looks(each) for each in in_shell(command)] == [False] * 4


@pytest.mark.parametrize("command", NESTED)
def test_only_a_shell_that_is_given_one_script_is_looked_into(command: str) -> None:
    assert not only_looks(command)


PROGRAMS = ("cat", "head", "tail", "ls", "wc", "sed", "find", "grep", "rg", "tee", "touch", "rm", "sort", "xargs")
ARGUMENTS = (
    "A", "B", "*", "?", ".", "./*", "[A]", "''", '""', "'A'", "-n", "-i", "-o", "1p", "'w B'", "-name", "-delete",
    "-exec", "-fprint", "--pre", "--pre=rm", "-type", "f", "-print", "--", "-", "-0", "touch;", "{}", "+",
)  # fmt: skip
SIGNS = (
    "|", "|", ">", ">>", ";", "&", "&&", "\n", "$(rm A)", "`rm A`", "\\", "#", "(", ")", '"$(rm A)"', "'", '"', "!",
)  # fmt: skip
WORDS = st.lists(st.sampled_from((*PROGRAMS, *ARGUMENTS, *SIGNS)), max_size=7)
COMMANDS = st.tuples(st.sampled_from((" ", "  ", "")), WORDS).map(lambda each: each[0].join(each[1]))


@settings(max_examples=400)
@given(COMMANDS, st.sampled_from(["; rm A", "\nrm A", "& rm A", "> A", "| tee B", "$(rm A)", "| xargs rm"]))
def test_nothing_that_follows_a_look_is_passed_over(command: str, more: str) -> None:
    assert not only_looks(command + more)
    assert not only_looks(f"{command} {more}")


@settings(max_examples=600, deadline=None)
@given(COMMANDS)
def test_what_is_said_to_look_leaves_a_folder_as_it_was(command: str) -> None:
    """Run for real, in a folder with names that a careless pattern makes into options."""
    if not only_looks(command):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("A", "B", "-delete", "-i", "--pre=rm", "-exec", "-fprint"):
            (folder / file).write_text("one\ntwo\n", "utf-8")
        before = contents(folder)
        shell = ["/bin/bash", "-c", command]
        subprocess.run(shell, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))}
