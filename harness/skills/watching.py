"""How edits of skills are noticed while nobody asks.

Waits on the file system's own notices; a turn then looks at no file. Only folders that were looked at are watched,
never what lies below them: two watches run, one on the folders of skills, and one on the folders above the roots
(where a root appears or goes) and on those of PATH.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus

from harness.skills.library import SkillLibrary
from harness.skills.watch_plan import WatchPlan, watch_plan

if TYPE_CHECKING:
    from watchfiles import Change

MAX_STEP_MS: Final = 100
"""A burst of edits that pauses for so long is over."""

log = logging.getLogger(__name__)


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
    reached) ends it, at once or later, with a warning in the log.

    Args:
        library: The skills to watch.
        debounce_ms: How long edits that come together are gathered, in milliseconds (prompt-builder 8.10).
        on_change: Called on the event loop after some skill changed; what it raises is logged.
        task_status: Filled in by `start`.
    """
    await anyio.to_thread.run_sync(library.refresh)
    is_started = False
    trouble = ""
    while not trouble:
        plan = await anyio.to_thread.run_sync(watch_plan, library)
        watch = _Watch(library, plan, max(debounce_ms, 1), on_change)
        async with anyio.create_task_group() as group:
            watch.start_over = group.cancel_scope.cancel
            group.start_soon(watch.skills)
            group.start_soon(watch.around)
            try:
                # Both tasks begin to watch before they first wait, so after one round of the loop no edit is missed.
                await anyio.lowlevel.checkpoint()
                with library.watched(command_folders=plan.commands):
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


class _Watch:
    """One plan being carried out."""

    def __init__(
        self, library: SkillLibrary, plan: WatchPlan, debounce_ms: int, on_change: Callable[[], None] | None
    ) -> None:
        self._library = library
        self._plan = plan
        self._debounce_ms = debounce_ms
        self._on_change = on_change
        self.start_over: Callable[[], None] = lambda: None
        self.stop = anyio.Event()
        self.trouble = ""

    async def skills(self) -> None:
        await self._run(self._plan.searched | self._plan.skills, self._plan.concerns_skills)

    async def around(self) -> None:
        await self._run(self._plan.above | self._plan.commands, self._concerns_roots)

    async def catch_up(self) -> None:
        """Look at what changed in a worker thread, and watch anew when other folders are to be watched."""
        has_changed = await anyio.to_thread.run_sync(self._library.refresh)
        if has_changed:
            self._tell()
        if await anyio.to_thread.run_sync(watch_plan, self._library) != self._plan:
            self.start_over()

    def _tell(self) -> None:
        if self._on_change is None:
            return
        # The owner's code: its mistakes must not end the watch, nor whatever shares a task group with it.
        try:
            self._on_change()
        except Exception:
            log.exception("What is to happen when skills changed failed; they are watched on.")

    async def _run(self, folders: frozenset[str], concerns: "Callable[[Change, str], bool]") -> None:
        if not folders:
            return
        try:
            await self._follow(folders, concerns)
        # A watch that fails while it runs raises a RuntimeError, and from inside of a task group.
        except* FileNotFoundError:
            self.start_over()
        except* (OSError, RuntimeError) as errors:
            self.trouble = _words_of(errors)
            self.start_over()

    async def _follow(self, folders: frozenset[str], concerns: "Callable[[Change, str], bool]") -> None:
        # Only a long-lived gateway watches; everybody else is spared the import.
        from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - one parameter has no full type

        step = min(MAX_STEP_MS, self._debounce_ms)
        async for changes in awatch(
            *sorted(folders),
            watch_filter=None,
            debounce=self._debounce_ms,
            step=step,
            recursive=False,
            stop_event=self.stop,
            ignore_permission_denied=True,
        ):
            # Every change is looked at: one may concern commands and another one skills.
            verdicts = [concerns(change, path) for change, path in changes]
            if any(verdicts):
                self._library.mark_changed()
                await self.catch_up()

    def _concerns_roots(self, change: "Change", path: str) -> bool:
        if self._plan.concerns_commands(path):
            self._library.mark_commands_changed()
        return self._plan.concerns_roots(path)


def _words_of(errors: ExceptionGroup[Exception]) -> str:
    first = errors.exceptions[0]
    if isinstance(first, ExceptionGroup):
        return _words_of(first)  # pyright: ignore[reportUnknownArgumentType] - isinstance forgets what it holds
    return getattr(first, "strerror", None) or str(first) or type(first).__name__
