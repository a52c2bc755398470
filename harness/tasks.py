"""Tasks that run beside a block and end with it."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

logger = logging.getLogger("harness")


async def guarded(work: Callable[..., Awaitable[object]], *args: object) -> None:
    """Do something as a task of a group of which the other tasks must not end with it.

    An unexpected exception is logged with its traceback, and that is all that comes of it.
    """
    try:
        await work(*args)
    except Exception:
        # The boundary of a task: an exception that leaves it would cancel the whole group.
        logger.exception("a task beside others: %s", getattr(work, "__qualname__", work))


def guarding(group: TaskGroup) -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    """Give what begins something as a task of a group, `guarded`."""

    def begin(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        group.start_soon(guarded, work)

    return begin


def unbroken(tell: Callable[[str], object]) -> Callable[[str], None]:
    """A way to tell somebody something which never fails: whoever is told may fail in any way."""

    def telling(text: str) -> None:
        try:
            tell(text)
        except Exception:
            logger.exception("nobody could be told: %s", text)

    return telling


@asynccontextmanager
async def beside() -> AsyncGenerator[TaskGroup]:
    """A task group whose tasks are cancelled when the block ends.

    An error of the block comes out as itself. A plain task group would wrap it in an exception group, and
    callers could no longer catch it by its class; an error of a background task still comes wrapped.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group
        except Exception as error:
            failure = error
        finally:
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure
