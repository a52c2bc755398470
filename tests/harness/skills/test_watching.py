"""A running watch brings every edit of skills, and ends cleanly."""

import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from harness.skills import Host, SkillLibrary, SkillRules, watch_skills
from harness.skills.watching import WatchPlan, is_searched, watch_plan
from tests.harness.skills.shelf import RULES, Shelf, names

Until = Callable[[list[str]], Awaitable[None]]
PATIENCE = 5


@asynccontextmanager
async def watching(library: SkillLibrary, rules: SkillRules = RULES) -> AsyncGenerator[Until]:
    """Run a watch; the value waits until the watch has brought a list of these names."""
    bell = [anyio.Event()]

    def ring() -> None:
        bell[0].set()
        bell[0] = anyio.Event()

    async def until(expected: list[str]) -> None:
        with anyio.fail_after(PATIENCE):
            while True:
                event = bell[0]
                if names(library, rules) == expected:
                    return
                await event.wait()

    async with anyio.create_task_group() as group:
        await group.start(partial(watch_skills, library, debounce_ms=20, on_change=ring))
        yield until
        group.cancel_scope.cancel()


async def test_edits_new_skills_and_moved_folders_are_noticed(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    async with watching(library) as until:
        assert library.is_watched
        await until(["a"])
        before = library.version
        shelf.put("ws/skills/a", name="edited")
        await until(["edited"])
        assert library.version > before
        shelf.put("ws/skills/group/b")
        await until(["b", "edited"])
        (shelf.skills / "group").rename(shelf.skills / ".group")
        await until(["edited"])
        (shelf.skills / ".group").rename(shelf.skills / "group")
        await until(["b", "edited"])
        (shelf.skills / "group/b/SKILL.md").unlink()
        await until(["edited"])
    assert not library.is_watched


async def test_a_file_replaced_by_an_editors_rename_is_noticed(shelf: Shelf) -> None:
    file = shelf.put("ws/skills/a")
    library = shelf.library()
    async with watching(library) as until:
        await until(["a"])
        new = shelf.put("ws/skills/a/.tmp", name="renamed")
        new.replace(file)
        await until(["renamed"])


async def test_a_skills_folder_that_appears_goes_and_comes_back_is_noticed(shelf: Shelf) -> None:
    library = shelf.library()
    async with watching(library) as until:
        await until([])
        shelf.put("ws/.agents/skills/a")
        await until(["a"])
        shutil.rmtree(shelf.workspace / ".agents")
        await until([])
        shelf.put("ws/.agents/skills/b")
        await until(["b"])


async def test_an_edit_behind_a_link_is_noticed(shelf: Shelf) -> None:
    shelf.put("dotfiles/mine", name="one")
    root = shelf.home / ".agents/skills"
    root.mkdir(parents=True)
    (root / "mine").symlink_to(shelf.base / "dotfiles/mine")
    library = shelf.library()
    async with watching(library) as until:
        await until(["one"])
        shelf.put("dotfiles/mine", name="two")
        await until(["two"])


async def test_an_installed_command_is_noticed(shelf: Shelf) -> None:
    shelf.put("ws/skills/a", extra='metadata: {"openclaw": {"requires": {"bins": ["gadget"]}}}\n')
    tools = shelf.base / "bin"
    tools.mkdir()
    rules = SkillRules(Host("linux", {"PATH": str(tools)}))
    library = shelf.library()
    assert names(library, rules) == []
    async with watching(library, rules):
        assert str(tools) in watch_plan(library).flat
        assert names(library, rules) == []
        (tools / "gadget").touch(mode=0o755)
        with anyio.fail_after(PATIENCE):
            while names(library, rules) != ["a"]:
                await anyio.lowlevel.checkpoint()


async def test_what_is_no_skill_makes_no_new_list(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    async with watching(library) as until:
        await until(["a"])
        (shelf.skills / "a/notes.md").write_text("x", "utf-8")
        (shelf.skills / ".git").mkdir()
        shelf.put("ws/skills/node_modules/x")
        (shelf.workspace / "MEMORY.md").write_text("x", "utf-8")
        shelf.put("ws/skills/b")
        await until(["a", "b"])
        assert library.version == 1_000_000


async def test_the_watch_stops_at_once_when_its_owner_stops(shelf: Shelf) -> None:
    library = shelf.library()
    with anyio.fail_after(PATIENCE):
        async with watching(library):
            started = anyio.current_time()
    assert anyio.current_time() - started < PATIENCE / 2
    shelf.put("ws/skills/a")
    assert names(library) == ["a"]


def test_the_plan_holds_roots_folders_above_them_and_what_links_lead_to(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    shelf.put("outside/b")
    (shelf.skills / "b").symlink_to(shelf.base / "outside/b")
    library = shelf.library(replace(shelf.places(), allow_symlink_targets=(str(shelf.base / "outside"),)))
    assert names(library) == ["a", "b"]
    assert watch_plan(library) == WatchPlan(
        deep=frozenset({str(shelf.skills), os.path.realpath(shelf.base / "outside/b")}),
        flat=frozenset({str(shelf.workspace), str(shelf.base)}),
    )


@pytest.mark.parametrize(
    ("path", "searched"),
    [
        ("/home/ann/.openclaw/skills/a/SKILL.md", True),
        ("/home/ann/.openclaw/skills/.git/a", False),
        ("/home/ann/.openclaw/skills/a/node_modules/b/SKILL.md", False),
        ("/home/ann/other/SKILL.md", False),
    ],
)
def test_only_changes_where_skills_are_looked_for_count(path: str, searched: bool) -> None:
    assert is_searched(path, ["/ws/skills", "/home/ann/.openclaw/skills"]) is searched
