"""Threads that nobody has used for a while are unloaded, and loaded again by their next turn.

A loaded thread costs the server 1.6 MB and two open files, and a gateway has more chats than talk at a time (measured).
What is at work on a thread keeps it loaded: Codex ends the commands of one that it unloads. So does the additional
context, where that carries the persona: the server forgets it with the thread, and the conversation would hold the
persona once more after each pause. Such threads are unloaded only when too many are loaded.
"""

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeAlias

import anyio

from codex_bridge.at_work import AtWork
from codex_bridge.held import OpenThread
from codex_bridge.servers import Connection, Servers
from codex_bridge.threads import Threads
from harness.lean_values import dataclass
from harness.timing import Clock, Timer

AFTER: Final = 1800.0
"""Seconds without a turn, unless the configuration says otherwise. Our choice: a chat in full swing is never unloaded,
and loading takes 0.2 s."""
MOST: Final = 100
"""Threads that stay loaded, unless the configuration says otherwise. Our choice: 160 MB and 200 open files."""

logger = logging.getLogger("codex_bridge")
Begin: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]


@dataclass(frozen=True, slots=True)
class Rest:
    """When threads are unloaded."""

    after: float = AFTER
    """Seconds without a turn; 0 for never."""
    most: int = MOST
    """Threads that stay loaded, however short the time since their last turn."""


def tired(threads: Mapping[str, OpenThread], rest: Rest, now: float) -> list[str]:
    """The conversations whose threads may be unloaded, in that order; pure."""
    idle = [
        key for key, thread in threads.items() if rest.after and not thread.told and now - thread.used_at >= rest.after
    ]
    left = {key: thread for key, thread in threads.items() if key not in idle}
    surplus = max(0, len(left) - rest.most)
    longest = sorted(left, key=lambda key: (bool(left[key].told), left[key].used_at))
    return [*idle, *longest[:surplus]]


class Idle:
    """Unloads the threads of one harness. One timer serves all of them.

    Args:
        begin: Has something done beside all that goes on.
        servers: The server that has them loaded.
        threads: What is remembered of them.
        at_work: What runs.
        queues: The turns of each conversation; who holds one keeps them waiting.
        rest: When.
        clock: The time.
    """

    def __init__(
        self,
        begin: Begin,
        servers: Servers,
        threads: Threads,
        at_work: AtWork,
        queues: dict[str, anyio.Lock],
        rest: Rest,
        clock: Clock,
    ) -> None:
        self._begin = begin
        self._servers = servers
        self._threads = threads
        self._at_work = at_work
        self._queues = queues
        self._rest = rest
        self._clock = clock
        self._timer: Timer | None = None
        self._at_it = False

    def used(self, session_key: str) -> None:
        """A turn of a conversation is over."""
        connection = self._servers.current
        if connection is None:
            return
        thread, now = connection.threads.get(session_key), self._clock.time()
        if thread is not None:
            thread.used_at = now
        if len(connection.threads) > self._rest.most or not all(map(self._at_work.any_on, connection.left)):
            self._look()
        elif self._timer is None and self._rest.after:
            self._timer = self._clock.call_at(now + self._rest.after, self._look)

    def close(self) -> None:
        """Unload nothing any more."""
        self._stop_timer()
        self._at_it = True

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._stop_timer()  # whatever becomes of this look, the next turn sets it again
        if not self._at_it:
            self._at_it = True
            self._begin(self._unload)

    async def _unload(self) -> None:
        try:
            connection = self._servers.current
            if connection is None:
                return  # nothing is loaded
            for key in tired(connection.threads, self._rest, self._clock.time()):
                await self._unload_one(connection, key)
            for thread_id in [each for each in connection.left if not self._at_work.any_on(each)]:
                connection.left.discard(thread_id)
                await self._threads.leave(connection, thread_id)
            self._look_again(connection)
        except Exception:
            # As at every boundary: threads stay loaded, and the gateway goes on.
            logger.exception("unloading idle threads")
        finally:
            self._at_it = False

    async def _unload_one(self, connection: Connection, key: str) -> None:
        queue = self._queues.setdefault(key, anyio.Lock(fast_acquire=True))
        if queue.locked():  # somebody is about to use it, or does
            return
        async with queue:
            thread = connection.threads.get(key)
            if (
                thread is not None
                and not self._keeps(key, thread)
                and await self._threads.remembered.is_stored(connection, key)
            ):
                del connection.threads[key]
                for thread_id in (thread.opened.thread.id, *thread.children):
                    await self._threads.leave(connection, thread_id)
                logger.info("%s was idle, and its thread is unloaded", key)
        if not queue.locked():
            self._queues.pop(key, None)

    def _keeps(self, key: str, thread: OpenThread) -> bool:
        """Whether something is at work that would end with the thread, or for it."""
        ids = (thread.opened.thread.id, *thread.children)
        return any(map(self._at_work.any_on, ids)) or self._at_work.children.work_for(lambda turn: turn.key == key)

    def _look_again(self, connection: Connection) -> None:
        """When the next thread may be idle. One that is kept, by a command say, is looked at after the same time."""
        self._stop_timer()
        if not self._rest.after or not (connection.threads or connection.left):
            return
        now = self._clock.time()
        due = [thread.used_at + self._rest.after for thread in connection.threads.values()]
        at = min([each for each in due if each > now], default=now + self._rest.after)
        self._timer = self._clock.call_at(at, self._look)
