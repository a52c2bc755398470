import os
from pathlib import Path

import pytest

from harness.replies.sendable import NotSendable, Sendable, sendable


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace beside a secret, with a way to it by a link, and a private folder inside."""
    root = tmp_path / "workspace"
    for folder in ("pictures", ".git", "memory", "state"):
        (root / folder).mkdir(parents=True)
    for name in ("pictures/boat.png", ".env", ".git/config", "SOUL.md", "Memory.md", "memory/2031-05-06.md"):
        (root / name).write_text(name, encoding="utf-8")
    (root / "state" / "store.sqlite").write_text("rows", encoding="utf-8")
    (root / "first").write_text("twice", encoding="utf-8")
    os.link(root / "first", root / "second")
    os.mkfifo(root / "pipe")
    (tmp_path / "secret.txt").write_text("key", encoding="utf-8")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "in.png").symlink_to(root / "pictures" / "boat.png")
    (root / "soul.png").symlink_to(root / "SOUL.md")
    return root


@pytest.mark.parametrize("source", ["pictures/boat.png", "in.png", " ./pictures/../pictures/boat.png "])
def test_a_file_of_the_workspace_is_sent_by_its_real_path(workspace: Path, source: str) -> None:
    assert sendable(source, workspace) == Sendable(str(workspace / "pictures" / "boat.png"))
    assert sendable(str(workspace / "in.png"), workspace) == Sendable(str(workspace / "pictures" / "boat.png"))


def test_an_address_is_passed_on_as_it_is(workspace: Path) -> None:
    address = "https://files.example/boat.png?size=2#top"
    assert sendable(address, workspace) == Sendable(address, is_address=True)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "is no path and no address"),
        ("a\nb", "is no path and no address"),
        ("x" * 5_000, "is no path and no address"),
        ("file:///etc/hostname", "is neither a path nor an http or https address"),
        ("data:text/plain,hi", "is neither a path nor an http or https address"),
        ("https://", "is neither a path nor an http or https address"),
        ("none.png", "is not there"),
        ("first/none.png", "cannot be looked at"),
        ("../secret.txt", "is outside the workspace"),
        ("out.txt", "is outside the workspace"),
        ("pictures", "is no regular file"),
        ("pipe", "is no regular file"),
        ("second", "is a hard link"),
        (".env", "is hidden"),
        (".git/config", "is hidden"),
        ("SOUL.md", "is one of the agent's own files"),
        ("soul.png", "is one of the agent's own files"),
        ("Memory.md", "is one of the agent's own files"),
        ("memory/2031-05-06.md", "is one of the agent's own files"),
        ("state/store.sqlite", "belongs to the gateway"),
    ],
)
def test_nothing_else_leaves_the_machine(workspace: Path, source: str, why: str) -> None:
    found = sendable(source, workspace, private=[workspace / "state"])
    assert found == NotSendable(f"{source.strip()[:120]!r} is not sent: it {why}.")


def test_what_the_turn_made_is_sent_from_a_hidden_folder_outside_the_workspace(workspace: Path, tmp_path: Path) -> None:
    made = tmp_path / ".media" / "turn"
    made.mkdir(parents=True)
    (made / "fern.png").write_text("fern", encoding="utf-8")
    (made / ".part").write_text("fern", encoding="utf-8")

    assert sendable(str(made / "fern.png"), workspace, generated=[made]) == Sendable(str(made / "fern.png"))
    assert isinstance(sendable(str(made / "fern.png"), workspace), NotSendable)
    assert isinstance(sendable(str(made / ".part"), workspace, generated=[made]), NotSendable)
