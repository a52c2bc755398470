"""The bundled hook adds recognised files by path or glob, and says what it does not accept."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from harness.settings import EXTRA_FILES_HOOK
from harness.workspace.bootstrap import Bootstrap, BootstrapFiles, BootstrapRequest
from harness.workspace.entries import NoticeCode
from harness.workspace.extra_files import ExtraFiles
from harness.workspace.globs import MOST_ALTERNATIVES, Globber, TooWideError, alternatives
from harness.workspace.hooks import BootstrapHooks
from harness.workspace.reader import GuardedReader


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = (tmp_path / "ws").resolve()
    for path in (
        "AGENTS.md",
        "packages/boat/AGENTS.md",
        "packages/boat/SOUL.md",
        "packages/house/AGENTS.md",
        "packages/house/NOTES.md",
        "packages/.hidden/AGENTS.md",
        "packages/node_modules/x/AGENTS.md",
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    return folder


async def resolve(workspace: Path, wanted: list[str], session_key: str = "agent:main:main") -> BootstrapFiles:
    reader = GuardedReader()
    hooks = BootstrapHooks()
    hooks.register(ExtraFiles(wanted, reader=reader), name=EXTRA_FILES_HOOK)
    request = BootstrapRequest(str(workspace), "main", session_key=session_key)
    return await Bootstrap(reader, hooks=hooks).resolve(request)


def extra(files: BootstrapFiles) -> list[str]:
    return [file.text for file in files.files if "/" in file.text]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("packages/boat/AGENTS.md", ["boat/AGENTS.md"]),
        ("packages/*/AGENTS.md", ["boat/AGENTS.md", "house/AGENTS.md"]),
        ("packages/{house,boat}/{AGENTS,SOUL}.md", ["boat/AGENTS.md", "boat/SOUL.md", "house/AGENTS.md"]),
        ("**/S?UL.md", ["boat/SOUL.md"]),
        ("./packages/**/AGENTS.md", ["boat/AGENTS.md", "house/AGENTS.md"]),
        ("packages/.*/AGENTS.md", [".hidden/AGENTS.md"]),
        ("packages/[bh]o*/SOUL.md", ["boat/SOUL.md"]),
    ],
)
async def test_paths_and_globs_add_files(workspace: Path, pattern: str, expected: list[str]) -> None:
    resolved = await resolve(workspace, [pattern])
    assert (extra(resolved), resolved.notices) == ([f"packages/{path}" for path in expected], ())


async def test_a_subagent_gains_no_persona(workspace: Path) -> None:
    """S65."""
    config = ["packages/boat/*.md"]
    resolved = await resolve(workspace, config, session_key="agent:main:subagent:7f")
    assert extra(resolved) == ["packages/boat/AGENTS.md"]


async def test_what_is_not_accepted_is_named_with_the_reason(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("outside")
    (workspace / "linked").mkdir()
    (workspace / "linked" / "SOUL.md").symlink_to(tmp_path / "SOUL.md")
    wanted = [
        "packages/house/NOTES.md",
        "packages/none/SOUL.md",
        "nothing/*/SOUL.md",
        "../SOUL.md",
        "../*/SOUL.md",
        "linked/SOUL.md",
        "name" * 80 + "/SOUL.md",
    ]
    resolved = await resolve(workspace, wanted)
    assert extra(resolved) == []
    assert [(notice.source, notice.code) for notice in resolved.notices] == [
        (wanted[0], NoticeCode.INVALID_BOOTSTRAP_FILENAME),
        (wanted[1], NoticeCode.MISSING),
        (wanted[2], NoticeCode.MISSING),
        (wanted[3], NoticeCode.SECURITY),
        (wanted[4], NoticeCode.SECURITY),
        (wanted[5], NoticeCode.SECURITY),
        (wanted[6], NoticeCode.IO),
    ]
    assert resolved.notices[1].text == (
        "bootstrap-extra-files: packages/none/SOUL.md does not exist; correct the path or remove it."
    )


def test_a_glob_sees_files_that_come_and_go(workspace: Path) -> None:
    globber = Globber(now_ns=lambda: 4 * 10**18)
    assert globber.find(str(workspace), "**/SOUL.md") == ["packages/boat/SOUL.md"]
    (workspace / "packages" / "house" / "SOUL.md").write_text("x")
    (workspace / "packages" / "boat" / "SOUL.md").unlink()
    assert globber.find(str(workspace), "**/SOUL.md") == ["packages/house/SOUL.md"]


def test_a_glob_does_not_walk_in_circles(workspace: Path) -> None:
    (workspace / "packages" / "again").symlink_to(workspace)
    assert Globber().find(str(workspace), "**/SOUL.md") == ["packages/boat/SOUL.md"]


def test_braces_are_written_out_up_to_a_bound() -> None:
    assert alternatives("a/{b,c{d,e}}/f") == ["a/b/f", "a/cd/f", "a/b/f", "a/ce/f"]
    assert alternatives("a}{b") == ["a}{b"]
    with pytest.raises(TooWideError, match=str(MOST_ALTERNATIVES)):
        alternatives("{a,b}" * 12)


async def test_a_search_that_is_too_wide_is_reported(workspace: Path) -> None:
    resolved = await resolve(workspace, ["{a,b}" * 12])
    assert [(notice.code, "make it narrower" in notice.text) for notice in resolved.notices] == [(NoticeCode.IO, True)]


def test_one_looped_link_hides_no_neighbour(tmp_path: Path) -> None:
    (tmp_path / "p" / "a").mkdir(parents=True)
    (tmp_path / "p" / "a" / "AGENTS.md").write_text("x")
    (tmp_path / "p" / "loop").symlink_to("loop")
    assert Globber().find(str(tmp_path), "p/*/AGENTS.md") == ["p/a/AGENTS.md"]


def test_two_stars_at_the_end_find_the_prompt_files_at_every_depth(tmp_path: Path) -> None:
    (tmp_path / "p" / "a" / "b").mkdir(parents=True)
    for path in ("p/AGENTS.md", "p/a/b/TOOLS.md", "p/a/notes.txt"):
        (tmp_path / path).write_text("x")
    assert Globber().find(str(tmp_path), "p/**") == ["p/AGENTS.md", "p/a/b/TOOLS.md"]


async def test_two_stars_at_the_end_name_no_other_file(workspace: Path) -> None:
    resolved = await resolve(workspace, ["packages/**"])
    assert (extra(resolved), resolved.notices) == (
        ["packages/boat/AGENTS.md", "packages/boat/SOUL.md", "packages/house/AGENTS.md"],
        (),
    )


def count_listings(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    listed: list[str] = []
    real = os.scandir

    def counted(folder: str) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", counted)
    return lambda: len(listed)


@pytest.mark.parametrize(
    ("now_ns", "dated_ns", "listings"),
    [(None, None, 3), (4 * 10**18, None, 1), (4 * 10**18, 4 * 10**18, 1), (10**15, None, 1)],
    ids=["changed just now", "settled", "dated in the future", "clock set back"],
)
def test_a_folder_is_listed_again_only_while_it_may_change_within_a_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now_ns: int | None, dated_ns: int | None, listings: int
) -> None:
    (tmp_path / "SOUL.md").write_text("x")
    if dated_ns is not None:
        os.utime(tmp_path, ns=(dated_ns, dated_ns))
    changed_ns = tmp_path.stat().st_ctime_ns
    globber = Globber(now_ns=lambda: changed_ns + 1 if now_ns is None else now_ns)
    count = count_listings(monkeypatch)
    assert [globber.find(str(tmp_path), "*.md") for _ in range(3)] == [["SOUL.md"]] * 3
    assert count() == listings


def test_a_folder_whose_date_was_put_back_after_a_change_is_listed_again(tmp_path: Path) -> None:
    def clock() -> int:
        return 4 * 10**18

    (tmp_path / "SOUL.md").write_text("x")
    os.utime(tmp_path, ns=(10**18, 10**18))
    before = tmp_path.stat().st_ctime_ns
    globber = Globber(now_ns=clock)
    globber.find(str(tmp_path), "*.md")
    while tmp_path.stat().st_ctime_ns == before:  # the next tick of the file system's clock
        (tmp_path / "USER.md").write_text("x")
        os.utime(tmp_path, ns=(10**18, 10**18))
    assert globber.find(str(tmp_path), "*.md") == ["SOUL.md", "USER.md"]
