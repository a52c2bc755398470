"""How edits of skills are noticed while nobody asks.

Waits on the file system's own notices; a turn then looks at no file. Two watches run: a deep one on the roots, and a
flat one on the folders above them (where a root appears or goes) and on the folders of PATH.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus

from harness.skills.discovery import SKIPPED
from harness.skills.library import SkillLibrary
from harness.skills.values import SKILL_FILE

if TYPE_CHECKING:
    from watchfiles import Change

MAX_STEP_MS: Final = 100
"""A burst of edits that pauses for so long is over."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """What to watch."""

    deep: frozenset[str]
    """With everything below."""
    flat: frozenset[str]
    """Only their own entries."""


async def watch_skills(
    library: SkillLibrary,
    *,
    debounce_ms: int = 250,
    on_change: Callable[[], None] | None = None,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Keep `library` up to date until cancelled; start it with `await group.start(watch_skills, library)`.

    From the moment `start` returns, edits are noticed without a look at the disk on each turn. When the watch ends,
    however it ends, the library looks for itself again; a system that refuses to watch (its limit of watches is
    reached) ends it at once, with a warning in the log.

    Args:
        library: The skills to watch.
        debounce_ms: How long edits that come together are gathered, in milliseconds (prompt-builder 8.10).
        on_change: Called on the event loop after some skill changed.
        task_status: Filled in by `start`.
    """
    await anyio.to_thread.run_sync(library.refresh)
    is_started = False
    trouble = ""
    while not trouble:
        watch = _Watch(library, watch_plan(library), max(debounce_ms, 1), on_change)
        async with anyio.create_task_group() as group:
            watch.start_over = group.cancel_scope.cancel
            group.start_soon(watch.deep)
            group.start_soon(watch.flat)
            try:
                # Both tasks begin to watch before they first wait, so after one round of the loop no edit is missed.
                await anyio.lowlevel.checkpoint()
                with library.watched(command_folders=watch.plan.flat):
                    await watch.catch_up()
                    if not is_started:
                        task_status.started()
                        is_started = True
                    await anyio.sleep_forever()
            finally:
                # A cancelled watch would only be heard when its worker thread next wakes by itself, seconds later.
                watch.stop.set()
        trouble = watch.trouble
    log.warning("Skills are not watched (%s); each turn looks for changed files itself.", trouble)
    if not is_started:
        task_status.started()


def watch_plan(library: SkillLibrary) -> WatchPlan:
    """Choose the folders to watch: the roots that exist, and above each root the nearest folder that exists."""
    known = library.folders_to_watch()
    flat = {*known.commands}
    for root in known.roots:
        flat.update([str(parent) for parent in Path(root).parents if parent.is_dir()][:1])
    deep = {*known.roots, *known.outside}
    return WatchPlan(
        frozenset(folder for folder in deep if Path(folder).is_dir()),
        frozenset(folder for folder in flat if Path(folder).is_dir()),
    )


def is_searched(path: str, folders: Iterable[str]) -> bool:
    """Tell whether `path` lies below one of `folders` where skills are looked for."""
    below = [PurePath(path[len(folder) + 1 :]) for folder in folders if path.startswith(f"{folder}/")]
    return any(all(part != SKIPPED and not part.startswith(".") for part in rest.parts) for rest in below)


class _Watch:
    """One plan being carried out."""

    def __init__(
        self, library: SkillLibrary, plan: WatchPlan, debounce_ms: int, on_change: Callable[[], None] | None
    ) -> None:
        self._library = library
        self.plan = plan
        self._debounce_ms = debounce_ms
        self._on_change = on_change
        self.start_over: Callable[[], None] = lambda: None
        self.stop = anyio.Event()
        self.trouble = ""

    async def deep(self) -> None:
        await self._run(self.plan.deep, self._concerns_deep, recursive=True)

    async def flat(self) -> None:
        await self._run(self.plan.flat, self._concerns_flat, recursive=False)

    async def catch_up(self) -> None:
        """Look at what changed in a worker thread, and watch anew when other folders are to be watched."""
        has_changed = await anyio.to_thread.run_sync(self._library.refresh)
        if has_changed and self._on_change is not None:
            self._on_change()
        if watch_plan(self._library) != self.plan:
            self.start_over()

    async def _run(
        self, folders: frozenset[str], concerns: "Callable[[Change, str], bool]", *, recursive: bool
    ) -> None:
        if not folders:
            return
        # Only a long-lived gateway watches; everybody else is spared the import.
        from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - one parameter has no full type

        step = min(MAX_STEP_MS, self._debounce_ms)
        try:
            async for changes in awatch(
                *sorted(folders),
                watch_filter=None,
                debounce=self._debounce_ms,
                step=step,
                recursive=recursive,
                stop_event=self.stop,
                ignore_permission_denied=True,
            ):
                # Every change is looked at: one may concern commands and another one skills.
                verdicts = [concerns(change, path) for change, path in changes]
                if any(verdicts):
                    self._library.mark_changed()
                    await self.catch_up()
        except FileNotFoundError:
            self.start_over()
        except OSError as error:
            self.trouble = error.strerror or str(error)
            self.start_over()

    def _concerns_flat(self, change: "Change", path: str) -> bool:
        known = self._library.folders_to_watch()
        if str(PurePath(path).parent) in known.commands:
            self._library.mark_commands_changed()
        return any(root == path or root.startswith(f"{path}/") for root in known.roots)

    def _concerns_deep(self, change: "Change", path: str) -> bool:
        """Tell whether a change can matter: to a SKILL.md, or to a folder that holds one or may get one."""
        if path in self.plan.deep:
            return True
        if not is_searched(path, self.plan.deep):
            return False
        if PurePath(path).name == SKILL_FILE:
            return True
        if change.name == "deleted":
            return self._library.knows_folder(path)
        return change.name == "added" and Path(path).is_dir()
