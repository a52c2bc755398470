"""How code of somebody else is called so that it can hold up nothing but its own turn.

An async function runs on the event loop and has to give way by itself. Anything else runs in a thread of its own, since
nobody can stop a function that does not return; the process does not wait for such a thread when it ends.
"""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

Argument = TypeVar("Argument", contravariant=True)


class TookTooLongError(RuntimeError):
    """The call was given up. A plain function may still be running."""


class StillRunningError(RuntimeError):
    """A call that was given up has not come back yet, so no further one is made."""


class EndedError(RuntimeError):
    """The function tried to end the process or a task that it does not own."""


class ForeignCall(Generic[Argument]):
    """Calls one foreign function, plain or async, within a time."""

    def __init__(self, function: Callable[[Argument], object]) -> None:
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is looked at
        )
        self._left: set[object] = set()
        """Calls that were given up and have not come back."""

    async def __call__(self, argument: Argument, *, seconds: float) -> object:
        """Call the function and return what it gives, awaited when it can be.

        Raises:
            TookTooLongError: It took longer than `seconds`.
            StillRunningError: An earlier call was given up and still runs.
            EndedError: It raised something that is meant for the process, such as SystemExit.
            Exception: Whatever else it raised.
        """
        with anyio.move_on_after(seconds):
            try:
                answer = self._function(argument) if self._is_async else await self._in_thread(argument)
                return await answer if inspect.isawaitable(answer) else answer
            except SystemExit as error:
                raise _for_a_turn(error) from error
        raise TookTooLongError

    async def _in_thread(self, argument: Argument) -> object:
        if self._left:
            raise StillRunningError
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        ended: asyncio.Future[None] = loop.create_future()
        answers: list[object] = []
        errors: list[BaseException] = []

        call = object()

        def tell() -> None:
            self._left.discard(call)
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
            try:
                loop.call_soon_threadsafe(tell)
            except RuntimeError:  # the loop is closed
                self._left.discard(call)

        await anyio.lowlevel.checkpoint_if_cancelled()
        threading.Thread(target=work, name="foreign code", daemon=True).start()
        try:
            await ended
        except asyncio.CancelledError:
            if ended.cancelled():  # else it came back at the same moment
                self._left.add(call)
            raise
        for error in errors:
            raise _for_a_turn(error)
        return answers[0]


def _for_a_turn(error: BaseException) -> BaseException:
    """What a turn may hear of an error: what is meant for the process or a whole thread ends neither."""
    if isinstance(error, Exception | asyncio.CancelledError):
        return error
    ended = EndedError(f"raised {type(error).__name__}")
    ended.__cause__ = error
    return ended
