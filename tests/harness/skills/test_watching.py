"""A running watch brings every edit of skills, and ends cleanly."""

import errno
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio
import anyio.lowlevel
import pytest
import watchfiles.main
from watchfiles import Change
from watchfiles._rust_notify import WatchfilesRustInternalError

from harness.skills import Host, SkillLibrary, SkillPlaces, SkillRules, watch_skills
from harness.skills.watch_plan import WatchPlan, watch_plan
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
        assert watch_plan(library).commands == {str(tools)}
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


async def test_an_edit_of_a_file_to_which_a_skill_is_a_link_is_noticed(shelf: Shelf) -> None:
    real = shelf.put("ws/skills/.pool/x", name="one")
    (shelf.skills / "a").mkdir()
    (shelf.skills / "a/SKILL.md").symlink_to(real)
    library = shelf.library()
    async with watching(library) as until:
        await until(["one"])
        shelf.put("ws/skills/.pool/x", name="two")
        await until(["two"])


async def test_a_refused_skill_that_becomes_fit_is_noticed(shelf: Shelf) -> None:
    secret = shelf.put("outside/x")
    (shelf.skills / "a").mkdir(parents=True)
    (shelf.skills / "a/SKILL.md").symlink_to(secret)
    library = shelf.library()
    async with watching(library) as until:
        await until([])
        (shelf.skills / "a/SKILL.md").unlink()
        shelf.put("ws/skills/a")
        await until(["a"])


async def test_a_folder_swapped_for_a_way_out_behind_a_link_is_noticed(shelf: Shelf) -> None:
    shelf.put("ws/skills/.pool/a")
    outside = shelf.put("outside/a", name="leak").parent
    (shelf.skills / "a").symlink_to(".pool/a")
    library = shelf.library()
    async with watching(library) as until:
        await until(["a"])
        (shelf.skills / ".pool/a").rename(shelf.skills / ".aside")
        (shelf.skills / ".pool/a").symlink_to(outside)
        await until([])


async def test_a_group_that_grows_deeper_is_followed(shelf: Shelf) -> None:
    (shelf.skills / "one").mkdir(parents=True)
    library = shelf.library()
    async with watching(library) as until:
        await until([])
        for folder in ("one/a", "one/two/b", "one/two/three/c"):
            shelf.put(f"ws/skills/{folder}")
        await until(["a", "b", "c"])
        shutil.rmtree(shelf.skills / "one/two")
        await until(["a"])


async def test_a_folder_with_a_name_that_is_not_utf_8_is_no_obstacle(shelf: Shelf) -> None:
    try:
        shelf.put("ws/skills/bad\udcff/group", name="x")
    except OSError:
        pytest.skip("this file system does not take such a name")
    library = shelf.library()
    async with watching(library) as until:
        await until([])
        shelf.put("ws/skills/a")
        await until(["a"])


class _FailingNotifier:
    """Stands in for the notifier, which begins to watch and then fails, as when the system's limit is reached."""

    def __init__(self, *arguments: object) -> None:
        """Take what the real one takes."""

    def __enter__(self) -> "_FailingNotifier":
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of nothing."""

    def watch(self, *arguments: object) -> None:
        raise WatchfilesRustInternalError("no more watches")


@pytest.mark.parametrize("place", ["enter", "watch"])
async def test_a_watch_that_fails_ends_alone_and_each_turn_looks_for_itself(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "limit reached")

    monkeypatch.setattr(watchfiles.main, "RustNotify", _FailingNotifier if place == "watch" else refuse)
    shelf.put("ws/skills/a")
    library = shelf.library()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            await group.start(watch_skills, library)
    assert not library.is_watched
    shelf.put("ws/skills/b")
    assert names(library) == ["a", "b"]
    trouble = "no more watches" if place == "watch" else "limit reached"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"Skills are not watched ({trouble}); each turn looks for changed files itself."
    ]


async def test_a_listener_that_fails_is_logged_and_the_watch_goes_on(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    calls: list[anyio.Event] = [anyio.Event(), anyio.Event()]
    waiting = iter(calls)

    def fail() -> None:
        next(waiting).set()
        raise LookupError("a mistake")

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            await group.start(partial(watch_skills, library, debounce_ms=20, on_change=fail))
            for number, call in enumerate(calls):
                shelf.put("ws/skills/a", name=f"a{number}")
                await call.wait()
                assert names(library) == [f"a{number}"]
            group.cancel_scope.cancel()
    message = "What is to happen when skills changed failed; they are watched on."
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [message] * 2


def test_the_plan_holds_the_folders_looked_at_and_nothing_below_them(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    shelf.put("ws/skills/group/b")
    shelf.put("outside/c")
    shelf.put("elsewhere/leak")
    shelf.put("code/tool")
    (shelf.base / "code/tool/src/lib").mkdir(parents=True)
    for number in range(50):
        (shelf.base / f"code/site/node_modules/package{number}/lib").mkdir(parents=True)
    (shelf.skills / "c").symlink_to(shelf.base / "outside/c")
    shared = shelf.put("ws/skills/.pool/d")
    (shelf.skills / "d").mkdir()
    (shelf.skills / "d/SKILL.md").symlink_to(shared)
    (shelf.workspace / ".agents/skills").mkdir(parents=True)
    (shelf.workspace / ".agents/skills/leak").symlink_to(shelf.base / "elsewhere/leak")
    places = replace(
        shelf.places(), extra_dirs=(str(shelf.base / "code"),), allow_symlink_targets=(str(shelf.base / "outside"),)
    )
    library = shelf.library(places)
    assert names(library) == ["a", "b", "c", "d", "tool"]
    base, skills = str(shelf.base), str(shelf.skills)
    agents = f"{shelf.workspace}/.agents"
    assert watch_plan(library) == WatchPlan(
        searched=frozenset({skills, f"{skills}/group", f"{agents}/skills", f"{base}/code", f"{base}/code/site"}),
        skills=frozenset(
            {
                f"{skills}/a",
                f"{skills}/group/b",
                f"{skills}/d",
                f"{skills}/.pool/d",
                f"{base}/outside/c",
                f"{base}/elsewhere/leak",
                f"{base}/code/tool",
            }
        ),
        files=frozenset({str(shared)}),
        above=frozenset({str(shelf.workspace), agents, base}),
        roots=frozenset(
            {skills, f"{agents}/skills", f"{base}/home/.agents/skills", f"{base}/home/.openclaw/skills", f"{base}/code"}
        ),
        commands=frozenset(),
    )


def test_roots_are_awaited_at_the_real_paths_of_the_folders_above_them(shelf: Shelf) -> None:
    (shelf.base / "link").symlink_to(shelf.workspace)
    library = shelf.library(SkillPlaces(f"{shelf.base}/link", workspace_only=True))
    assert names(library) == []
    assert watch_plan(library) == WatchPlan(
        searched=frozenset(),
        skills=frozenset(),
        files=frozenset(),
        above=frozenset({str(shelf.workspace)}),
        roots=frozenset({str(shelf.skills)}),
        commands=frozenset(),
    )


PLAN = WatchPlan(
    searched=frozenset({"/ws/skills", "/ws/skills/group"}),
    skills=frozenset({"/ws/skills/a"}),
    files=frozenset({"/ws/shared/text.md"}),
    above=frozenset({"/ws", "/home/ann"}),
    roots=frozenset({"/ws/skills", "/home/ann/.agents/skills"}),
    commands=frozenset({"/usr/bin"}),
)


@pytest.mark.parametrize(
    ("change", "path", "concerns"),
    [
        ("modified", "/ws/skills/a/SKILL.md", True),
        ("deleted", "/ws/skills/a", True),
        ("modified", "/ws/skills/a/notes.md", False),
        ("deleted", "/ws/skills/a/scripts", False),
        ("deleted", "/ws/skills/group/b", True),
        ("deleted", "/ws/skills/.git", False),
        ("deleted", "/ws/skills/node_modules", False),
        ("added", "/ws/skills/notes.md", False),
        ("modified", "/ws/shared/text.md", True),
        ("modified", "/ws/shared/other.md", False),
    ],
)
def test_only_changes_that_may_bring_or_take_a_skill_count(change: str, path: str, concerns: bool) -> None:
    assert PLAN.concerns_skills(Change[change], path) is concerns


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        ("/ws/skills", True),
        ("/ws", True),
        ("/ws/MEMORY.md", False),
        ("/home/ann/.agents", True),
        ("/home/ann/.agentsx", False),
    ],
)
def test_only_a_root_or_a_folder_on_the_way_to_one_counts_above_the_roots(path: str, concerns: bool) -> None:
    assert PLAN.concerns_roots(path) is concerns


def test_only_what_lies_directly_in_a_folder_of_path_may_be_a_command() -> None:
    assert PLAN.concerns_commands("/usr/bin/gadget") is True
    assert PLAN.concerns_commands("/usr/bin/deep/gadget") is False
