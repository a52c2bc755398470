"""Tasks that run beside a block and end with it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


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
