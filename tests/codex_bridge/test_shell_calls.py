"""What a shell is to run, out of the call that Codex shows."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.shell_calls import script_of


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("/bin/bash -lc 'touch f.txt'", "touch f.txt"),
        ("/bin/zsh -lc ls", "ls"),
        ("/usr/bin/sh -c 'a b'", "a b"),
        ("/usr/local/bin/bash -lc ls", "ls"),
        ("/opt/homebrew/bin/zsh -lc ls", "ls"),
        ('/bin/bash -lc "it\'s \\$HOME"', "it's $HOME"),
        ("/bin/bash -lc 'it'\\''s'", "it's"),
        ("/bin/bash -lc 'one\ntwo'", "one\ntwo"),
        # more than the call of a shell, or of another program: as it stands
        ("git status", "git status"),
        ("/bin/bash -lc ls more", "/bin/bash -lc ls more"),
        ("/bin/bash -x -c ls", "/bin/bash -x -c ls"),
        ("/bin/bash run.sh", "/bin/bash run.sh"),
        ("/home/me/bin/bash -lc ls", "/home/me/bin/bash -lc ls"),
        ("bash -lc ls", "bash -lc ls"),
        # nobody can say what the shell gets
        ('/bin/bash -lc "$HOME"', ""),
        ("/bin/bash -lc 'ls' | sh", ""),
        ("/bin/bash -lc 'open", ""),
        ("ls > out", ""),
        ("", ""),
    ],
)
def test_the_script_is_taken_out_of_the_call_of_a_system_shell(command: str, script: str) -> None:
    assert script_of(command) == script


@given(st.text(st.characters(codec="ascii", exclude_characters="\x00"), min_size=1, max_size=30))
def test_every_quoted_script_comes_out_as_it_went_in(script: str) -> None:
    assert script_of(shlex.join(["/bin/bash", "-lc", script])) == script


@pytest.mark.parametrize("quoted", ['"a\\$b\\`c\\"d\\\\e\\f"', "a\\ b", "'x'\"y\"z", '"a\\\nb"'])
def test_a_script_is_read_as_a_shell_reads_it(quoted: str) -> None:
    read = subprocess.run(["/bin/sh", "-c", f"printf %s {quoted}"], capture_output=True, check=True).stdout.decode()
    assert script_of(f"/bin/sh -c {quoted}") == read
