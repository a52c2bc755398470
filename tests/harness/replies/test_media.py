"""An agent puts files of its workspace into a chat, and nothing else that lies on the machine."""

import os
from pathlib import Path

import pytest

from harness.replies.media import Dropped, MediaRules, checked, is_address, opened

PNG = b"\x89PNG\r\n\x1a\n1234"


@pytest.fixture
def rules(tmp_path: Path) -> MediaRules:
    """A workspace in the folder of the gateway's state, and a folder of made pictures inside a backend's home."""
    for folder in ("state/desk/charts", "state/desk/memory", "state/home/made", "elsewhere", "state/desk/.git"):
        (tmp_path / folder).mkdir(parents=True)
    files = {
        "state/desk/charts/heat.png": "png",
        "state/desk/.env": "KEY=1",
        "state/desk/.git/config": "x",
        "state/desk/AGENTS.md": "rules",
        "state/desk/memory/2031-04-02.md": "note",
        "state/desk/memory/plan.png": "png",
        "state/desk/empty.png": "",
        "state/desk/ledger.sqlite": "rows",
        "state/home/auth.json": "key",
        "state/home/made/note.png": "png",
        "state/home/made/moth.wav": "sound",
        "state/home/made/large.wav": "a longer sound",
        "state/home/made/private.png": "png",
        "elsewhere/letter.txt": "dear",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "state/home/made/moth.png").write_bytes(PNG)
    desk = tmp_path / "state/desk"
    (desk / "link.png").symlink_to("charts/heat.png")
    (desk / "out.txt").symlink_to(tmp_path / "elsewhere/letter.txt")
    (desk / "rules.txt").symlink_to("AGENTS.md")
    (desk / "beyond").symlink_to(tmp_path / "elsewhere")
    (desk / "loop").symlink_to("loop")
    os.link(tmp_path / "elsewhere/letter.txt", desk / "second.txt")
    os.mkfifo(desk / "pipe")
    return MediaRules(
        workspace=str(desk),
        made=(str(tmp_path / "state/home/made"),),
        most_made=12,
        private=(str(tmp_path / "state"), str(desk / "ledger.sqlite"), str(tmp_path / "state/home/made/private.png")),
    )


@pytest.mark.parametrize(
    ("named", "leads_to"),
    [
        ("charts/heat.png", "charts/heat.png"),
        ("./charts/../charts/heat.png", "charts/heat.png"),
        ("link.png", "charts/heat.png"),
        ("memory/plan.png", "memory/plan.png"),
        ("{desk}/charts/heat.png", "charts/heat.png"),
        ("{desk}/../home/made/moth.png", "../home/made/moth.png"),
        ("../home/made/moth.wav", "../home/made/moth.wav"),
    ],
)
def test_a_file_of_the_workspace_or_of_the_turn_goes_out_under_the_path_that_it_leads_to(
    named: str, leads_to: str, rules: MediaRules
) -> None:
    assert checked(named.format(desk=rules.workspace), rules) == os.path.realpath(Path(rules.workspace, leads_to))


HIDDEN = "it is hidden, or in a hidden folder"
OUTSIDE = "it leads outside the workspace; the agent has to copy the file there first"


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        (".env", HIDDEN),
        (".git/config", HIDDEN),
        ("AGENTS.md", "it is a file of the prompt"),
        ("rules.txt", "it is a file of the prompt"),
        ("memory/2031-04-02.md", "it is a note of the memory"),
        ("ledger.sqlite", "it belongs to the gateway"),
        ("../home/made/private.png", "it belongs to the gateway"),
        ("../home/made/note.png", "its name is that of a picture, and what it holds is none"),
        ("../home/made/large.wav", "it has 14 bytes, and more than 12 are not sent"),
        ("../home/auth.json", OUTSIDE),
        ("out.txt", OUTSIDE),
        ("beyond/letter.txt", OUTSIDE),
        ("/etc/hostname", OUTSIDE),
        ("second.txt", "it is a hard link, a second name of some other file"),
        ("charts", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
        ("empty.png", "it is empty"),
        ("none.png", "it cannot be read (No such file or directory)"),
        ("loop", "it cannot be read (Too many levels of symbolic links)"),
        ("a\x00b", "its path holds a character that no file name can have"),
        ("  ", "no file is named"),
        ("x" * 5000, "it is longer than any path"),
        ("file:///etc/hostname", "only http and https addresses are passed on"),
        ("data:image/png;base64,AAAA", "only http and https addresses are passed on"),
        ("https:///a.png", "its address names no host"),
        ("https://kim:pw@example.com/a.png", "its address holds a password"),
        ("https://example.com/a b.png", "its address holds blanks"),
        ("http://[::1/a.png", "it is no address"),
    ],
)
def test_everything_else_is_dropped_with_the_reason(named: str, reason: str, rules: MediaRules) -> None:
    assert checked(named, rules) == Dropped(named[:120], reason)


def test_an_address_is_passed_on_as_it_is(rules: MediaRules) -> None:
    assert checked("https://example.com/a.png?w=1#x", rules) == "https://example.com/a.png?w=1#x"
    assert is_address("HTTPS://example.com/a.png")
    assert not is_address("charts/heat.png")


def test_without_a_workspace_no_file_goes_out(rules: MediaRules) -> None:
    path = f"{rules.workspace}/charts/heat.png"

    assert checked(path, MediaRules()) == Dropped(path[:120], OUTSIDE)


def test_the_operator_reads_what_was_dropped_and_why() -> None:
    assert Dropped(".env", HIDDEN).line == f"'.env' was not sent: {HIDDEN}."


def test_the_bytes_of_a_checked_file_are_read(rules: MediaRules) -> None:
    with opened(str(checked("link.png", rules))) as file:
        assert file.read() == b"png"


@pytest.mark.parametrize("swapped", ["the file", "its folder", "a pipe", "a hard link"])
def test_what_takes_the_place_of_a_checked_file_is_not_read(swapped: str, rules: MediaRules, tmp_path: Path) -> None:
    path = Path(str(checked("charts/heat.png", rules)))
    path.unlink()
    if swapped == "the file":
        path.symlink_to(tmp_path / "state/home/auth.json")
    elif swapped == "a pipe":
        os.mkfifo(path)
    elif swapped == "a hard link":
        os.link(tmp_path / "state/home/auth.json", path)
    else:
        path.parent.rmdir()
        (tmp_path / "state/home/auth.json").rename(tmp_path / "state/home/heat.png")
        path.parent.symlink_to(tmp_path / "state/home")

    with pytest.raises(OSError):
        opened(str(path))
