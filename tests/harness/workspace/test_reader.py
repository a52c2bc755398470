"""An unchanged file is not read again; a changed one always is."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.workspace.guard import identity_of
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import SETTLED_NS, Content, FileIdentity, Missing, Refusal, Refused

LATER_NS = 10**18 * 4
"""A time at which every file written by a test counts as settled."""


class Disk:
    """Counts what is opened, and can fail at first."""

    def __init__(self, *, failures: int = 0) -> None:
        self.opened = 0
        self.waits: list[float] = []
        self._failures = failures

    def open_file(self, path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            self.opened += 1
            if self.opened <= self._failures:
                raise InterruptedError(errno.EINTR, "interrupted")
        return os.open(path, flags, dir_fd=dir_fd)

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def reader(self, *, now_ns: int = LATER_NS, cache_bytes: int = 1_000_000) -> GuardedReader:
        return GuardedReader(wait=self.wait, now_ns=lambda: now_ns, open_file=self.open_file, cache_bytes=cache_bytes)


def count_stats(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    looked: list[object] = []

    def counted(function: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def call(*args: object, **options: object) -> os.stat_result:
            looked.append(args[0])
            return function(*args, **options)

        return call

    monkeypatch.setattr(os, "stat", counted(os.stat))
    monkeypatch.setattr(os, "lstat", counted(os.lstat))
    return lambda: len(looked)


async def test_an_unchanged_file_costs_one_stat_and_gives_the_same_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "SOUL.md").write_text("Be kind.")
    disk = Disk()
    reader = disk.reader()
    first = await reader.read(str(tmp_path), "SOUL.md")
    stats = count_stats(monkeypatch)
    assert await reader.read(str(tmp_path), "SOUL.md") is first
    assert (stats(), disk.opened) == (1, 1)


@pytest.mark.parametrize("text", ["Be firm.", "Be brief and kind."], ids=["same size", "other size"])
async def test_a_changed_file_is_read_again(tmp_path: Path, text: str) -> None:
    reader = Disk().reader()
    (tmp_path / "SOUL.md").write_text("Be kind.")
    await reader.read(str(tmp_path), "SOUL.md")
    (tmp_path / "new").write_text(text)
    (tmp_path / "new").replace(tmp_path / "SOUL.md")
    result = await reader.read(str(tmp_path), "SOUL.md")
    assert isinstance(result, Content)
    assert result.text == text


async def test_a_file_written_a_moment_ago_is_read_once_more(tmp_path: Path) -> None:
    """Two writes within one tick of the file system's clock leave the same times behind."""
    (tmp_path / "SOUL.md").write_text("Be kind.")
    disk = Disk()
    reader = disk.reader(now_ns=(tmp_path / "SOUL.md").stat().st_mtime_ns + 1)
    first = await reader.read(str(tmp_path), "SOUL.md")
    assert await reader.read(str(tmp_path), "SOUL.md") is first
    assert disk.opened == 2


async def test_a_file_that_two_agents_reach_by_different_paths_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "SOUL.md").write_text("Be kind.")
    (tmp_path / "second").symlink_to("shared")
    disk = Disk()
    reader = disk.reader()
    first = await reader.read(str(tmp_path / "shared"), "SOUL.md")
    assert await reader.read(str(tmp_path / "second"), "SOUL.md") is first
    assert disk.opened == 1


async def test_one_look_vouches_only_for_a_file_that_is_settled_and_reached_without_a_link(tmp_path: Path) -> None:
    file, link, gone = (str(tmp_path / name) for name in ("file.md", "link.md", "gone.md"))
    Path(file).write_text("text")
    Path(link).symlink_to(file)
    root, now = str(tmp_path), Path(file).stat().st_ctime_ns
    settled, fresh = Disk().reader(now_ns=now + 60 * 10**9), Disk().reader(now_ns=now)

    async def look(reader: GuardedReader, path: str) -> object:
        return reader.look(root, path, await reader.read(root, path))

    assert await look(settled, file) == (file, identity_of(Path(file).stat()))
    assert await look(settled, gone) == (gone, None)
    assert (await look(settled, link), await look(fresh, file)) == (None, None)
    assert settled.look(root, file, Content("text", file, None)) is None, "another reading of it"


async def test_the_cache_is_bounded(tmp_path: Path) -> None:
    for name in ("SOUL.md", "USER.md"):
        (tmp_path / name).write_text("x" * 60)
    disk = Disk()
    reader = disk.reader(cache_bytes=100)
    for name in ("SOUL.md", "USER.md", "SOUL.md"):
        await reader.read(str(tmp_path), name)
    assert disk.opened == 3


async def test_a_file_that_goes_and_comes_back_is_seen_each_time(tmp_path: Path) -> None:
    reader = Disk().reader()
    seen: list[type] = []
    for step in ("write", "delete", "write"):
        if step == "write":
            (tmp_path / "SOUL.md").write_text("Be kind.")
        else:
            (tmp_path / "SOUL.md").unlink()
        seen.append(type(await reader.read(str(tmp_path), "SOUL.md")))
    assert seen == [Content, Missing, Content]


@pytest.mark.parametrize(("failures", "waits"), [(1, [0.05]), (2, [0.05, 0.05])])
async def test_a_passing_trouble_is_waited_out(tmp_path: Path, failures: int, waits: list[float]) -> None:
    (tmp_path / "SOUL.md").write_text("Be kind.")
    disk = Disk(failures=failures)
    result = await disk.reader().read(str(tmp_path), "SOUL.md")
    assert isinstance(result, Content)
    assert disk.waits == waits


async def test_a_trouble_that_stays_is_reported_after_three_attempts(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("Be kind.")
    disk = Disk(failures=3)
    reader = disk.reader()
    assert await reader.read(str(tmp_path), "SOUL.md") == Refused(Refusal.UNREADABLE, "interrupted")
    assert disk.waits == [0.05, 0.05]
    assert isinstance(await reader.read(str(tmp_path), "SOUL.md"), Content)


async def test_a_refusal_lasts_as_long_as_its_cause(tmp_path: Path) -> None:
    reader = Disk().reader()
    (tmp_path / "other").write_text("Be kind.")
    (tmp_path / "SOUL.md").hardlink_to(tmp_path / "other")
    results = [await reader.read(str(tmp_path), "SOUL.md") for _ in range(2)]
    (tmp_path / "other").unlink()
    assert results == [Refused(Refusal.HARD_LINK)] * 2
    assert isinstance(await reader.read(str(tmp_path), "SOUL.md"), Content)


async def test_a_refusal_in_one_workspace_does_not_hold_in_another(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "SOUL.md").write_text("Be kind.")
    (tmp_path / "inner" / "SOUL.md").symlink_to("../SOUL.md")
    reader = Disk().reader()
    path = str(tmp_path / "inner" / "SOUL.md")
    assert await reader.read(str(tmp_path / "inner"), path) == Refused(Refusal.OUTSIDE)
    assert isinstance(await reader.read(str(tmp_path), path), Content)


async def test_a_link_that_leads_elsewhere_after_a_move_is_followed_anew(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "w", tmp_path / "out"
    (workspace / "notes").mkdir(parents=True)
    outside.mkdir()
    (workspace / "notes" / "x.md").write_text("about the owner")
    (workspace / "USER.md").symlink_to("notes/x.md")
    reader = Disk().reader()
    before = await reader.read(str(workspace), "USER.md")
    (workspace / "notes").rename(outside / "notes")
    (workspace / "USER.md").unlink()
    (workspace / "USER.md").symlink_to(outside / "notes" / "x.md")
    assert isinstance(before, Content)
    assert await reader.read(str(workspace), "USER.md") == Refused(Refusal.OUTSIDE)


async def test_a_file_dated_in_the_future_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("dry")
    os.utime(tmp_path / "SOUL.md", (4_000_000_000, 4_000_000_000))
    disk = Disk()
    reader = disk.reader()
    first = await reader.read(str(tmp_path), "SOUL.md")
    opened = disk.opened
    for _ in range(4):
        assert await reader.read(str(tmp_path), "SOUL.md") is first
    assert disk.opened == opened


async def test_a_file_whose_folder_is_exchanged_for_a_way_out_is_refused(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    (workspace / "packages").mkdir(parents=True)
    (workspace / "packages" / "SOUL.md").write_text("Be kind.")
    reader = Disk().reader()
    before = await reader.read(str(workspace), "packages/SOUL.md")
    (workspace / "packages").rename(tmp_path / "packages")
    (workspace / "packages").symlink_to(tmp_path / "packages")
    assert isinstance(before, Content)
    assert await reader.read(str(workspace), "packages/SOUL.md") == Refused(Refusal.OUTSIDE)


@pytest.mark.parametrize("shape", ["plain", "linked"])
async def test_a_workspace_exchanged_for_links_into_the_old_one_is_refused(tmp_path: Path, shape: str) -> None:
    old, new, workspace = tmp_path / "old", tmp_path / "new", tmp_path / "w"
    old.mkdir()
    new.mkdir()
    (old / "voice.md").write_text("Be kind.")
    (old / "SOUL.md").symlink_to("voice.md")
    (new / "SOUL.md").symlink_to(old / "voice.md")
    (new / "voice.md").symlink_to(old / "voice.md")
    workspace.symlink_to(old)
    name = "SOUL.md" if shape == "linked" else "voice.md"
    reader = Disk().reader()
    before = await reader.read(str(workspace), name)
    workspace.unlink()
    workspace.symlink_to(new)
    assert isinstance(before, Content)
    assert await reader.read(str(workspace), name) == Refused(Refusal.OUTSIDE)


async def test_a_link_that_led_out_is_read_once_its_target_moved_in(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x.md").write_text("about the owner")
    (workspace / "USER.md").symlink_to(tmp_path / "notes" / "x.md")
    reader = Disk().reader()
    before = await reader.read(str(workspace), "USER.md")
    (tmp_path / "notes").rename(workspace / "notes")
    (workspace / "USER.md").unlink()
    (workspace / "USER.md").symlink_to("notes/x.md")
    after = await reader.read(str(workspace), "USER.md")
    assert before == Refused(Refusal.OUTSIDE)
    assert isinstance(after, Content)
    assert after.text == "about the owner"


async def test_a_file_of_a_linked_workspace_costs_one_stat_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "SOUL.md").write_text("Be kind.")
    (tmp_path / "link").symlink_to("w")
    reader = Disk().reader()
    first = await reader.read(str(tmp_path / "link"), "SOUL.md")
    stats = count_stats(monkeypatch)
    assert await reader.read(str(tmp_path / "link"), "SOUL.md") is first
    assert stats() == 1


@pytest.mark.parametrize(("ahead_ns", "settled"), [(-SETTLED_NS, False), (SETTLED_NS, False), (SETTLED_NS + 1, True)])
def test_a_change_is_settled_once_the_clock_is_well_away_from_it(ahead_ns: int, settled: bool) -> None:
    dated_ahead = FileIdentity(1, 2, 1, 3, modified_ns=9 * 10**18, changed_ns=10**18)
    assert dated_ahead.is_settled(10**18 + ahead_ns) is settled
    assert dated_ahead.is_settled(10**18 - ahead_ns) is settled
