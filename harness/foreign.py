"""How code of somebody else is called so that it can hold up nothing but its own turn.

An async function runs on the event loop and has to give way by itself. Anything else runs in a thread of its own, since
nobody can stop a function that does not return; the process does not wait for such a thread when it ends.
"""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

Argument = TypeVar("Argument", contravariant=True)


class TookTooLongError(RuntimeError):
    """The call was given up. A plain function may still be running."""


class StillRunningError(RuntimeError):
    """The last call has not come back yet, so no further one is made."""


class EndedError(RuntimeError):
    """The function tried to end the process or a task that it does not own."""


class ForeignCall(Generic[Argument]):
    """Calls one foreign function, plain or async, within a time."""

    def __init__(self, function: Callable[[Argument], object]) -> None:
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is looked at
        )
        self._thread: threading.Thread | None = None

    async def __call__(self, argument: Argument, *, seconds: float) -> object:
        """Call the function and return what it gives, awaited when it can be.

        Raises:
            TookTooLongError: It took longer than `seconds`.
            StillRunningError: It still runs since an earlier call.
            EndedError: It raised something that is meant for the process, such as SystemExit.
            Exception: Whatever else it raised.
        """
        with anyio.move_on_after(seconds):
            answer = self._function(argument) if self._is_async else await self._in_thread(argument)
            return await answer if inspect.isawaitable(answer) else answer
        raise TookTooLongError

    async def _in_thread(self, argument: Argument) -> object:
        if self._thread is not None and self._thread.is_alive():
            raise StillRunningError
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        ended: asyncio.Future[None] = loop.create_future()
        answers: list[object] = []
        errors: list[BaseException] = []

        def tell() -> None:
            if not ended.done():
                ended.set_result(None)
                return
            for answer in answers:  # nobody waits any more
                if inspect.iscoroutine(answer):
                    answer.close()

        def work() -> None:
            try:
                answers.append(context.run(self._function, argument))
            except BaseException as error:  # it is raised again where the caller waits
                errors.append(error)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell)

        await anyio.lowlevel.checkpoint_if_cancelled()
        self._thread = threading.Thread(target=work, name="foreign code", daemon=True)
        self._thread.start()
        await ended
        if errors:
            if isinstance(errors[0], Exception | asyncio.CancelledError):
                raise errors[0]
            raise EndedError(f"raised {type(errors[0]).__name__}") from errors[0]
        return answers[0]
